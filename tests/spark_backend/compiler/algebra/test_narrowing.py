"""Which triple patterns narrow which: never where a solution would be another then."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import read_query
from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import with_marks
from spark_backend.compiler.algebra.narrowing import operands


def narrowed(text: str) -> dict[str, str]:
    """By the local name of its predicate, those of the patterns that narrow a pattern."""
    found = operands(with_marks(read_query(f"PREFIX : <http://ex/> SELECT * {text}").pattern))
    names = {
        operand: leaf.predicate.text[11:-1]
        for leaf, operand in found.items()
        if isinstance(leaf, a.TriplePattern) and isinstance(leaf.predicate, a.Constant)
    }
    return {
        name: "".join(sorted(names[one] for one in operand.narrowed_by if one in names))
        for operand, name in names.items()
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?x . ?x :b ?y . ?y :c ?z }", {"a": "b", "b": "ac", "c": "b"}),
        ("{ ?s :a ?x . ?t :b ?y }", {"a": "", "b": ""}),
        ("{ GRAPH :g { ?s :a ?x } GRAPH ?h { ?x :b ?y } }", {"a": "b", "b": "a"}),
        ("{ ?s :a ?x OPTIONAL { ?x :b ?y } }", {"a": "", "b": "a"}),
        ("{ ?s :a ?x OPTIONAL { ?s :b ?y } ?x :c ?y }", {"a": "c", "b": "a", "c": "a"}),
        # Where :c matched nothing for ?x, :b would be alone, and agree with :a.
        ("{ ?s :a ?x OPTIONAL { ?s :b ?y OPTIONAL { ?y :c ?x } } }", {"a": "", "b": "a", "c": "b"}),
        ("{ ?s :a ?x MINUS { ?x :b ?y } }", {"a": "", "b": "a"}),
        ("{ ?s :a ?x MINUS { ?s :b ?y MINUS { ?y :c ?x } } }", {"a": "", "b": "a", "c": "b"}),
        ("{ ?s :a ?x FILTER NOT EXISTS { ?x :b ?y } }", {"a": "", "b": "a"}),
        ("{ ?s :a ?x FILTER EXISTS { ?x :b ?y } }", {"a": "b", "b": "a"}),
        ("{ ?s :a ?x FILTER (EXISTS { ?x :b ?y } && EXISTS { ?s :c ?z }) }", {"a": "bc", "b": "a", "c": "a"}),
        ("{ ?s :a ?x FILTER (EXISTS { ?x :b ?y } || ?x > 1) }", {"a": "", "b": "a"}),
        ("{ ?s :a ?x FILTER EXISTS { ?x :b ?y OPTIONAL { ?y :c ?s } } }", {"a": "", "b": "a", "c": "b"}),
        ("{ { ?s :a ?x FILTER EXISTS { ?x :b ?y } } ?y :c ?z }", {"a": "b", "b": "a", "c": ""}),
        ("{ ?s :a ?x { ?x :b ?y } UNION { ?x :c ?y } ?y :d ?z }", {"a": "", "b": "ad", "c": "ad", "d": ""}),
        ("{ ?s :a ?x { SELECT ?x { ?x :b ?s } } }", {"a": "b", "b": "a"}),
        ("{ ?s :a ?x { SELECT ?y { ?x :b ?y } } }", {"a": "", "b": ""}),
        ("{ ?s :a ?x { SELECT ?x { ?x :b ?y . ?y :c ?z } LIMIT 1 } }", {"a": "", "b": "c", "c": "b"}),
        ("{ ?s :a ?x { SELECT ?x (COUNT(*) AS ?n) { ?x :b ?y } GROUP BY ?x } }", {"a": "", "b": ""}),
        # One table stands for both of its places: what narrows it in one of them alone does not.
        ("{ ?s :a ?x OPTIONAL { ?s :a ?x . ?x :b ?y } }", {"a": "", "b": "a"}),
        (
            "{ { ?s :a ?x . ?x :b ?y . ?y :c ?z } UNION { ?s :a ?x . ?x :b ?y } ?s :d ?v }",
            {"a": "bd", "b": "a", "c": "b", "d": ""},
        ),
        ("{ { SELECT ?s { ?s :a ?x } } { ?s :a ?x . ?x :b ?y } }", {"b": ""}),
        ("{ GRAPH :g { ?s :a ?x } ?s :a ?x . ?x :b ?y }", {"b": ""}),
        ("{ { ?s :a ?x . ?x :b ?y } { SELECT * { ?s :a ?x . ?y :c ?s } } }", {"a": "bc", "b": "ac", "c": "ab"}),
    ],
)
def test_what_narrows_a_pattern(text: str, expected: dict[str, str]) -> None:
    assert narrowed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?x FILTER EXISTS { ?x :b ?y . ?y :c ?z } }", {"z"}),
        ("{ ?s :a ?x MINUS { ?x :b ?y } }", {"y"}),
        ("{ ?s :a ?x OPTIONAL { ?x :b ?y } }", set()),
        ("{ ?s :a ?x FILTER EXISTS { ?x :b ?y FILTER(?y > 1) } }", set()),
        ("{ ?s :a ?x FILTER EXISTS { SELECT (COUNT(*) AS ?n) { ?x :b ?y } HAVING (COUNT(*) > 1) } }", set()),
    ],
)
def test_what_is_only_asked_for_is_not_told_apart_by_what_nobody_reads(text: str, expected: set[str]) -> None:
    found = operands(with_marks(read_query(f"PREFIX : <http://ex/> SELECT * {text}").pattern))
    assert {variable.name for operand in found.values() for variable in operand.unread} == expected


def test_what_sub_selects_hide_in_several_places_agrees_with_what_they_hide_with_it() -> None:
    text = "{ { SELECT ?s { ?s :a ?x . ?x :b ?y } } UNION { SELECT ?s { ?s :a ?x . ?x :b ?y . ?y :c ?x } } }"
    found = operands(with_marks(read_query(f"PREFIX : <http://ex/> SELECT * {text}").pattern))
    columns = {
        leaf.predicate.text[11:-1]: operand.columns[a.Variable("x")]
        for leaf, operand in found.items()
        if isinstance(leaf, a.TriplePattern) and isinstance(leaf.predicate, a.Constant)
    }
    assert columns["a"] == columns["b"] != columns["c"]
