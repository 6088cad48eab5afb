"""Which triple patterns narrow which: never where a solution would be another then."""

from __future__ import annotations

import pytest

from protocol.grammar.parser import read_query
from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import with_marks
from spark_backend.compiler.algebra.narrowing import Operand, operands


def named(text: str) -> dict[Operand, str]:
    """The triple patterns, each with the local name of its predicate."""
    found = operands(with_marks(read_query(f"PREFIX : <http://ex/> SELECT * {text}").pattern))
    return {
        operand: leaf.predicate.text[11:-1]
        for (leaf, _), operand in found.items()
        if isinstance(leaf, a.TriplePattern) and isinstance(leaf.predicate, a.Constant)
    }


def narrowed(text: str) -> dict[str, str]:
    """By the local name of its predicate, those of the patterns that narrow a pattern."""
    names = named(text)
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
        ("{ ?s :a ?x { SELECT ?x { ?x :b ?y . ?y :c ?z } LIMIT 1 } }", {"a": "b", "b": "c", "c": "b"}),
        ("{ ?s :a ?x { SELECT ?x (COUNT(*) AS ?n) { ?x :b ?y } GROUP BY ?x } }", {"a": "b", "b": ""}),
        (
            "{ ?s :a ?x { SELECT ?x (COUNT(*) AS ?n) { ?x :b ?s . ?s :c ?y } GROUP BY ?x } }",
            {"a": "b", "b": "c", "c": "b"},
        ),
        ("{ ?s :a ?x { SELECT (SAMPLE(?y) AS ?x) { ?x :b ?y } } }", {"a": "", "b": ""}),
        # One table stands for both of its places: what narrows it in one of them alone does not.
        ("{ ?s :a ?x OPTIONAL { ?s :a ?x . ?x :b ?y } }", {"a": "", "b": "a"}),
        (
            "{ { ?s :a ?x . ?x :b ?y . ?y :c ?z } UNION { ?s :a ?x . ?x :b ?y } ?s :d ?v }",
            {"a": "bd", "b": "a", "c": "b", "d": "a"},
        ),
        ("{ { SELECT ?s { ?s :a ?x } } { ?s :a ?x . ?x :b ?y } }", {"b": ""}),
        ("{ GRAPH ?g { ?s :a ?x } GRAPH ?h { ?s :a ?x . ?x :b ?y } }", {"b": ""}),
        ("{ { ?s :a ?x . ?x :b ?y } { SELECT * { ?s :a ?x . ?y :c ?s } } }", {"a": "bc", "b": "ac", "c": "ab"}),
    ],
)
def test_what_narrows_a_pattern(text: str, expected: dict[str, str]) -> None:
    assert narrowed(text) == expected


def test_a_pattern_is_another_one_in_another_graph() -> None:
    text = "SELECT * { GRAPH <g> { ?s <a> ?x } ?s <a> ?x . ?x <b> ?y FILTER EXISTS { GRAPH ?g { ?s <a> ?x } } }"
    found = operands(with_marks(read_query(f"BASE <http://ex/> {text}").pattern))
    graphs: dict[str | None, set[str | None]] = {}
    for (_, graph), operand in found.items():
        graphs.setdefault(graph, set()).update(other for _, other in (one.place for one in operand.narrowed_by))
    assert graphs == {"http://ex/g": {None, ""}, None: {"http://ex/g", None, ""}, "": {"http://ex/g", None}}
    assert not any(operand.unread for operand in found.values())


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
    columns = {name: operand.columns[a.Variable("x")] for operand, name in named(text).items()}
    assert columns["a"] == columns["b"] != columns["c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?x . ?x :b ?y FILTER(?x > 1 && ?y != ?s) }", {"a": 1, "b": 1}),
        ("{ ?s :a ?x . ?x :b ?y FILTER(?y IN (1, 2) && !(?y = ?x)) }", {"a": 0, "b": 2}),
        ("{ ?s :a ?x FILTER(!sameTerm(?x, ?s)) }", {"a": 1}),
        ("{ ?s :a ?x FILTER(?x + 1 > 2) }", {"a": 0}),
        ('{ ?s :a ?x FILTER REGEX(?x, "a") }', {"a": 0}),
        ("{ ?s :a ?x FILTER(1 > 2) }", {"a": 0}),
        ("{ { ?s :a ?x } UNION { ?s :b ?x } FILTER(?x > 1) }", {"a": 1, "b": 1}),
        ("{ ?s :a ?x OPTIONAL { ?s :b ?y } FILTER(?y > 1 || ?x > 1) }", {"a": 0, "b": 0}),
        ("{ ?s :a ?x OPTIONAL { { ?s :b ?y FILTER(?y > 1) } } }", {"a": 0, "b": 1}),
        ("{ ?s :a ?x MINUS { ?s :b ?y } FILTER(?x > 1) }", {"a": 1, "b": 0}),
        ("{ ?s :a ?x FILTER EXISTS { ?s :b ?y } FILTER(?x > 1) }", {"a": 1, "b": 0}),
        ("{ ?s :a ?x FILTER NOT EXISTS { ?s :b ?y FILTER(?y > 1) } }", {"a": 0, "b": 1}),
        ("{ { SELECT ?s { ?s :a ?x . ?s :b ?y } } ?s :c ?x FILTER(?x > 1) }", {"a": 0, "b": 0, "c": 1}),
        ("{ { SELECT ?s ?x { ?s :a ?x } LIMIT 1 } FILTER(?x > 1) }", {"a": 0}),
        # One table stands for both places.
        ("{ { ?s :a ?x FILTER(?x > 1) } UNION { ?s :a ?x . ?s :b ?y } }", {"a": 0, "b": 0}),
    ],
)
def test_conditions_of_solutions_are_those_of_what_one_pattern_matches(text: str, expected: dict[str, int]) -> None:
    assert {name: len(operand.conditions) for operand, name in named(text).items()} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?x OPTIONAL { ?x :b ?y } ?s :c ?z MINUS { ?z :d ?w } }", "ac"),
        ("{ { ?s :a ?x } UNION { ?s :b ?x } }", ""),
        ("{ { SELECT ?s (COUNT(*) AS ?n) { ?s :a ?x OPTIONAL { ?x :b ?y } } GROUP BY ?s } ?s :c ?z }", "ac"),
        ("{ { SELECT (COUNT(*) AS ?n) { ?s :a ?x } } ?s :c ?z }", "c"),
        ("{ { SELECT * { ?s :a ?x } LIMIT 3 } }", "a"),
        ("{ { ?s :a ?x . ?x :b ?y } UNION { ?s :a ?x OPTIONAL { ?x :c ?y } } }", "a"),
        ("{ { ?s :a ?x } UNION { ?s :a ?y } }", ""),
        ("{ { ?s :a ?x } UNION { GRAPH :g { ?s :a ?x } } }", ""),
        ("{ { ?s :a ?x . ?x :b ?y } UNION { ?s :a ?x } UNION { ?s :c ?z . ?s :a ?x } }", "a"),
        ("{ ?s :a ?x FILTER EXISTS { { ?s :b ?y } UNION { ?s :b ?y . ?y :c ?z } } }", "a"),
    ],
)
def test_what_each_solution_has_a_match_of(text: str, expected: str) -> None:
    assert "".join(sorted(name for operand, name in named(text).items() if operand.required)) == expected


@pytest.mark.parametrize(
    ("path", "are_narrowed"),
    [(":e :b+ ?x", True), ("?x :b* :e", True), ("?x :b+ ?y", False), (":e :b+ :f", False)],
)
def test_paths_from_or_to_a_node_narrow_and_are_narrowed(path: str, are_narrowed: bool) -> None:
    found = operands(with_marks(read_query(f"PREFIX : <http://ex/> SELECT * {{ ?s :a ?x . {path} }}").pattern))
    (pattern,) = (operand for (leaf, _), operand in found.items() if isinstance(leaf, a.TriplePattern))
    paths = [operand for (leaf, _), operand in found.items() if isinstance(leaf, a.Closure)]
    assert pattern.narrowed_by == set(paths)
    assert [one.narrowed_by for one in paths] == ([{pattern}] if are_narrowed else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?x . ?x :c ?y FILTER NOT EXISTS { ?x :b ?z } }", {"a": "b", "c": "b"}),
        ("{ ?s :a ?x . ?x :c ?y MINUS { ?x :b ?z } }", {"a": "b", "c": "b"}),
        ("{ ?s :a ?x . ?x :c ?y MINUS { ?s :b ?y } }", {}),
        ("{ ?s :a ?x MINUS { ?y :b ?z } }", {}),
        ("{ ?s :a ?x MINUS { ?x :b ?z . ?z :c ?w } }", {}),
        ("{ ?s :a ?x MINUS { ?x :b ?z FILTER(?z > 1) } }", {}),
        ("{ ?s :a ?x MINUS { GRAPH :g { ?x :b ?z } } }", {"a": "b"}),
        ("{ ?s :a ?x FILTER EXISTS { ?x :b ?z } }", {}),
        ("{ ?s :a ?x FILTER(NOT EXISTS { ?x :b ?z } || ?x > 1) }", {}),
        ("{ ?s :a ?x OPTIONAL { ?s :c ?z } MINUS { ?x :b ?z } }", {}),
        ("{ { ?s :a ?x } UNION { ?s :c ?x } MINUS { ?x :b ?z } }", {"a": "b", "c": "b"}),
        # Inside of what is asked of other solutions variables may have values from there.
        ("{ ?s :d ?z FILTER EXISTS { ?s :a ?x FILTER NOT EXISTS { ?x :b ?z } } }", {}),
        ("{ { SELECT ?s { ?s :a ?x MINUS { ?x :b ?z } } } ?s :c ?x }", {"a": "b"}),
        ("{ { SELECT ?s { ?s :a ?x } } ?s :c ?x MINUS { ?x :b ?z } }", {"c": "b"}),
        # One table stands for both places.
        ("{ { ?s :a ?x MINUS { ?x :b ?z } } UNION { ?s :a ?x . ?s :c ?y } }", {}),
    ],
)
def test_what_one_pattern_keeps_from_being_a_solution(text: str, expected: dict[str, str]) -> None:
    names = named(text)
    barred = {names[operand]: "".join(names[one] for one in operand.barred_by) for operand in names}
    assert {name: by for name, by in barred.items() if by} == expected


@pytest.mark.parametrize(
    ("rows", "narrows"),
    [
        ("VALUES ?x { :a 1 }", True),
        ("VALUES (?x ?z) { (:a UNDEF) (:b :c) }", True),
        ("VALUES ?x { :a UNDEF }", False),
        ("VALUES ?x { }", False),
    ],
)
def test_inline_data_narrow_by_what_all_of_their_rows_have(rows: str, narrows: bool) -> None:
    found = operands(with_marks(read_query(f"PREFIX : <http://ex/> SELECT * {{ ?s :a ?x . {rows} }}").pattern))
    (pattern,) = (operand for (leaf, _), operand in found.items() if isinstance(leaf, a.TriplePattern))
    assert [isinstance(one.leaf, a.Values) for one in pattern.narrowed_by] == [True] * narrows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{ ?s :a ?x . ?t :b ?y FILTER(?x = ?y) }", {"a x b y", "b y a x"}),
        ("{ ?s :a ?x . ?t :b ?y FILTER(?y = ?x && ?s != ?t) }", {"a x b y", "b y a x"}),
        ("{ ?s :a ?x . ?t :b ?y FILTER(?x = ?y || ?s != ?t) }", set()),
        ("{ ?s :a ?x . ?t :b ?y FILTER(?x <= ?y) }", set()),
        ("{ ?s :a ?x OPTIONAL { ?t :b ?y } FILTER(?x = ?y) }", set()),
        ("{ ?s :a ?x . ?t :b ?y OPTIONAL { ?t :c ?z FILTER(?x = ?y) } }", set()),
        # An alternative need not be there to have what it equals, but what it equals has to be.
        ("{ ?s :a ?x { ?t :b ?y } UNION { ?t :c ?z } FILTER(?x = ?y) }", {"b y a x"}),
        ("{ ?s :a ?x { SELECT ?t { ?t :b ?y } } FILTER(?x = ?y) }", set()),
        ("{ ?s :a ?x . ?t :b ?y FILTER(?x = ?y) FILTER EXISTS { ?t :b ?y } }", set()),
    ],
)
def test_what_equals_what_another_pattern_matches(text: str, expected: set[str]) -> None:
    names = named(text)
    assert {
        f"{name} {own.name} {names[one]} {theirs.name}"
        for operand, name in names.items()
        for own, one, theirs in operand.equals
    } == expected
