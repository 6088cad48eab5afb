"""The fourteen queries over a window that holds the data give what they give one-shot; the ontology is in the store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pyoxigraph as ox
import pytest

from protocol.entailment.regimes import Regime
from protocol.formats.solution_rows import solution_rows
from protocol.terms import term_text
from tests.lubm.generator import ONTOLOGY, universities
from tests.lubm.queries import QUERIES
from tests.lubm.test_lubm import answers, entailed, graphs
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

STREAM = "http://ex/s"
REGIMES = [Regime.RDFS, Regime.OWL_RL]
LINES_OF_A_MESSAGE = 5000


def in_windows(lines: Sequence[str], regime: Regime, directory: Path) -> list[list[tuple[str, ...]]]:
    ontology = ox.parse(ONTOLOGY.read_bytes(), ox.RdfFormat.TURTLE)
    schema = [("", str(one.subject), str(one.predicate), term_text(one.object)) for one in ontology]
    found = []
    with closing(SteppedBackend(directory, Graphs(schema))) as stepped:
        stepped.event_stream("s", STREAM)
        for number, query in QUERIES.items():
            over = query.replace("{", f"FROM STREAM <{STREAM}> [RANGE 10s] {{", 1)
            stepped.register(f"q{number}", over, entailment=regime)
        for first in range(0, len(lines), LINES_OF_A_MESSAGE):
            stepped.post("s", "".join(lines[first : first + LINES_OF_A_MESSAGE]), 1000)
        stepped.post("s", "", 11_000)
        stepped.run()
        for number in QUERIES:
            ((at, document),) = stepped.answers(f"q{number}").items()
            assert at == 10_000
            variables = sorted(stepped.running(f"q{number}").plan.variables)
            rows = solution_rows(document, variables)
            found.append(sorted(tuple(term or "" for term in row) for row in rows))
    return found


def assert_alike(lines: Sequence[str], regime: Regime, directory: Path) -> None:
    expected = entailed(graphs(lines), regime, directory)
    found = in_windows(lines, regime, directory / "windows")
    assert found == [answers(expected, number) for number in QUERIES]
    assert any(found)


@pytest.mark.parametrize("regime", REGIMES)
def test_a_part_of_a_department(regime: Regime, tmp_path: Path) -> None:
    assert_alike(list(universities(1, departments=(1, 1)))[::3], regime, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("regime", REGIMES)
def test_a_university(regime: Regime, tmp_path: Path) -> None:
    assert_alike(list(universities(1)), regime, tmp_path)
