"""What is asked of a stepped backend, posted to it and told by it."""

from __future__ import annotations

import json
from pathlib import Path

from protocol.evaluations import Notice
from tests.spark_backend.stepped_backend import SteppedBackend

EX = "http://ex/"
END = 2**62
EVERY_2 = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o }}"
EVERY_3 = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 3] WHERE {{ ?s ?p ?o }}"
NEWS = f"SELECT ISTREAM ?s FROM STREAM <{EX}s> [RANGE 6 STEP 2] WHERE {{ ?s ?p ?o }}"
CLOSES = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2 REPORT ON_WINDOW_CLOSE] WHERE {{ ?s ?p ?o }}"


def post(stepped: SteppedBackend, *at: int, stream: str = "s") -> None:
    for t in at:
        stepped.post(stream, f"<{EX}e{t}> a <{EX}T> .", t)


def subjects(document: bytes) -> list[str]:
    bindings = json.loads(document)["results"]["bindings"]
    return sorted(binding["s"]["value"].removeprefix(EX) for binding in bindings)


def answers(stepped: SteppedBackend, name: str = "q") -> dict[int, list[str]]:
    return {t: subjects(document) for t, document in stepped.answers(name).items()}


def progress(stepped: SteppedBackend) -> list[Notice]:
    """What the ticker would tell now."""
    return stepped.backend._progress.look()


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name in ("catalogue.json", "registry.json")
    }


LABELLED = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s a <{EX}T> . ?s <{EX}label> ?l }}"
PUBLISHES = f"REGISTER STREAM out AS CONSTRUCT {{ ?s a <{EX}U> }} FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o }}"


def warnings_of(stepped: SteppedBackend) -> tuple[str, ...]:
    stepped.backend._warnings.look()
    return tuple(stepped.backend.health().warnings)
