"""What each pass makes of a pattern: another one that could have been written, or one that only the compiler knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.grammar.parser import read_query
from protocol.language import algebra as a
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.language.parts import with_names
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.compiler.algebra.marks import with_marks
from spark_backend.compiler.passes import PASSES, Pass, apply_passes
from spark_backend.compiler.passes.bind_operands import bind_operands
from spark_backend.compiler.passes.compare_resources import compare_resources
from spark_backend.compiler.passes.distribute_unions import distribute_unions
from spark_backend.compiler.passes.drop_empty import drop_empty, has_none
from spark_backend.compiler.passes.fold_constants import FAILURE, fold_constants
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.passes.normalise import normalise
from spark_backend.compiler.passes.order_joins import order_joins
from spark_backend.compiler.passes.project_early import project_early
from spark_backend.compiler.passes.prune_columns import prune_columns
from spark_backend.compiler.passes.push_filters import push_filters
from spark_backend.compiler.passes.split_products import split_products
from spark_backend.compiler.passes.split_static import split_static
from spark_backend.compiler.passes.unfold_steps import unfold_steps
from spark_backend.compiler.passes.unify_variables import unify_variables
from spark_backend.compiler.plan import compile_query
from spark_backend.compiler.sql.dataset import QueryDataset
from spark_backend.compiler.sql.tree.nodes import named
from spark_backend.compiler.statistics import Occurrences, Statistics
from tests.spark_backend.compiler.one_shot import Content, continuous

PREFIXES = "PREFIX : <http://ex/> "
_TO_EMPTY = (normalise, compare_resources, fold_constants, drop_empty)
S, V, W, X, Y, R, L, D = (a.Variable(name) for name in "svwxyrld")


def after(text: str, *passes: Pass, statistics: Statistics | None = None) -> a.Pattern:
    """The pattern below the outermost projection, one window being the graph :w."""
    query = read_query(PREFIXES + text)
    query = replace(query, pattern=with_marks(query.pattern))
    window = StreamWindow("http://stream", TimeWindow(1000, 1000, 0), "http://ex/w", True)
    continuous = ContinuousQuery(text, query, Form.SELECT, R2S.RSTREAM, (window,), (), ())
    knowledge = Knowledge(QueryDataset(continuous, lambda _: True), None, statistics)
    query, _ = apply_passes(query, knowledge, passes)
    assert isinstance(query.pattern, a.Project)
    return query.pattern.pattern


def triple(subject: a.Variable, name: str, object: a.Variable) -> a.TriplePattern:
    return a.TriplePattern(subject, a.Constant(f"<http://ex/{name}>"), object)


def matched(*triples: a.TriplePattern) -> a.BGP:
    return a.BGP(triples)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("{{?s :p ?v} {?s :q ?w}}", "{?s :p ?v . ?s :q ?w}"),
        ("{{} {{?s :p ?v} {}} {?s :q ?w}}", "{?s :p ?v . ?s :q ?w}"),
        ("{GRAPH :w {?s :p ?v} ?v :r ?o GRAPH :w {?s :q ?w}}", "{GRAPH :w {?s :p ?v . ?s :q ?w} ?v :r ?o}"),
        ("{?s :p ?v OPTIONAL {}}", "{?s :p ?v}"),
        ("{{SELECT ?s ?v {{SELECT * {?s :p ?v}}}}}", "{{SELECT ?s ?v {?s :p ?v}}}"),
        (
            "{{SELECT DISTINCT ?s {SELECT DISTINCT ?s ?v {?s :p ?v}}}}",
            "{{SELECT DISTINCT ?s {SELECT ?s {?s :p ?v}}}}",
        ),
        ("{{?s :p ?v} UNION {{?s :q ?v} UNION {?s :r ?v}}}", "{{?s :p ?v} UNION {?s :q ?v} UNION {?s :r ?v}}"),
        ("{?s :p ?v FILTER(?v = 1 || 'a' = ?v || ?v = :b)}", "{?s :p ?v FILTER(?v IN (1, 'a', :b))}"),
        ("{?s :p ?v FILTER(?v != 1) FILTER(?v != :b)}", "{?s :p ?v FILTER(?v NOT IN (1, :b))}"),
        ("{?s :p ?v FILTER(?v = 1 || ?s = :a || ?v = 2)}", "{?s :p ?v FILTER(?v IN (1, 2) || ?s = :a)}"),
        (
            "{?s :p ?v OPTIONAL {?s :q ?w FILTER(!(?v = 1 || ?v = 2) && ?w != ?v)}}",
            "{?s :p ?v OPTIONAL {?s :q ?w FILTER(!(?v IN (1, 2)) && ?w != ?v)}}",
        ),
        (
            "{?s :p ?v FILTER(LANG(?v) = 'en' || (STR(?v) != 'a' && STR(?v) != 'b') || LANG(?v) = '')}",
            "{?s :p ?v FILTER(LANG(?v) IN ('en', '') || STR(?v) NOT IN ('a', 'b'))}",
        ),
    ],
)
def test_what_means_the_same_is_written_in_one_way(written: str, same_as: str) -> None:
    assert after(f"SELECT * {written}", normalise) == after(f"SELECT * {same_as}", normalise)
    assert after(f"SELECT * {written}") != after(f"SELECT * {same_as}", normalise)


@pytest.mark.parametrize(
    "condition",
    [
        "?v != 1 || ?v != 2",
        "?v = 1 && ?v = 2",
        "?v = 1 || ?s = 1",
        "?v = ?w || ?v = 1",
        "RAND() = 1 || RAND() = 2",
        "ABS(?v) = 1 || ABS(?v) = 2",
    ],
)
def test_other_chains_of_comparisons_stay_as_they_are(condition: str) -> None:
    assert after(f"SELECT * {{?s :p ?v . ?s :q ?w FILTER({condition})}}", normalise) == after(
        f"SELECT * {{?s :p ?v . ?s :q ?w FILTER({condition})}}"
    )


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("{?s :p ?v . ?x :q ?w FILTER(?s = ?w)}", "{?s :p ?v . ?x :q ?w FILTER(sameTerm(?s, ?w))}"),
        ("{?s ?p ?v FILTER(?v != ?p && ?v > 2)}", "{?s ?p ?v FILTER(!sameTerm(?v, ?p) && ?v > 2)}"),
        ("{?s :p ?v FILTER(?s < ?v || ?v > 2)}", "{?s :p ?v FILTER(false || ?v > 2)}"),
        ("{?s :p ?v FILTER(?v >= ?s)}", "{?s :p ?v FILTER(sameTerm(?v, ?s))}"),
        ("{?s :p ?v OPTIONAL {?x :q ?w FILTER(?s = ?w)}}", "{?s :p ?v OPTIONAL {?x :q ?w FILTER(sameTerm(?s, ?w))}}"),
        ("{GRAPH ?g {?x :p ?v} BIND(?g = ?v AS ?b)}", "{GRAPH ?g {?x :p ?v} BIND(sameTerm(?g, ?v) AS ?b)}"),
        (
            "{?s :p ?v BIND(?s AS ?x) ?r :p ?w FILTER(?x = ?w)}",
            "{?s :p ?v BIND(?s AS ?x) ?r :p ?w FILTER(sameTerm(?x, ?w))}",
        ),
        ("{?s :p ?v FILTER(?s IN (:a, 7))}", "{?s :p ?v FILTER(sameTerm(?s, :a) || false)}"),
        ("{?s :p ?v FILTER(?s = 7 || ?s != 'x')}", "{?s :p ?v FILTER(false || !false)}"),
        ("{?s :p ?v BIND(?s NOT IN (?v) AS ?b)}", "{?s :p ?v BIND(!sameTerm(?s, ?v) AS ?b)}"),
        ("{?d :p <<( ?s ?l ?v )>> FILTER(?s = ?v)}", "{?d :p <<( ?s ?l ?v )>> FILTER(sameTerm(?s, ?v))}"),
        ("{?s :p+ ?v . ?x :q ?w FILTER(?s = ?w)}", "{?s :p+ ?v . ?x :q ?w FILTER(sameTerm(?s, ?w))}"),
        (
            "{?s :p ?v FILTER(?s = ?v && EXISTS {?s :q ?w})}",
            "{?s :p ?v FILTER(sameTerm(?s, ?v) && EXISTS {?s :q ?w})}",
        ),
    ],
)
def test_what_is_no_literal_is_compared_by_its_term(written: str, same_as: str) -> None:
    assert after(f"SELECT * {written}", compare_resources) == after(f"SELECT * {same_as}")


@pytest.mark.parametrize(
    "pattern",
    [
        "{?s :p ?v . ?x :q ?w FILTER(?v = ?w)}",
        "{?x :q ?w OPTIONAL {?s :p ?v} FILTER(?s = ?w)}",
        "{{?s :p ?v} UNION {?v :p ?s} FILTER(?s = ?v)}",
        "{?s :p ?v FILTER(!(?s < ?v))}",
        "{?s :p ?v BIND(?s <= ?v AS ?b)}",
        "{?s :p ?v FILTER(?v IN (?s, 7))}",
        "{?s :p ?v FILTER(?s NOT IN ())}",
        "{?x (:p|:q)* ?v FILTER(?x = ?v)}",
        "{?s :p ?v BIND(SUBJECT(?v) AS ?x) FILTER(?x = ?v)}",
        "{?x :p+ ?v . ?s :q ?w FILTER(?v = ?w)}",
        "{VALUES ?x {1 :s} FILTER(?x = ?x)}",
    ],
)
def test_what_may_be_a_literal_or_is_told_from_an_error_is_compared_as_written(pattern: str) -> None:
    assert after(f"SELECT * {pattern}", compare_resources) == after(f"SELECT * {pattern}")


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("{{?s :p ?v} UNION {?s :q ?w FILTER(1 > 2)}}", "{?s :p ?v}"),
        ("{{?s :q ?w FILTER(1 > 2)} UNION {?s :p ?v}}", "{?s :p ?v}"),
        ("{?s :p ?v MINUS {?s :q ?w {?x :r ?o FILTER(1/0)}}}", "{?s :p ?v}"),
        ("{?s :p ?v OPTIONAL {SELECT ?s ?w {?s :q ?w FILTER(false)} LIMIT 3}}", "{?s :p ?v}"),
        ("{?s :p ?v FILTER(EXISTS {} && ?v > 1)}", "{?s :p ?v FILTER(?v > 1)}"),
        ("{?s :p ?v FILTER(EXISTS {} || EXISTS {?s :q ?w})}", "{?s :p ?v}"),
        ("{?s :p ?v FILTER NOT EXISTS {?s :q ?w FILTER(1 > 2)}}", "{?s :p ?v}"),
        ("{?s :p ?v BIND(EXISTS {?s :q ?w FILTER(1 > 2)} AS ?b)}", "{?s :p ?v BIND(false AS ?b)}"),
    ],
)
def test_what_has_no_solution_is_gone(written: str, same_as: str) -> None:
    assert after(f"SELECT * {written}", *_TO_EMPTY) == after(f"SELECT * {same_as}", *_TO_EMPTY)


@pytest.mark.parametrize(
    "pattern",
    [
        "{?s :p ?v FILTER(false)}",
        "{?s :p ?v {?x :q ?w FILTER(1/0)}}",
        "{?s :p ?v FILTER(false) OPTIONAL {?s :q ?w}}",
        "{?s :p ?v FILTER(false) MINUS {?s :q ?w}}",
        "{GRAPH ?g {?s :p ?v FILTER(false)}}",
        "{{?s :p ?v FILTER(false)} UNION {?s :q ?v FILTER(1 > 2)}}",
        "{?s :p ?v FILTER NOT EXISTS {}}",
        "{?s :p ?v FILTER(BOUND(?nope))}",
        "{?s :p ?v {SELECT ?s {?s :q ?w FILTER(?v = ?w)}}}",
        "{?s :p ?v FILTER(false) BIND(EXISTS {?s :q ?w} AS ?b)}",
    ],
)
def test_what_has_no_solution_keeps_its_variables(pattern: str) -> None:
    found = after(f"SELECT * {pattern}", *_TO_EMPTY)
    assert has_none(found)
    assert a.in_scope(found) == a.in_scope(after(f"SELECT * {pattern}"))


@pytest.mark.parametrize(
    "pattern",
    [
        "{SELECT (COUNT(*) AS ?n) {?s :p ?v FILTER(false)}}",
        "{?s :p ?v OPTIONAL {?s :q ?w FILTER(false)}}",
        "{{?s :p ?v FILTER(false)} UNION {?s :q ?w}}",
        "{VALUES ?s {UNDEF}}",
        "{?s :p ?v FILTER(BOUND(?v))}",
        "{?s :p ?v FILTER(?nope = 1 || ?v = 1)}",
    ],
)
def test_what_may_have_a_solution_is_left(pattern: str) -> None:
    assert not has_none(after(f"SELECT * {pattern}", *_TO_EMPTY))


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        (
            "{?x :p? ?y . ?y :q ?z}",
            "{{?y :q ?z BIND(?y AS ?x)} UNION {?y :q ?z . ?x :p ?y FILTER(!sameTerm(?y, ?x))}}",
        ),
        (
            "{?x :r ?z . ?x :p? ?z}",
            "{{?x :r ?z FILTER(sameTerm(?z, ?x))} UNION {?x :r ?z . ?x :p ?z FILTER(!sameTerm(?z, ?x))}}",
        ),
        (
            "{GRAPH :g {?x (:p|:r)? ?y . ?y :q ?z}}",
            """{GRAPH :g {{?y :q ?z BIND(?y AS ?x)} UNION {
               ?y :q ?z {SELECT DISTINCT ?x ?y {{?x :p ?y} UNION {?x :r ?y}}} FILTER(!sameTerm(?y, ?x))}}}""",
        ),
        (
            "{?y :p? :a . ?y :q ?z}",
            "{{?y :q ?z FILTER(sameTerm(?y, :a))} UNION {?y :q ?z . ?y :p :a FILTER(!sameTerm(?y, :a))}}",
        ),
    ],
)
def test_a_step_or_none_beside_a_match_is_written_out(written: str, same_as: str) -> None:
    assert after(f"SELECT * {written}", normalise, unfold_steps) == after(f"SELECT * {same_as}")


@pytest.mark.parametrize("path", [":p?/:q", "^:q/:p?"])
def test_no_step_of_a_sequence_is_a_match_of_both_its_ends_which_others_may_know(path: str) -> None:
    found = after(f"SELECT * {{?x {path} ?z}}", normalise, unfold_steps)
    (no_step,) = (node for node in a.nodes(found) if isinstance(node, a.BGP) and len(node.triples) == 1)
    assert set(no_step.triples[0].variables) == {a.Variable("x"), a.Variable("z")}


@pytest.mark.parametrize(
    "pattern",
    [
        "{?x :p? ?y}",
        "{?x :p? ?y . ?s :q ?z}",
        "{?x :p* ?y . ?y :q ?z}",
        "{?x :p+ ?y . ?y :q ?z}",
        "{?x :p? ?x . ?x :q ?z}",
        "{?x (:p/:r)? ?y . ?y :q ?z}",
        "{?x (!:p)? ?y . ?y :q ?z}",
        "{GRAPH :g {?x :p? ?y} ?y :q ?z}",
        "{?x :p? ?y OPTIONAL {?y :q ?z}}",
    ],
)
def test_other_paths_are_left(pattern: str) -> None:
    assert after(f"SELECT * {pattern}", normalise, unfold_steps) == after(f"SELECT * {pattern}", normalise)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("{?s :p ?v . ?x :q ?w FILTER(sameTerm(?v, ?w))}", "{?s :p ?v . ?x :q ?v BIND(?v AS ?w)}"),
        (
            "{?s :p ?v . ?s :q ?w FILTER(sameTerm(?s, ?v) && ?w > 1)}",
            "{?s :p ?s . ?s :q ?w BIND(?s AS ?v) FILTER(?w > 1)}",
        ),
        (
            "{?s :p ?v . GRAPH ?g {?x :q ?y} {?x :r ?o} UNION {?s :r ?o} FILTER(sameTerm(?s, ?x))}",
            "{?s :p ?v . GRAPH ?g {?s :q ?y} {?s :r ?o} UNION {?s :r ?o} BIND(?s AS ?x)}",
        ),
        (
            "{?s :p ?v . ?x :q ?w {SELECT DISTINCT ?x {?x :r ?y}} FILTER(sameTerm(?s, ?x))}",
            "{?s :p ?v . ?s :q ?w {SELECT DISTINCT ?s {?s :r ?y}} BIND(?s AS ?x)}",
        ),
        (
            "{?s :p ?v . ?x :q ?w {SELECT ?v {?x :r ?v}} FILTER(sameTerm(?s, ?x))}",
            "{?s :p ?v . ?s :q ?w {SELECT ?v {?x :r ?v}} BIND(?s AS ?x)}",
        ),
        (
            "{?s :p ?v . ?x :q ?w OPTIONAL {?x :r ?o} MINUS {?s :r ?x} FILTER(sameTerm(?s, ?x))}",
            "{{?s :p ?v . ?s :q ?w BIND(?s AS ?x)} OPTIONAL {?x :r ?o} MINUS {?s :r ?x}}",
        ),
        (
            "{?s :p ?v . ?x :q ?w {?x :r ?o OPTIONAL {?o :r ?x}} FILTER(sameTerm(?s, ?x))}",
            "{?s :p ?v . ?s :q ?w {?s :r ?o OPTIONAL {?o :r ?s}} BIND(?s AS ?x)}",
        ),
    ],
)
def test_variables_of_one_term_are_one(written: str, same_as: str) -> None:
    assert after(f"SELECT * {written}", normalise, unify_variables) == after(f"SELECT * {same_as}", normalise)


@pytest.mark.parametrize(
    "pattern",
    [
        "{?s :p ?v OPTIONAL {?s :q ?w} FILTER(sameTerm(?v, ?w))}",
        "{?s :p ?v OPTIONAL {?x :r ?o} FILTER(sameTerm(?s, ?x))}",
        "{?s :p ?v . ?x :q ?w {?s :r ?o OPTIONAL {?x :r ?o}} FILTER(sameTerm(?s, ?x))}",
        "{?s :p ?v . ?x :q ?w {SELECT ?x {?x :r ?s}} FILTER(sameTerm(?s, ?x))}",
        "{?s :p ?v . ?x :q ?w FILTER(sameTerm(?s, ?x) || ?v > 1)}",
        "{?s :p ?v FILTER(sameTerm(?s, ?s))}",
        "{?s :p ?v . VALUES ?x {:a} FILTER(sameTerm(?s, ?x))}",
        "{?s :p ?v . ?x :q ?w {?s :r ?o FILTER(sameTerm(?x, ?x))} FILTER(sameTerm(?s, ?x))}",
        "{?s :p ?v . ?x :q ?w {?x :r ?o FILTER(!BOUND(?s))} FILTER(sameTerm(?s, ?x))}",
        "{?s :p ?v . ?x :q ?w {SELECT DISTINCT * {{?s :r ?o} UNION {?x :r ?o}}} FILTER(sameTerm(?s, ?x))}",
    ],
)
def test_variables_that_may_be_unbound_or_are_told_apart_are_two(pattern: str) -> None:
    assert after(f"SELECT * {pattern}", normalise, unify_variables) == after(f"SELECT * {pattern}", normalise)


def test_patterns_of_several_groups_stay_apart_where_an_operator_is_between() -> None:
    pattern = after("SELECT * {?s :p ?v BIND(1 AS ?x) ?s :q ?w}", normalise)
    assert isinstance(pattern, a.Join)
    assert isinstance(pattern.left, a.Extend)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("FILTER(1 < 2)", ""),
        ("FILTER(?v > 1 + 2 && true)", "FILTER(?v > 3)"),
        ("FILTER(?v > 1 && 'a' = 'b')", "FILTER(false)"),
        ("FILTER(1/0)", "FILTER(false)"),
        ("FILTER(?v > 1 || 1 = 1)", ""),
        ("FILTER(IF(2 > 1, ?v > 1, ?s = 1))", "FILTER(?v > 1)"),
        ("FILTER(COALESCE(1/0, ?v) = 1)", "FILTER(COALESCE(?v) = 1)"),
        ("FILTER(!false && ?v = STRLEN('abc'))", "FILTER(?v = 3)"),
        ("FILTER(?v > YEAR('2020-02-03T00:00:00Z'^^<http://www.w3.org/2001/XMLSchema#dateTime>))", "FILTER(?v > 2020)"),
        ("FILTER(?v = CONCAT('a', UCASE('b')))", "FILTER(?v = 'aB')"),
    ],
)
def test_constant_expressions_are_their_values(written: str, same_as: str) -> None:
    assert after(f"SELECT * {{?s :p ?v {written}}}", fold_constants) == after(
        f"SELECT * {{?s :p ?v {same_as}}}", fold_constants
    )


def test_a_failure_beside_an_alternative_is_still_undecided() -> None:
    pattern = after("SELECT * {?s :p ?v FILTER(1/0 || ?v > 1)}", fold_constants)
    assert isinstance(pattern, a.Filter)
    assert isinstance(pattern.condition, a.Call)
    assert (pattern.condition.name, pattern.condition.arguments[0]) == ("||", FAILURE)


@pytest.mark.parametrize("varying", ["NOW()", "RAND()", "STRUUID()", "YEAR(NOW())"])
def test_what_differs_between_evaluations_is_not_folded(varying: str) -> None:
    text = f"SELECT * {{?s :p ?v BIND({varying} AS ?x)}}"
    assert after(text, fold_constants).expression == after(text).expression  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("{?s :p ?v OPTIONAL {?s :q ?w} FILTER(?v > 1)}", "{{?s :p ?v FILTER(?v > 1)} OPTIONAL {?s :q ?w}}"),
        ("{?s :p ?v OPTIONAL {?s :q ?w FILTER(?w > 1)}}", "{?s :p ?v OPTIONAL {{?s :q ?w FILTER(?w > 1)}}}"),
        ("{?s :p ?v MINUS {?s :q ?w} FILTER(?v > 1)}", "{{?s :p ?v FILTER(?v > 1)} MINUS {?s :q ?w}}"),
        (
            "{{?s :p ?v} UNION {?s :q ?v} FILTER(?v > 1)}",
            "{{?s :p ?v FILTER(?v > 1)} UNION {?s :q ?v FILTER(?v > 1)}}",
        ),
        ("{GRAPH :w {?s :p ?v} FILTER(?v > 1)}", "{GRAPH :w {?s :p ?v FILTER(?v > 1)}}"),
        ("{?s :p ?v BIND(1 AS ?x) FILTER(?v > 1)}", "{{?s :p ?v FILTER(?v > 1)} BIND(1 AS ?x)}"),
        (
            "{?s :q ?w {SELECT ?s ?v {?s :p ?v}} FILTER(?v > 1)}",
            "{?s :q ?w {SELECT ?s ?v {?s :p ?v FILTER(?v > 1)}}}",
        ),
        (
            "{{SELECT ?v (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?v} FILTER(?v > 1)}",
            "{{SELECT ?v (COUNT(*) AS ?n) {?s :p ?v FILTER(?v > 1)} GROUP BY ?v}}",
        ),
        (
            "{?s :p ?v . ?x :r ?o FILTER NOT EXISTS {?x :q ?w FILTER(?o > 1)}}",
            "{?s :p ?v {?x :r ?o FILTER NOT EXISTS {?x :q ?w FILTER(?o > 1)}}}",
        ),
        (
            "{GRAPH :w {?x :p ?v . ?x :r ?o} FILTER(EXISTS {?x :q ?w} || ?o > 1)}",
            "{GRAPH :w {?x :p ?v} {GRAPH :w {?x :r ?o} FILTER(EXISTS {?x :q ?w} || ?o > 1)}}",
        ),
        (
            "{?s :p ?v {?s :q ?w {?w :r ?v} UNION {?v :r ?w}} FILTER(?s != ?v)}",
            "{{?s :p ?v FILTER(?s != ?v)} {{?s :q ?w {?w :r ?v} UNION {?v :r ?w}} FILTER(?s != ?v)}}",
        ),
        (
            "{?s :p ?v {?s :q ?w {?w :r ?v} UNION {?v :r ?w}} FILTER REGEX(?v, 'a')}",
            "{?s :p ?v {?s :q ?w {{?w :r ?v FILTER REGEX(?v, 'a')} UNION {?v :r ?w FILTER REGEX(?v, 'a')}}}}",
        ),
    ],
)
def test_filters_go_where_their_variables_are_bound(written: str, same_as: str) -> None:
    pattern = after(f"SELECT * {written}", push_filters)
    assert pattern == after(f"SELECT * {same_as}") != after(f"SELECT * {written}")


@pytest.mark.parametrize(
    "written",
    [
        "{?s :p ?v OPTIONAL {?s :q ?w} FILTER(?w > 1)}",
        "{?s :p ?v OPTIONAL {?s :q ?w FILTER(?v > 1)}}",
        "{?s :p ?v BIND(?v AS ?x) FILTER(?x > 1)}",
        "{{SELECT ?s ?v {?s :p ?v} LIMIT 1} FILTER(?v > 1)}",
        "{{SELECT ?s {?s :p ?v}} FILTER(?v > 1)}",
        "{GRAPH ?g {?s :p ?v} FILTER(?g = :w)}",
        "{?s :p ?v OPTIONAL {?s :q ?w} OPTIONAL {?s :r ?w} FILTER(?w > 1)}",
        "{?s :p ?v . ?x :r ?o FILTER NOT EXISTS {?x :q ?w FILTER(?v > 1)}}",
        "{?s :p ?v . ?x :r ?o FILTER NOT EXISTS {?x :q ?w}}",
        "{?s :p ?v OPTIONAL {?x :r ?o} FILTER(EXISTS {?x :q ?w} || ?o > 1)}",
    ],
)
def test_filters_stay_where_pushing_them_would_mean_something_else(written: str) -> None:
    assert after(f"SELECT * {written}", push_filters) == after(f"SELECT * {written}")


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        (
            "{?s :p ?v OPTIONAL {?x :q ?w FILTER(?w > ?v + 3 || ?w = ?v + 3)}}",
            "{?s :p ?v BIND(?v + 3 AS ?a) OPTIONAL {?x :q ?w FILTER(?w > ?a || ?w = ?a)}}",
        ),
        (
            "{?s :p ?v OPTIONAL {?s :q ?w FILTER(?v < 2 * ?w && !(STRLEN(?v) = ?w))}}",
            "{?s :p ?v BIND(STRLEN(?v) AS ?b) OPTIONAL {{?s :q ?w BIND(2 * ?w AS ?a)} FILTER(?v < ?a && !(?b = ?w))}}",
        ),
        (
            "{?s :p ?v OPTIONAL {?s :q ?w} OPTIONAL {?x :r ?y FILTER(?y > ?w + 3)}}",
            "{?s :p ?v OPTIONAL {?s :q ?w} BIND(?w + 3 AS ?a) OPTIONAL {?x :r ?y FILTER(?y > ?a)}}",
        ),
        (
            "{?s :p ?v . ?x :q ?w FILTER(HOURS(?v) = ?w + 1)}",
            "{{?s :p ?v BIND(HOURS(?v) AS ?a)} {?x :q ?w BIND(?w + 1 AS ?b)} FILTER(?a = ?b)}",
        ),
        (
            "{?s :p ?v ; :r ?u . ?x :q ?w FILTER(?u > 3 && STRLEN(?w) > 7 && ?v < ?w)}",
            "{{?s :p ?v ; :r ?u FILTER(?u > 3)} {?x :q ?w FILTER(STRLEN(?w) > 7)} FILTER(?v < ?w)}",
        ),
        (
            "{{SELECT ?s {?s :p ?v} ORDER BY ?s DESC(?v * 2) (?v + 1)}}",
            "{{SELECT ?s {?s :p ?v BIND(?v * 2 AS ?a) BIND(?v + 1 AS ?b)} ORDER BY ?s DESC(?a) ?b}}",
        ),
    ],
)
def test_what_is_compared_is_computed_where_it_is_decided(written: str, same_as: str) -> None:
    made = {a.Variable(name): a.Variable(f"_:operand{n}") for n, name in enumerate("ab", 1)}
    assert after(f"SELECT * {written}", bind_operands) == with_names(after(f"SELECT * {same_as}"), made)


@pytest.mark.parametrize(
    "written",
    [
        "{?s :p ?v OPTIONAL {?x :q ?w FILTER(?w > ?v && ?w + ?v > 3)}}",
        "{?s :p ?v OPTIONAL {?s :q ?w} OPTIONAL {?x :r ?y OPTIONAL {?x :q ?w} FILTER(?y > ?w + 3)}}",
        "{?s :p ?v OPTIONAL {?x :q ?w FILTER(?w > ?nothing + 3)}}",
        "{?s :p ?v OPTIONAL {?x :q ?w FILTER(LCASE(?w) = LCASE(?v))}}",
        "{?s :p ?v . ?x :q ?w FILTER(LCASE(?w) = LCASE(?v))}",
        "{?s :p ?v . ?x :q ?w FILTER(?v > 3 && ?w > ?v)}",
        "{?s :p ?v . ?s :q ?w FILTER(?v + 1 = 2 * ?w)}",
        "{?s :p ?v FILTER EXISTS {?x :q ?w OPTIONAL {?x :r ?y FILTER(?y > ?v + 3)}}}",
        "{?s :p ?v {SELECT ?w {?x :q ?w} ORDER BY ?w DESC(?x = :a) (?nothing + 1)}}",
        "{?s :p ?v FILTER EXISTS {SELECT ?w {?x :q ?w} ORDER BY (?w + ?v) LIMIT 1}}",
    ],
)
def test_what_is_compared_stays_where_no_side_decides_it_or_tables_are_joined_on_it(written: str) -> None:
    assert after(f"SELECT * {written}", bind_operands) == after(f"SELECT * {written}")


@pytest.mark.parametrize(
    "written", ["?s :p ?v . ?x :q ?w FILTER(?v + 1 = ?w)", "?s :p ?v OPTIONAL {?x :q ?w FILTER(?v + 1 = ?w)}"]
)
def test_what_is_compared_of_times_stays_where_it_is(written: str) -> None:
    query = read_query(f"{PREFIXES} SELECT * {{{written}}}")
    times = {a.Variable(name): a.Variable(f"_:time {name}") for name in "vw"}
    query = replace(query, pattern=with_names(query.pattern, times))
    assert bind_operands(query, None) == query


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("FILTER EXISTS {?s :q ?x . ?v :r ?y . ?x :a ?z}", "FILTER(EXISTS {?v :r ?y} && EXISTS {?s :q ?x . ?x :a ?z})"),
        ("FILTER NOT EXISTS {?s :q ?x . ?v :r ?y}", "FILTER(!(EXISTS {?s :q ?x} && EXISTS {?v :r ?y}))"),
        ("MINUS {?s :q ?x . ?v :r ?y}", "FILTER(!(EXISTS {?s :q ?x} && EXISTS {?v :r ?y}))"),
        (
            "FILTER EXISTS {?s :q ?x . ?v :r ?y FILTER(?x > 1) FILTER(?v > 2)}",
            "FILTER(EXISTS {?s :q ?x FILTER(?x > 1)} && EXISTS {?v :r ?y FILTER(?v > 2)})",
        ),
        (
            "FILTER EXISTS {GRAPH :w {?s :q ?x . ?v :r ?y}}",
            "FILTER(EXISTS {GRAPH :w {?s :q ?x}} && EXISTS {GRAPH :w {?v :r ?y}})",
        ),
    ],
)
def test_what_meets_only_outside_of_exists_is_asked_by_itself(written: str, same_as: str) -> None:
    def shape(pattern: a.Pattern) -> str:
        """With the variables that tell of EXISTS in order of their names."""
        made = sorted({node.variable.name for node in a.nodes(pattern) if isinstance(node, a.MarkJoin)})
        text = repr(pattern)
        for number, name in enumerate(made):
            text = text.replace(f"'{name}'", f"'{number}'")
        return text

    pattern = after(f"SELECT * {{?s :p ?v {written}}}", normalise, split_products)
    assert shape(pattern) == shape(after(f"SELECT * {{?s :p ?v {same_as}}}", normalise))


@pytest.mark.parametrize(
    "written",
    [
        "{?s :p ?v FILTER EXISTS {?s :q ?x . ?v :r ?x}}",
        "{?s :p ?v FILTER EXISTS {?s :q ?x . ?v :r ?y FILTER(?x != ?y)}}",
        "{?s :p ?v OPTIONAL {?v :r ?w} FILTER EXISTS {?s :q ?x . ?w :r ?y . ?w :q ?z . ?z :p ?x}}",
        "{?s :p ?v OPTIONAL {?v :r ?w} MINUS {?s :q ?x . ?w :r ?y}}",
        "{?s :p ?v MINUS {?x :q ?w . ?d :r ?l}}",
        "{?s :p ?v FILTER EXISTS {SELECT * {?s :q ?x . ?v :r ?y} LIMIT 1}}",
        "{?s :p ?v BIND(EXISTS {?s :q ?x . ?v :r ?y} AS ?d)}",
    ],
)
def test_what_is_joined_inside_of_exists_or_may_not_be_bound_outside_stays_together(written: str) -> None:
    assert after(f"SELECT * {written}", normalise, split_products) == after(f"SELECT * {written}", normalise)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        (
            "{SELECT DISTINCT ?x ?y {?s :q ?x . ?v :r ?y}}",
            "{SELECT DISTINCT ?x {?s :q ?x}} {SELECT DISTINCT ?y {?v :r ?y}}",
        ),
        ("{SELECT ?s ?x ?y {?s :q ?x . ?v :r ?y}}", "{SELECT ?s ?x {?s :q ?x}} {SELECT ?y {?v :r ?y}}"),
        ("{SELECT ?x {?s :q ?x . ?v :r ?y FILTER(?y > ?x)}}", "{SELECT ?x {?s :q ?x . ?v :r ?y FILTER(?y > ?x)}}"),
        ("{SELECT ?x {?s :q ?x . ?v :r ?y} LIMIT 1}", "{SELECT ?x {?s :q ?x . ?v :r ?y} LIMIT 1}"),
    ],
)
def test_a_sub_select_of_what_nothing_joins_is_several(written: str, same_as: str) -> None:
    pattern = after(f"SELECT * {{?s :p ?v {written}}}", normalise, split_products)
    assert pattern == after(f"SELECT * {{?s :p ?v {same_as}}}", normalise)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        (
            "{?s :p ?v {?x :q ?s . ?y :q ?v} UNION {?x :r ?s}}",
            "{{?s :p ?v . ?x :q ?s . ?y :q ?v} UNION {?s :p ?v . ?x :r ?s}}",
        ),
        (
            "{{?x :r ?s} UNION {GRAPH :g {?x :q ?s} ?y :q ?v} ?s :p ?v}",
            "{{?x :r ?s . ?s :p ?v} UNION {GRAPH :g {?x :q ?s} ?y :q ?v . ?s :p ?v}}",
        ),
        ("{?s :p ?v {?x :q ?s . ?y :q ?x} UNION {?x :r ?s}}", None),
        ("{?s :p ?v {?x :q ?s . ?y :q ?w} UNION {?x :r ?s}}", None),
        ("{?s :p ?v OPTIONAL {?v :p ?w} {?x :q ?s . ?y :q ?v} UNION {?x :r ?s}}", None),
        ("{{SELECT ?s ?v {?s :p ?v} LIMIT 3} {?x :q ?s . ?y :q ?v} UNION {?x :r ?s}}", None),
        ("{?d :p ?l FILTER EXISTS {?s :p ?v {?x :q ?s . ?y :q ?v} UNION {?x :r ?s}}}", None),
    ],
)
def test_a_join_with_alternatives_that_are_products_is_a_union_of_joins(written: str, same_as: str | None) -> None:
    pattern = after(f"SELECT * {written}", normalise, distribute_unions)
    assert pattern == after(f"SELECT * {same_as or written}", normalise)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        (
            "{SELECT DISTINCT ?x {?s :p ?x GRAPH :g {?y :q ?x}}}",
            "{SELECT DISTINCT ?x {{SELECT DISTINCT ?x {?s :p ?x}} {SELECT DISTINCT ?x {GRAPH :g {?y :q ?x}}}}}",
        ),
        (
            "{SELECT DISTINCT ?x {?s :p ?x FILTER(?x>1)}}",
            "{SELECT DISTINCT ?x {{SELECT DISTINCT ?x {?s :p ?x}} FILTER(?x>1)}}",
        ),
        ("{SELECT DISTINCT ?x ?s {?s :p ?x . ?s :q ?x}}", None),
        ("{SELECT DISTINCT ?x {?s :p ?x . ?s :q ?y FILTER(?y > 1)}}", None),
        ("{SELECT ?x {?s :p ?x . ?y :q ?x}}", None),
    ],
)
def test_what_distinct_drops_is_dropped_where_much_of_it_is_matched(written: str, same_as: str | None) -> None:
    pattern = after(f"SELECT * {{?d :p ?l {written}}}", normalise, project_early)
    assert pattern == after(f"SELECT * {{?d :p ?l {same_as or written}}}", normalise)
    few = Statistics(1000, {f"<http://ex/{name}>": Occurrences(1000, 1000, 1000) for name in "pq"})
    assert after(f"SELECT * {{?d :p ?l {written}}}", normalise, project_early, statistics=few) == after(
        f"SELECT * {{?d :p ?l {written}}}", normalise
    )


@pytest.mark.parametrize(("asked", "negated"), [("EXISTS", False), ("NOT EXISTS", True)])
def test_what_exists_for_all_solutions_alike_is_asked_once(asked: str, negated: bool) -> None:
    pattern = after(
        f"SELECT * {{?s :p ?v FILTER(?v > 1 && {asked} {{?x :q ?w}})}}", normalise, push_filters, split_products
    )
    assert isinstance(pattern, a.Join)
    told = a.Variable("_:exists1")
    exists = a.MarkJoin(a.BGP(()), told, a.Distinct(a.Project(matched(triple(X, "q", W)), ())))
    assert pattern.left == a.Filter(exists, a.Call("!", (told,)) if negated else told)
    assert pattern.right == after("SELECT * {?s :p ?v FILTER(?v > 1)}")


def test_each_of_several_that_are_to_exist_is_asked_part_by_part() -> None:
    pattern = after(
        "SELECT * {?s :p ?v FILTER(EXISTS {?s :q ?w . ?x :r ?v} || NOT EXISTS {?s :v ?y . ?l :in ?d})}",
        normalise, split_products,
    )  # fmt: skip
    asked = []
    assert isinstance(pattern, a.Filter)
    marked = pattern.pattern
    while isinstance(marked, a.MarkJoin):
        asked.append(marked.exists)
        marked = marked.pattern
    of_all = a.Distinct(a.Project(matched(triple(L, "in", D)), ()))
    assert asked[::-1] == [*(matched(one) for one in (triple(S, "q", W), triple(X, "r", V), triple(S, "v", Y))), of_all]


def test_static_patterns_that_are_joined_are_one_part() -> None:
    pattern = after("SELECT * {?s :in ?r GRAPH :w {?s :p ?v} ?r :label ?l}", normalise, split_static)
    window = a.Graph(a.Constant("<http://ex/w>"), matched(triple(S, "p", V)))
    assert pattern == a.Join(window, a.Static(matched(triple(S, "in", R), triple(R, "label", L))))


def test_a_path_to_a_node_that_is_given_is_a_part_of_what_leads_to_it() -> None:
    pattern = after("SELECT * {GRAPH :w {?s :p ?v} ?s :in ?r . ?r :part+ :c}", normalise, split_static)
    (static,) = [node.pattern for node in a.nodes(pattern) if isinstance(node, a.Static)]
    assert isinstance(static, a.Join)
    assert (static.left, type(static.right)) == (matched(triple(S, "in", R)), a.Closure)


@pytest.mark.parametrize(
    "written",
    [
        "{GRAPH :w {?s :p ?v} ?s :in ?r}",
        "{GRAPH :w {?s :p ?v . ?v :q ?w}}",
        "{GRAPH :w {?s :p ?v} ?s :in ?r . ?x :in ?r}",
        "{GRAPH :w {?s :p ?v} ?s :part+ ?r}",
        "{GRAPH :w {?s :p ?v} ?s :in ?r . ?r :part+ ?x}",
        "{GRAPH ?g {?s :p ?v . ?v :q ?w}}",
    ],
)
def test_nothing_is_set_apart_that_is_one_table_or_streamed_or_may_be_very_much(written: str) -> None:
    pattern = after(f"SELECT * {written}", normalise, split_static)
    assert not any(isinstance(node, a.Static) for node in a.nodes(pattern))


def test_what_reads_the_time_is_not_static() -> None:
    pattern = after("SELECT * {GRAPH :w {?s :p ?v} {?s :in ?r . ?r :since ?d FILTER(?d < NOW())}}", split_static)
    assert [node.pattern for node in a.nodes(pattern) if isinstance(node, a.Static)] == [
        matched(triple(S, "in", R), triple(R, "since", D))
    ]


def test_a_path_is_followed_from_what_is_joined_with_it() -> None:
    pattern = after("SELECT * {?y :q+ ?z . ?x :p ?y}", normalise, order_joins)
    assert isinstance(pattern, a.PathJoin)
    assert (pattern.pattern, pattern.start) == (matched(triple(X, "p", Y)), Y)


def test_a_path_waits_for_all_that_is_joined_with_what_it_begins_at() -> None:
    pattern = after("SELECT * {?y :q+ ?z GRAPH :g {?x :p ?y} ?x :r ?v}", normalise, order_joins)
    assert isinstance(pattern, a.PathJoin)
    assert a.in_scope(pattern.pattern) == {X, Y, V}


def test_a_path_of_another_graph_waits_for_what_is_outside_of_it_too() -> None:
    pattern = after("SELECT * {?x :p ?y GRAPH :g {?y :q+ ?z . ?y :r ?v}}", normalise, order_joins)
    assert isinstance(pattern, a.PathJoin)
    assert a.in_scope(pattern.pattern) == {X, Y, V}


def test_a_path_begins_at_what_is_connected_with_its_start_alone() -> None:
    pattern = after("SELECT * {?x :p ?y . ?y :q+ ?z . ?z :r ?v}", normalise, order_joins)
    path = after("SELECT * {?x :p ?y . ?y :q+ ?z}", normalise, order_joins)
    assert pattern == a.Join(path, matched(triple(a.Variable("z"), "r", V)))


def test_a_path_from_the_store_to_a_window_is_followed_from_the_window() -> None:
    pattern = after("SELECT * {?x :p ?y . ?z :q+ ?y GRAPH :w {?z :r ?v}}", normalise, split_static, order_joins)
    assert isinstance(pattern, a.Join)
    assert isinstance(pattern.left, a.PathJoin)
    assert a.in_scope(pattern.left.pattern) == {a.Variable("z"), V}


def test_a_path_to_a_window_is_followed_from_terms_that_are_given() -> None:
    pattern = after("SELECT * {VALUES ?y {:a :b} ?y :q+ ?z GRAPH :w {?z :r ?v}}", normalise, split_static, order_joins)
    assert isinstance(pattern, a.Join)
    assert isinstance(pattern.left, a.PathJoin)
    assert a.in_scope(pattern.left.pattern) == {Y}


def test_a_condition_on_both_sides_of_a_path_waits_for_it() -> None:
    text = "SELECT * {?x :p ?y . ?y :q+ ?z . ?z :r ?v %s FILTER(?v != ?x)}"
    pattern = after(text % "FILTER(?x != ?y)", normalise, push_filters, order_joins)
    path = after("SELECT * {?x :p ?y . ?y :q+ ?z FILTER(?x != ?y)}", normalise, push_filters, order_joins)
    joined = a.Join(path, matched(triple(a.Variable("z"), "r", V)))
    assert pattern == a.Filter(joined, a.Call("!=", (V, X)))


def test_a_condition_on_what_may_be_unbound_stays_where_it_is() -> None:
    text = "SELECT * {{?x :p ?y FILTER(!BOUND(?v) || ?v != ?x)} ?y :q+ ?z . ?z :r ?v}"
    pattern = after(text, normalise, push_filters, order_joins)
    (condition,) = [node for node in a.nodes(pattern) if isinstance(node, a.Filter)]
    assert condition.pattern == matched(triple(X, "p", Y))


def test_a_path_is_followed_backwards_from_its_end() -> None:
    pattern = after("SELECT * {?z :q+ ?y . ?x :p ?y}", normalise, order_joins)
    assert isinstance(pattern, a.PathJoin)
    assert (pattern.start, pattern.path.object) == (Y, Y)  # type: ignore[union-attr]  # what it has to be


def test_an_optional_path_is_followed_from_the_left_side() -> None:
    pattern = after("SELECT * {?x :p ?y OPTIONAL {?y :q* ?z}}", normalise, order_joins)
    assert isinstance(pattern, a.LeftJoin)
    assert isinstance(pattern.right, a.PathJoin)
    assert pattern.right.pattern == a.Distinct(a.Project(matched(triple(X, "p", Y)), (Y,)))


def test_a_path_that_is_to_exist_is_followed_from_the_solutions() -> None:
    pattern = after("SELECT * {?x :p ?y FILTER EXISTS {?y :q+ ?z}}", normalise, order_joins)
    assert [node.start for node in a.nodes(pattern) if isinstance(node, a.PathJoin)] == [Y]


@pytest.mark.parametrize("path", ["?y :q+ :c", ":c :q+ ?y"])
def test_a_path_with_a_constant_end_begins_there(path: str) -> None:
    pattern = after(f"SELECT * {{?x :p ?y . {path}}}", normalise, order_joins)
    assert not any(isinstance(node, a.PathJoin) for node in a.nodes(pattern))


def test_triple_patterns_are_ordered_by_how_many_there_are() -> None:
    often, seldom = Occurrences(900, 900, 900), Occurrences(10, 10, 10)
    common = {"<http://ex/p>": often, "<http://ex/q>": often, "<http://ex/r>": seldom}
    pattern = after("SELECT * {?s :p ?v . ?s :q ?w . ?w :r ?x}", order_joins, statistics=Statistics(1810, common))
    assert pattern == matched(triple(W, "r", X), triple(S, "q", W), triple(S, "p", V))


def test_a_triple_pattern_with_a_constant_is_first_where_nothing_is_known() -> None:
    pattern = after("SELECT * {?s :p ?v . ?s :q :c}", order_joins)
    assert isinstance(pattern, a.BGP)
    assert pattern.triples[1] == triple(S, "p", V)


def test_what_nobody_reads_is_not_computed() -> None:
    assert after("SELECT ?s {?s :p ?v BIND(?v + 1 AS ?x)}", prune_columns) == matched(triple(S, "p", V))
    read = "SELECT ?s {?s :p ?v BIND(?v + 1 AS ?x) FILTER(?x > 2)}"
    assert after(read, prune_columns) == after(read)
    assert after("SELECT ?s {?s :p ?v BIND(EXISTS {?s :q ?w} AS ?e)}", prune_columns) == matched(triple(S, "p", V))


def test_variables_that_nobody_reads_end_where_they_are() -> None:
    pattern = after("SELECT ?s {?s :p ?v OPTIONAL {?s :q ?w . ?w :r ?d}}", prune_columns)
    assert isinstance(pattern, a.LeftJoin)
    assert pattern.right == a.Project(matched(triple(S, "q", W), triple(W, "r", D)), (S,))


def test_what_decides_on_the_order_is_kept() -> None:
    text = "SELECT ?s {?s :p ?v OPTIONAL {?s :q ?w}} ORDER BY ?v"
    assert after(text, prune_columns) == after(text)


def test_what_counts_solutions_apart_is_kept() -> None:
    text = "SELECT (COUNT(DISTINCT *) AS ?n) {?s :p ?v BIND(1 AS ?x)}"
    assert after(text, prune_columns) == after(text)


def test_terms_have_no_facets_beside_them_where_nobody_reads_their_values() -> None:
    content = Content({None: ""})
    text = "SELECT ?s {?s :p ?v BIND(?v + 1 AS ?x) FILTER(?v = ?v || 1 = 1)}"
    plans = (compile_query(continuous(text, content), passes=passes) for passes in (PASSES, ()))
    with_passes, without = (named(plan.sql) for plan in plans)
    assert ("_k" in with_passes, "_k" in without) == (False, True)
