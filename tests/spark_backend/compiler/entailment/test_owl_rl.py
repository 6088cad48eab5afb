"""Continuous queries under OWL 2 RL give what Oxigraph gives over the closure, and what owlrl says follows."""

from __future__ import annotations

from dataclasses import replace

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, assume, given, settings

from protocol.entailment.regimes import Regime
from protocol.errors import QuerySyntaxError, UnsupportedFeature
from tests.protocol.entailment.test_closure import about_named, says_itself, with_owlrl
from tests.spark_backend.compiler.entailment.generated import (
    OWL,
    owl_contents,
    owl_contents_with_containers,
    plain_queries,
    queries,
    without_blank_nodes,
)
from tests.spark_backend.compiler.one_shot import INSTANT, PREFIXES, Content, assert_same_solutions, evaluated

CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def _agree(text: str, content: Content) -> None:
    try:
        assert_same_solutions(text, content)
    except QuerySyntaxError:  # a variable that is in scope already, and the like
        assume(False)


@settings(max_examples=10, deadline=None, suppress_health_check=CHECKS)
@given(text=queries, content=owl_contents_with_containers)
def test_a_query_gives_what_it_gives_over_the_closure(text: str, content: Content) -> None:
    _agree(text, content)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=CHECKS)
@given(text=queries, content=owl_contents_with_containers)
def test_many_queries_give_what_they_give_over_the_closure(text: str, content: Content) -> None:
    _agree(text, content)


@settings(max_examples=5, deadline=None, suppress_health_check=CHECKS)
@given(text=plain_queries, content=owl_contents.map(without_blank_nodes))
def test_a_query_gives_what_it_gives_where_owlrl_infers(text: str, content: Content) -> None:
    _agree(text, replace(content, infer=with_owlrl))


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=CHECKS)
@given(text=plain_queries, content=owl_contents.map(without_blank_nodes))
def test_many_queries_give_what_they_give_where_owlrl_infers(text: str, content: Content) -> None:
    _agree(text, replace(content, infer=with_owlrl))


SCHEMA = f"""
:hasPart <{OWL}inverseOf> :partOf . :partOf a <{OWL}TransitiveProperty> . :near a <{OWL}SymmetricProperty> .
:Owner <{OWL}onProperty> :has ; <{OWL}someValuesFrom> :Dog .
"""


def _asked(text: str, window: str, schema: str = SCHEMA) -> list[tuple[str | None, ...]]:
    plan, answers = evaluated(text, Content({None: window}, {None: schema}, entailment=Regime.OWL_RL))
    assert plan.closed
    return answers[INSTANT]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT ?x { ?x :partOf :house FILTER(?x != :house) }", ["door", "handle"]),
        ("SELECT ?x { :house :hasPart ?x FILTER(?x != :house) }", ["door", "handle"]),
        ("SELECT ?x { ?x :near :door }", ["tree"]),
        ("SELECT ?x { ?x a :Owner }", ["ann"]),
    ],
)
def test_what_follows_from_several_triples_is_there(text: str, found: list[str]) -> None:
    window = ":handle :partOf :door . :door :partOf :house ; :near :tree . :ann :has :rex . :rex a :Dog ."
    assert _asked(text, window) == [(f"<http://ex/{name}>",) for name in found]


def test_a_triple_term_is_no_subject() -> None:
    schema = "<http://ex/says> <http://www.w3.org/2000/01/rdf-schema#range> :Claim ."
    window = ":ann :says :this , <<( :sky :is :blue )>> , 'so' ."
    assert _asked("SELECT ?x { ?x a :Claim }", window, schema) == [("<http://ex/this>",)]
    assert len(_asked("SELECT ?x { :ann :says ?x }", window, schema)) == 3


def test_the_graph_of_the_store_beside_a_window_takes_part() -> None:
    window, stored = ":handle :partOf :door .", f"{SCHEMA} :door :partOf :house ."
    assert _asked("SELECT ?x { ?x :partOf :house }", window, stored) == [
        ("<http://ex/door>",), ("<http://ex/handle>",),
    ]  # fmt: skip


def test_the_time_of_what_follows_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="under owl-rl timestamp"):
        _asked("SELECT ?x (timestamp(?x) AS ?t) { ?x :partOf :house }", ":door :partOf :house .")


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=CHECKS)
@given(content=owl_contents)
def test_what_is_said_of_named_things_is_what_owlrl_infers(content: Content) -> None:
    text = PREFIXES + content.windows[None] + content.graphs[None]
    triples = [quad.triple for quad in ox.parse(text.encode(), format=ox.RdfFormat.TURTLE)]
    expected = about_named(with_owlrl(Regime.OWL_RL, triples), "http://ex/")
    _, answers = evaluated("SELECT ?s ?p ?o { ?s ?p ?o }", content)
    rows = [f"{s} {p} {o} ." for s, p, o in answers[INSTANT]]
    parsed = ox.parse("\n".join(rows), format=ox.RdfFormat.N_TRIPLES)
    found = about_named((quad.triple for quad in parsed), "http://ex/")
    # Ours are with the rules of RDFS, which find more classes and properties to be below themselves.
    assert {one for one in found if not says_itself(one)} == {one for one in expected if not says_itself(one)}
    assert expected <= found
