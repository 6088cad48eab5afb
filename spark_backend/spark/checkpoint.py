"""What Spark has written down of the evaluation clock (``spark.source``), where nothing else says how far it was."""

from __future__ import annotations

import json
from pathlib import Path

from protocol.time import Instant
from spark_backend.budget import Lane
from spark_backend.registry import Registry


def planned(checkpoint: Path, registry: Registry) -> dict[str, Instant]:
    """By key of registration, up to where the queries of the common lane were, by what Spark has of it.

    Of one that has left that lane, more is planned than is out.
    """
    offset = committed_offset(checkpoint)
    try:
        common = [query for query in registry.read().values() if query.lane is Lane.COMMON]
    except ValueError:
        return {}
    positions = [(query.key, offset.get(query.place, query.resumed)) for query in common]
    return {key: position for key, position in positions if position is not None}


def committed_offset(checkpoint: Path) -> dict[str, Instant]:
    """Of each place the latest instant in a batch that is over, as of the last batch whose files are whole; none where
    there is no such batch.
    """
    numbers = sorted((int(path.name) for path in checkpoint.glob("commits/*") if path.name.isdecimal()), reverse=True)
    for number in numbers:
        try:
            offset = json.loads((checkpoint / "offsets" / str(number)).read_text(encoding="utf-8").splitlines()[-1])
            return {place: int(instant) for place, instant in offset.items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue  # it was not brought to the disk, or is damaged
    return {}
