from __future__ import annotations

import random
from dataclasses import replace

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from conformance.answers.comparison import GraphAnswer, Sameness, Solutions, compare
from conformance.manifest import Term

XSD = "http://www.w3.org/2001/XMLSchema#"
NODES = st.sampled_from([ox.BlankNode(f"b{number}") for number in range(4)])
INTEGER = ox.NamedNode(f"{XSD}integer")
LITERALS = st.sampled_from([ox.Literal("1"), ox.Literal("a", language="en"), ox.Literal("1", datatype=INTEGER)])
TERMS: st.SearchStrategy[Term] = st.one_of(
    NODES, LITERALS, st.sampled_from([ox.NamedNode("http://ex/a"), ox.NamedNode("http://ex/b")])
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["x", "y"]), TERMS), max_size=7)
TRIPLES = st.frozensets(
    st.builds(ox.Triple, NODES, st.sampled_from([ox.NamedNode("http://ex/p"), ox.NamedNode("http://ex/q")]), TERMS),
    max_size=8,
)


def table(rows: list[dict[str, Term]], *, ordered: bool = False) -> Solutions:
    return Solutions(("x", "y"), tuple(rows), ordered)


def relabelled(term: Term, names: dict[str, str]) -> Term:
    return ox.BlankNode(names[term.value]) if isinstance(term, ox.BlankNode) else term


@given(ROWS, st.randoms(use_true_random=False))
def test_a_permuted_and_relabelled_table_is_the_same(rows: list[dict[str, Term]], chance: random.Random) -> None:
    labels = [f"b{number}" for number in range(4)]
    names = dict(zip(labels, chance.sample(labels, 4), strict=True))
    other = [{name: relabelled(term, names) for name, term in row.items()} for row in rows]
    chance.shuffle(other)
    assert compare(table(rows), table(other)) is Sameness.STRICT


@given(TRIPLES, st.permutations(["b0", "b1", "b2", "b3"]))
def test_a_relabelled_graph_is_isomorphic(triples: frozenset[ox.Triple], labels: list[str]) -> None:
    names = {f"b{number}": label for number, label in enumerate(labels)}
    other = frozenset(
        ox.Triple(relabelled(one.subject, names), one.predicate, relabelled(one.object, names))  # type: ignore[arg-type]
        for one in triples
    )
    assert compare(GraphAnswer(triples), GraphAnswer(other)) is Sameness.STRICT


@given(TRIPLES, TRIPLES)
def test_graphs_are_the_same_exactly_if_their_canonical_forms_are(
    left: frozenset[ox.Triple], right: frozenset[ox.Triple]
) -> None:
    canonical = []
    for triples in (left, right):
        dataset = ox.Dataset(ox.Quad(one.subject, one.predicate, one.object) for one in triples)
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        canonical.append({str(quad) for quad in dataset})
    same = compare(GraphAnswer(left), GraphAnswer(right)) is Sameness.STRICT
    assert same is (canonical[0] == canonical[1])


@given(ROWS, st.data())
def test_a_table_with_one_solution_more_or_changed_is_another(rows: list[dict[str, Term]], data: st.DataObject) -> None:
    extra = data.draw(st.dictionaries(st.sampled_from(["x", "y"]), TERMS))
    assert compare(table(rows), table([*rows, extra])) is Sameness.DIFFERENT
    if rows:
        first: dict[str, Term] = {**rows[0], "x": ox.Literal("something else")}
        changed = [first, *rows[1:]]
        assert compare(table(rows), table(changed)) is Sameness.DIFFERENT


def test_blank_nodes_that_join_are_not_blank_nodes_that_do_not() -> None:
    one, two = ox.BlankNode("one"), ox.BlankNode("two")
    assert compare(table([{"x": one, "y": one}]), table([{"x": one, "y": two}])) is Sameness.DIFFERENT
    assert compare(table([{"x": one}, {"x": one}]), table([{"x": one}, {"x": two}])) is Sameness.DIFFERENT


def test_two_triangles_are_not_a_hexagon() -> None:
    def rings(*rings: list[int]) -> GraphAnswer:
        edge = ox.NamedNode("http://ex/edge")
        pairs = [(ring[at], ring[(at + 1) % len(ring)]) for ring in rings for at in range(len(ring))]
        return GraphAnswer(frozenset(ox.Triple(ox.BlankNode(f"n{a}"), edge, ox.BlankNode(f"n{b}")) for a, b in pairs))

    assert compare(rings([0, 1, 2], [3, 4, 5]), rings([0, 1, 2, 3, 4, 5])) is Sameness.DIFFERENT
    assert compare(rings([0, 1, 2], [3, 4, 5]), rings([5, 1, 3], [0, 4, 2])) is Sameness.STRICT


def test_another_lexical_form_of_one_value_is_the_same_by_value_only() -> None:
    def literal(text: str, datatype: str = "integer") -> Solutions:
        return table([{"x": ox.Literal(text, datatype=ox.NamedNode(XSD + datatype))}])

    assert compare(literal("01"), literal("1")) is Sameness.BY_VALUE
    assert compare(literal("1.50", "decimal"), literal("+1.5", "decimal")) is Sameness.BY_VALUE
    assert compare(literal("1.0e6", "double"), literal("1000000", "double")) is Sameness.BY_VALUE
    assert compare(literal("2020-01-01T00:00:00.10+00:00", "dateTime"), literal("2020-01-01T00:00:00.1Z", "dateTime"))
    assert compare(literal("1"), literal("1", "decimal")) is Sameness.DIFFERENT
    assert compare(literal("x"), literal("y")) is Sameness.DIFFERENT


def test_order_matters_only_where_it_is_said_to() -> None:
    rows: list[dict[str, Term]] = [{"x": ox.Literal("a")}, {"x": ox.Literal("b")}]
    assert compare(table(rows), table(rows[::-1])) is Sameness.STRICT
    ordered = replace(table(rows), ordered=True)
    assert compare(ordered, replace(table(rows[::-1]), ordered=True)) is Sameness.DIFFERENT


def test_reduced_may_leave_out_duplicates_and_nothing_else() -> None:
    a: dict[str, Term] = {"x": ox.Literal("a")}
    b: dict[str, Term] = {"x": ox.Literal("b")}
    assert compare(table([a, a, b]), table([a, b]), lax=True) is Sameness.STRICT
    assert compare(table([a, a, b]), table([a, a]), lax=True) is Sameness.DIFFERENT
    assert compare(table([a, b]), table([a, a, b]), lax=True) is Sameness.DIFFERENT
