"""Prefixes of a continuous query."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import compile_query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM STREAM :s [RANGE 1s] { ?x x:p ?y , :o }",
        "SELECT * FROM x:a FROM NAMED :b FROM STREAM :s [RANGE 1s] { GRAPH :b { ?x :p x:o } }",
        "SELECT * FROM STREAM :s [RANGE 1s] { ?x x:p ?y FILTER EXISTS { ?x :q x:o } }",
    ],
)
def test_two_prefixes_may_stand_for_one_iri(text: str) -> None:
    written = parse(f"PREFIX : <http://ex/> PREFIX x: <http://ex/> PREFIX y: <http://ex/> {text}")
    plain = parse(f"PREFIX : <http://ex/> {text.replace('x:', ':')}")
    assert isinstance(written, ContinuousQuery)
    assert isinstance(plain, ContinuousQuery)
    assert compile_query(written).shape == compile_query(plain).shape
