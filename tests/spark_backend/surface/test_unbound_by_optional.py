"""What an OPTIONAL leaves unbound, and later patterns bind."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from conformance.rsp.case import Case
from conformance.rsp.expected import difference
from conformance.rsp.oracle.player import expected_of
from conformance.rsp.script import read_script
from tests.spark_backend.model.test_rsp_cases import played
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

STATIC = [("", f"<http://ex/{name}>", "<http://ex/static>", "<http://ex/there>") for name in "ab"]
QUERY = (
    "PREFIX : <http://ex/> SELECT {bound} FROM NAMED WINDOW :w ON :s [NOW] "
    "WHERE {{ WINDOW :w {{ {inside} }} {beside} }}"
)
OPTIONAL = "{{ :a :p ?y{0} OPTIONAL {{ ?x{0} :q ?y{0} FILTER({condition}) }} }}"


def query(condition: str, optionals: int) -> str:
    """So many groups with an OPTIONAL, whose variable a pattern behind them binds."""
    numbers = range(optionals)
    groups = [OPTIONAL.format(number, condition=condition.format(number)) for number in numbers]
    binding = [f"{{ ?z{number} :p ?y{number} . ?z{number} :q ?x{number} }}" for number in numbers]
    return QUERY.format(
        bound=" ".join(f"?x{number}" for number in numbers),
        inside=" ".join([*groups, *binding]),
        beside=" ".join(f"?x{number} :static :there ." for number in numbers),
    )


def bound(directory: Path, asked: str) -> list[set[str]]:
    """What the variables of each solution are."""
    stepped = SteppedBackend(directory, Graphs(STATIC))
    stepped.event_stream("s", "http://ex/s")
    stepped.register("q", asked)
    stepped.post("s", "@prefix : <http://ex/> . :a :p :a ; :q :a .", 1)
    stepped.backend.end_stream("s")
    stepped.run()
    rows = json.loads(stepped.answers("q")[1])["results"]["bindings"]
    stepped.close()
    return [{value["value"] for value in row.values()} for row in rows]


@pytest.mark.parametrize("optionals", [1, 2, 3, 4])
@pytest.mark.parametrize("condition", ["?y{0} = :b", "timestamp(:a :p ?y{0}) < timestamp(?x{0} :q ?y{0})"])
def test_a_later_pattern_binds_it(tmp_path: Path, condition: str, optionals: int) -> None:
    """DuckDB 2.0.0 gives nothing where the LEFT JOIN of one of them is written behind other tables."""
    assert bound(tmp_path, query(condition, optionals)) == [{"http://ex/a"}]


@pytest.mark.parametrize("optionals", [2, 3, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_optionals_that_compare_times_give_what_the_oracle_gives(seed: int, optionals: int) -> None:
    draw = random.Random(seed)
    lines = ["PREFIX : <http://ex/>", "PUT /graphs?default", ":a :static :there . :b :static :there ."]
    lines += ["PUT /streams/s", json.dumps({"iri": "http://ex/s", "time": "event"})]
    for time in range(1, 9):
        lines += [
            f"POST /streams/s?at={time}",
            f"{draw.choice([':a', ':b'])} :p :a , :b ; :q {draw.choice([':a', ':b'])} .",
        ]
    script = read_script("\n".join([*lines, "PUT /streams/s/watermark", "end"]), "drawn", lambda name: "")
    asked = query("timestamp(?y{0}) < timestamp(?x{0})", optionals).replace("[NOW]", "[RANGE 3 STEP 1]")
    case = Case("drawn", "optional", asked, "drawn.rq", tuple(script), (), Path("drawn"), None)
    expected = expected_of(case)
    assert any(isinstance(one.answer, tuple) and len(one.answer) > 1 for one in expected)
    with played(case) as one:
        assert difference(expected, one.told(), ordered=False) is None
