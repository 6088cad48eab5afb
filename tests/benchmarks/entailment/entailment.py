"""(n) Entailment: what follows from a million triples of universities, and what an update of a thousand then costs.

Without HTTP, in this process: from a snapshot of the store to a snapshot of what follows from it. Beside it is what
Oxigraph takes to load the same triples.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pyoxigraph as ox

from endpoint.entailment.entailed_graphs import EntailedGraphs
from protocol.entailment.regimes import Regime
from tests.benchmarks.figures import Figure
from tests.lubm.generator import ONTOLOGY, universities

_TRIPLES, _QUICK = 1_000_000, 100_000
_MORE = 1_000


def measure(*, quick: bool = False) -> list[Figure]:
    """Seconds, of one run each: a closure is made once."""
    lines = universities(100)
    data = "".join(islice(lines, _QUICK if quick else _TRIPLES)).encode()
    more = "".join(islice(lines, _MORE)).encode()
    figures = []
    for regime in (Regime.RDFS, Regime.OWL_RL):
        with tempfile.TemporaryDirectory(prefix="sparql-streams-bench-") as directory:
            figures += _measured(regime, data, more, Path(directory))
    return figures


def _measured(regime: Regime, data: bytes, more: bytes, directory: Path) -> list[Figure]:
    store = ox.Store(str(directory / "store"))
    loading = _seconds(lambda: store.bulk_load(data, ox.RdfFormat.N_TRIPLES))
    store.bulk_load(ONTOLOGY.read_bytes(), ox.RdfFormat.TURTLE)
    size = len(store)
    entailed = EntailedGraphs(regime, (), directory / "entailed")
    whole = _seconds(lambda: entailed.bring_up_to(store))
    store.load(more, ox.RdfFormat.N_TRIPLES)
    added = _seconds(lambda: entailed.bring_up_to(store))
    details = {"asserted": size, "entailed": len(entailed.store)}
    return [
        Figure(
            "n", f"{regime}: all that follows from {size:,} triples", whole, "s", whole / loading,
            baseline=loading, baseline_name="loading them", details=details,
        ),
        Figure("n", f"{regime}: {_MORE:,} more, with these there", added, "s", added),
    ]  # fmt: skip


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
