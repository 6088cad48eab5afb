"""Windows, static graphs and GRAPH: the streaming dataset (docs/model.md, "The dataset") behaves as a dataset."""

from __future__ import annotations

import pytest

from tests.spark_backend.compiler.differential.thirds import third
from tests.spark_backend.compiler.one_shot import (
    INSTANT,
    Content,
    asked,
    assert_same_solutions,
    constructed,
    evaluated,
    graph_by_graph,
)

WINDOWS = Content(
    {
        "http://ex/w1": ":a :p 1, 2 . :b :p 3 . :w1 :about :w2 .",
        "http://ex/w2": ":a :p 2 ; :q 5 . :c :p 4 . :c :in :w2 .",
        None: ":d :p 9 . :a :r :b .",
    },
    {
        None: ":a :label 'A' . :b :label 'B' . :d :p 9 . :a :r :b .",
        "http://ex/g1": ":a :p 1 ; :label 'a in g1' . :c :in :w2, :g1 .",
        "http://ex/g2": ":b :label 'b in g2' ; :p 3 .",
        "http://ex/w1": ":z :p 0 . :a :p 1 .",
    },
)

QUERIES = {
    "a window": "SELECT * {GRAPH :w1 {?s :p ?v}}",
    "a window that a graph of the store is named as": "SELECT * {GRAPH :w1 {?s ?p ?v}}",
    "a graph of the store": "SELECT * {GRAPH :g1 {?s ?p ?v}}",
    "a graph that is not there": "SELECT * {GRAPH :nope {?s ?p ?v}}",
    "nothing in a window": "SELECT * {GRAPH :w1 {}}",
    "a window joined with the store": "SELECT * {GRAPH :w1 {?s :p ?v} ?s :label ?l}",
    "a window joined with a graph of the store": "SELECT * {GRAPH :w2 {?s :p ?v} GRAPH :g1 {?s :label ?l}}",
    "two windows joined": "SELECT * {GRAPH :w1 {?s :p ?v} GRAPH :w2 {?s :p ?v}}",
    "the same triple in the window and in the store": "SELECT * {?s :p ?v}",
    "a static pattern joined with a static pattern": "SELECT * {?s :label ?l . ?s :r ?o}",
    "only static patterns": "SELECT * {?s :label ?l}",
    "any graph": "SELECT * {GRAPH ?g {?s :p ?v}}",
    "any graph, by two patterns": "SELECT * {GRAPH ?g {?s :p ?v . ?s :q ?w}}",
    "any graph, by name": "SELECT * {GRAPH ?g {}}",
    "any graph, counted": "SELECT ?g (COUNT(*) AS ?n) {GRAPH ?g {?s ?p ?v}} GROUP BY ?g",
    "any graph, counted inside": "SELECT * {GRAPH ?g {SELECT (COUNT(*) AS ?n) {?s :p ?v}}}",
    "any graph, grouped inside": "SELECT * {GRAPH ?g {SELECT ?s (SUM(?v) AS ?n) {?s :p ?v} GROUP BY ?s}}",
    "any graph, an average inside": "SELECT ?g ?a {GRAPH ?g {SELECT (AVG(?v) AS ?a) {?s :p ?v}}}",
    "any graph, ordered and cut inside": "SELECT * {GRAPH ?g {SELECT ?v {?s :p ?v} ORDER BY DESC(?v) LIMIT 1}}",
    "any graph, distinct inside": "SELECT * {GRAPH ?g {SELECT DISTINCT ?p {?s ?p ?v}}}",
    "any graph, that the pattern binds": "SELECT * {GRAPH ?g {?s :in ?g}}",
    "any graph, that the pattern may bind": "SELECT * {GRAPH ?g {?s :p ?v OPTIONAL {?x :in ?g}}}",
    "any graph, that another pattern binds": "SELECT * {?x :about|:in ?g GRAPH ?g {?s :p ?v}}".replace(
        "?x :about|:in ?g", "GRAPH :w1 {?x :about ?g}"
    ),
    "any graph, with an optional": "SELECT * {GRAPH ?g {?s :p ?v OPTIONAL {?s :q ?w}}}",
    "any graph, with a minus": "SELECT * {GRAPH ?g {?s :p ?v MINUS {?s :q ?w}}}",
    "any graph, with a union": "SELECT * {GRAPH ?g {{?s :p ?v} UNION {?s :q ?v}}}",
    "any graph, with values": "SELECT * {GRAPH ?g {VALUES ?v {1 3} ?s :p ?v}}",
    "any graph, with values only": "SELECT * {GRAPH ?g {VALUES ?v {1 3}}}",
    "any graph, with a bind": "SELECT * {GRAPH ?g {?s :p ?v BIND(?v + 1 AS ?w)}}",
    "any graph, with a filter outside": "SELECT * {GRAPH ?g {?s :p ?v} FILTER(?g = :w1)}",
    "any graph twice": "SELECT * {GRAPH ?g {?s :p ?v} GRAPH ?g {?s :q ?w}}",
    "any two graphs": "SELECT ?g ?h ?v {GRAPH ?g {:a :p ?v} GRAPH ?h {:a :p ?v} FILTER(?g != ?h)}",
    "a graph in an optional": "SELECT * {?s :r ?o OPTIONAL {GRAPH ?g {?s :p ?v}}}",
    "a graph in a graph": "SELECT * {GRAPH :w1 {?s :p ?v GRAPH :w2 {?s :q ?w}}}",
    "a graph in any graph": "SELECT * {GRAPH ?g {?s :p ?v GRAPH :w2 {?s :q ?w}}}",
    "any graph in a graph": "SELECT * {GRAPH :w1 {?s :p ?v GRAPH ?g {?s :q ?w}}}",
    "any graph in any graph": "SELECT * {GRAPH ?g {?s :q ?v GRAPH ?h {?s :p ?w}}}",
    "a graph in any graph, alone": "SELECT * {GRAPH ?g {GRAPH :w2 {?s :q ?w}}}",
}
CLAUSES = {
    "without clauses": "",
    "FROM a graph": "FROM <http://ex/g1>",
    "FROM two graphs": "FROM <http://ex/g1> FROM <http://ex/g2>",
    "FROM NAMED a graph": "FROM NAMED <http://ex/g1>",
    "FROM and FROM NAMED": "FROM <http://ex/g2> FROM NAMED <http://ex/g1>",
    "FROM NAMED a graph named like a window": "FROM NAMED <http://ex/w1>",
    "FROM a graph that is not there": "FROM <http://ex/nope>",
}


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        pytest.param(text, clauses, id=f"{name}-{of}", marks=third(row, column))
        for row, (name, text) in enumerate(QUERIES.items())
        for column, (of, clauses) in enumerate(CLAUSES.items())
    ],
)
def test_a_dataset_of_windows_and_graphs_is_queried_as_one_shot(text: str, clauses: str) -> None:
    head, brace, rest = text.partition(" {")
    text = f"{head} {clauses}{brace}{rest}"
    assert_same_solutions(text, WINDOWS, oracle=graph_by_graph(text, WINDOWS))


def test_an_empty_window_is_still_a_named_graph() -> None:
    content = Content({"http://ex/w1": "", "http://ex/w2": ":a :p 1 ."})
    assert_same_solutions("SELECT * {GRAPH ?g {}}", content)
    text = "SELECT ?g (COUNT(?s) AS ?n) {GRAPH ?g {OPTIONAL {?s ?p ?v}}} GROUP BY ?g"
    assert_same_solutions(text, content, oracle=graph_by_graph(text, content))


@pytest.mark.parametrize(
    "inner", ["?s :p ?v", "", "SELECT (COUNT(*) AS ?n) {?s :p ?v}", "?s :in ?w", "VALUES ?v {1 2} ?s :p ?v"]
)
def test_window_with_a_variable_ranges_over_the_declared_windows_only(inner: str) -> None:
    content = Content(
        {**WINDOWS.windows, "http://ex/undeclared": ":a :p 1 ."}, WINDOWS.graphs, frozenset({"http://ex/undeclared"})
    )
    alone = Content({"http://ex/w1": content.windows["http://ex/w1"], "http://ex/w2": content.windows["http://ex/w2"]})
    plan, answers = evaluated(f"SELECT * {{WINDOW ?w {{ {inner} }}}}", content)
    assert "w" in plan.variables
    _, wanted = evaluated(f"SELECT {' '.join(f'?{name}' for name in plan.variables)} {{GRAPH ?w {{ {inner} }}}}", alone)
    assert answers[INSTANT] == wanted[INSTANT] != []


@pytest.mark.parametrize(
    "modifiers",
    ["ORDER BY ?v", "ORDER BY ?g ?v", "ORDER BY DESC(?g) DESC(?v)", "ORDER BY ?v LIMIT 2", "ORDER BY ?g ?v OFFSET 1"],
)
@pytest.mark.parametrize("selected", ["*", "?v", "DISTINCT ?g ?v"])
def test_what_can_be_one_graph_only_is_ordered_by_the_rest(selected: str, modifiers: str) -> None:
    text = f"SELECT {selected} {{GRAPH ?g {{?s :p ?v}}}} {modifiers}"
    content = Content({"http://ex/w1": ":a :p 1, 4 . :b :p 3, 2 ."})
    assert_same_solutions(text, content, ordered=True, oracle=graph_by_graph(text, content))


def test_several_windows_in_the_default_graph_are_merged_as_a_set() -> None:
    """Two windows over the same triples, one of them seen twice: C-SPARQL's FROM STREAM."""
    content = Content({None: ":a :p 1, 2 ."}, {None: ":a :p 2, 3 ."})
    assert_same_solutions("SELECT (COUNT(*) AS ?n) (SUM(?v) AS ?z) {?s :p ?v}", content)


@pytest.mark.parametrize("datatype", ["double", "float"])
@pytest.mark.parametrize("text", ["SELECT * {?s ?p ?v}", "SELECT ?v (?v = ?v AS ?x) (?v > 1 AS ?y) {?s :q ?v}"])
def test_nan_is_one_term_and_equals_nothing_in_the_store_as_in_a_window(text: str, datatype: str) -> None:
    nan = f"'NaN'^^xsd:{datatype}"
    assert_same_solutions(text, Content({None: f":a :p {nan}, 1 ."}, {None: f":a :p {nan} ; :q {nan} ."}))


def test_ask_is_whether_there_is_a_solution() -> None:
    assert asked("ASK {GRAPH :w1 {?s :p 1}}", WINDOWS)
    assert not asked("ASK {GRAPH :w1 {?s :p 17}}", WINDOWS)
    assert not asked("ASK {?s :p ?v}", Content({None: ""}))
    assert asked("ASK {}", Content({None: ""}))
    assert asked("ASK {SELECT (COUNT(*) AS ?n) {?s :p ?v}}", Content({None: ""}))
    assert asked("ASK {?s :p ?v} GROUP BY ?s HAVING (SUM(?v) > 2)", Content({None: ":a :p 1, 2 ."}))


TEMPLATES = Content({None: ":a :p 1, 'x', :b . :b :p :c . _:x :p :a ."})


@pytest.mark.parametrize(
    "text",
    [
        "CONSTRUCT {?o :q ?s} WHERE {?s :p ?o}",
        "CONSTRUCT {?s ?o :x} WHERE {?s :p ?o}",
        "CONSTRUCT {?s :q ?nope . ?s :r 1} WHERE {?s :p ?o}",
        "CONSTRUCT {?s :q ?o . :static :is 'here'} WHERE {?s :p ?o}",
        "CONSTRUCT WHERE {?s :p ?o}",
        "CONSTRUCT WHERE {?s :p :b . :b :p ?o}",
        "CONSTRUCT {} WHERE {?s :p ?o}",
        "CONSTRUCT {?s :n ?n} WHERE {SELECT ?s (COUNT(*) AS ?n) {?s :p ?o} GROUP BY ?s}",
        "CONSTRUCT {?s :q ?o} WHERE {?s :p ?o} ORDER BY ?o LIMIT 2",
        'CONSTRUCT {?s :q "a \\"quote\\" \\n and é"@EN-gb} WHERE {?s :p :b}',
    ],
)
def test_a_template_gives_the_graph_it_gives_one_shot(text: str) -> None:
    from tests.spark_backend.compiler.one_shot import by_value, one_shot

    def written(subject: str, predicate: str, object: str) -> tuple[str | None, ...]:
        return by_value(subject), by_value(predicate), by_value(object)

    wanted = {written(str(t.subject), str(t.predicate), str(t.object)) for t in one_shot(text, TEMPLATES)}
    got = {written(*line[:-2].split(" ", 2)) for line in constructed(text, TEMPLATES)}
    assert got == wanted


def test_blank_nodes_of_a_template_are_fresh_for_each_solution_and_the_same_at_every_replay() -> None:
    text = "CONSTRUCT {_:n :of ?s ; :value ?o . [] :also ?o} WHERE {?s :p ?o}"
    lines = constructed(text, TEMPLATES)
    assert len(lines) == 3 * 5
    of = [line.split(" ")[0] for line in lines if "/of>" in line]
    assert len(set(of)) == 5
    assert {line.split(" ")[0] for line in lines if "/value>" in line} == set(of)
    assert constructed(text, TEMPLATES) == lines
