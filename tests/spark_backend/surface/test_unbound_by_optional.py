"""What an OPTIONAL leaves unbound, and later patterns bind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

STATIC = [("", f"<http://ex/{name}>", "<http://ex/static>", "<http://ex/there>") for name in "ab"]
QUERY = (
    "PREFIX : <http://ex/> SELECT ?x FROM NAMED WINDOW :w ON :s [NOW] WHERE {{ WINDOW :w {{ "
    "{{ :a :p ?y OPTIONAL {{ ?x :q ?y FILTER({condition}) }} }} {{ ?z :p ?y . ?z :q ?x }} }} ?x :static :there }}"
)


def bound(directory: Path, condition: str) -> list[str]:
    stepped = SteppedBackend(directory, Graphs(STATIC))
    stepped.event_stream("s", "http://ex/s")
    stepped.register("q", QUERY.format(condition=condition))
    stepped.post("s", "@prefix : <http://ex/> . :a :p :a ; :q :a .", 1)
    stepped.backend.end_stream("s")
    stepped.run()
    rows = json.loads(stepped.answers("q")[1])["results"]["bindings"]
    stepped.close()
    return [row["x"]["value"] for row in rows]


@pytest.mark.parametrize("condition", ["?y = :b", "timestamp(:a :p ?y) < timestamp(?x :q ?y)"])
def test_a_later_pattern_binds_it(tmp_path: Path, condition: str) -> None:
    """Of the second DuckDB 2.0.0 gives nothing where the OPTIONAL's LEFT JOIN is the third of the tables."""
    assert bound(tmp_path, condition) == ["http://ex/a"]
