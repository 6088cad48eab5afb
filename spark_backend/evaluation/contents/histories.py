"""What is known of a stream at instants: which of them have one history of facts (docs/model.md, "Facts").

What comes late changes what was before, from the instant on at which it takes part. Between two such instants the
history only goes on: what it is at the last of them tells what it was at each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protocol.time import Instant


def of_one_history(rows: pa.Table, instants: Sequence[Instant]) -> Iterator[tuple[Instant, ...]]:
    """Ascending instants, those together between which nothing late begins to take part. ``rows``: columns of LOG."""
    late = pc.add(rows["seen"].filter(pc.greater_equal(rows["seen"], rows["time"])), 1)
    places = np.searchsorted(np.sort(late.to_numpy()), np.array(instants), side="right")
    for place in np.unique(places):
        yield tuple(instant for instant, at in zip(instants, places, strict=True) if at == place)


def known_at(rows: pa.Table, instant: Instant) -> pa.Table:
    """The rows that take part at the instant."""
    bound = pa.scalar(instant, pa.int64())
    return rows.filter(pc.and_(pc.less_equal(rows["time"], bound), pc.less(rows["seen"], bound)))


def changes(periods: pa.Table, instants: Sequence[Instant]) -> frozenset[Instant]:
    """Those of the instants at which a period begins or ends."""
    bounds = pa.chunked_array([*periods["begins"].chunks, *periods["ends"].chunks], pa.int64())
    given = pa.array(instants, pa.int64())
    return frozenset(given.filter(pc.is_in(given, bounds)).to_pylist())
