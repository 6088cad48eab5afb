"""Continuous queries under RDFS give what Oxigraph gives over the closure, and what owlrl says follows."""

from __future__ import annotations

from dataclasses import replace

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, assume, given, settings

from protocol.entailment.regimes import Regime
from protocol.errors import QuerySyntaxError, UnsupportedFeature
from protocol.terms import RDF
from tests.protocol.entailment.test_closure import with_owlrl
from tests.spark_backend.compiler.entailment.generated import (
    RDFS,
    contents,
    contents_with_containers,
    plain_queries,
    queries,
    queries_of_containers,
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
@given(text=queries, content=contents)
def test_a_query_gives_what_it_gives_over_the_closure(text: str, content: Content) -> None:
    _agree(text, content)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=CHECKS)
@given(text=queries, content=contents)
def test_many_queries_give_what_they_give_over_the_closure(text: str, content: Content) -> None:
    _agree(text, content)


@settings(max_examples=10, deadline=None, suppress_health_check=CHECKS)
@given(text=queries_of_containers, content=contents_with_containers)
def test_a_query_gives_what_it_gives_over_the_closure_of_containers(text: str, content: Content) -> None:
    _agree(text, content)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=CHECKS)
@given(text=queries_of_containers, content=contents_with_containers)
def test_many_queries_give_what_they_give_over_the_closure_of_containers(text: str, content: Content) -> None:
    _agree(text, content)


@settings(max_examples=5, deadline=None, suppress_health_check=CHECKS)
@given(text=plain_queries, content=contents.map(without_blank_nodes))
def test_a_query_gives_what_it_gives_where_owlrl_infers(text: str, content: Content) -> None:
    _agree(text, replace(content, infer=with_owlrl))


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=CHECKS)
@given(text=plain_queries, content=contents.map(without_blank_nodes))
def test_many_queries_give_what_they_give_where_owlrl_infers(text: str, content: Content) -> None:
    _agree(text, replace(content, infer=with_owlrl))


@pytest.mark.long
@settings(max_examples=100, deadline=None, suppress_health_check=CHECKS)
@given(content=contents)
def test_what_is_said_of_named_things_is_what_owlrl_infers(content: Content) -> None:
    text = PREFIXES + content.windows[None] + content.graphs[None]
    triples = [quad.triple for quad in ox.parse(text.encode(), format=ox.RdfFormat.TURTLE)]
    following = with_owlrl(Regime.RDFS, triples)
    wanted = {(str(one.subject), str(one.predicate), str(one.object)) for one in following}
    plan, answers = evaluated("SELECT ?s ?p ?o { ?s ?p ?o }", content)
    found = {(str(s), str(p), str(o)) for s, p, o in answers[INSTANT]}
    assert plan.variables == ("s", "p", "o")
    assert {one for one in found if _is_told(one)} == {one for one in wanted if _is_told(one)}


def _is_told(triple: tuple[str, str, str]) -> bool:
    """Whether subject and object are named by the dataset: owlrl's axioms are other ones, its blank nodes have other
    labels.
    """
    subject, _, object_ = triple
    return subject.startswith("<http://ex/") and object_.startswith(("<http://ex/", '"'))


SCHEMA = f"""
:Cat <{RDFS}subClassOf> :Animal . :Animal <{RDFS}subClassOf> :Being . :hunts <{RDFS}subPropertyOf> :meets .
:meets <{RDFS}domain> :Animal ; <{RDFS}range> :Being .
"""


def _asked(text: str, window: str, schema: str = SCHEMA) -> list[tuple[str | None, ...]]:
    _, answers = evaluated(text, Content({None: window}, {None: schema}, entailment=Regime.RDFS))
    return answers[INSTANT]


def test_what_follows_in_several_ways_and_is_said_as_well_is_there_once() -> None:
    window = ":tom a :Cat, :Animal ; :hunts :jerry ; :meets :jerry ."
    assert _asked("SELECT ?x { ?x a :Being }", window) == [("<http://ex/jerry>",), ("<http://ex/tom>",)]
    assert _asked("SELECT ?x { :tom :meets ?x }", window) == [("<http://ex/jerry>",)]


@pytest.mark.parametrize("met", ['"jerry"', "<<( :a :meets :b )>>"])
def test_neither_a_literal_nor_a_triple_term_is_a_subject(met: str) -> None:
    assert _asked("SELECT ?x { ?x a :Being }", f":tom :meets {met} .") == [("<http://ex/tom>",)]


def test_a_changed_schema_is_another_table_of_the_same_plan() -> None:
    window: dict[str | None, str] = {None: ":tom a :Cat ."}
    text = "SELECT ?x ?y { ?x a :Being ; :meets ?y }"
    plans = [
        evaluated(text, Content(window, {None: schema}, entailment=Regime.RDFS))[0]
        for schema in (SCHEMA, SCHEMA.replace(":Cat", ":Dog") + f":sees <{RDFS}subPropertyOf> :meets .")
    ]
    assert plans[0].shape == plans[1].shape
    assert plans[0].statics == plans[1].statics


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?x { ?x a :Stone }",
        "SELECT (AVG(?v) AS ?mean) { ?x a :Stone ; :weighs ?v ; :near :rock }",
        "SELECT ?x { GRAPH :w1 { ?x a :Stone ; :near :rock OPTIONAL { ?x :near/:near+ ?y } } }",
    ],
)
def test_a_pattern_that_nothing_follows_for_is_matched_as_without_a_regime(text: str) -> None:
    window = ":pebble a :Stone ; :weighs 2 ; :near :rock ."
    plans, answers = zip(
        *(
            evaluated(text, Content({None: window, "http://ex/w1": window}, {None: SCHEMA}, entailment=regime))
            for regime in (Regime.NONE, Regime.RDFS)
        ),
        strict=True,
    )
    assert answers[0][INSTANT]
    assert answers[0] == answers[1]
    assert plans[0].sql == plans[1].sql
    assert plans[0].parameters == plans[1].parameters != ()
    assert plans[0].sources == plans[1].sources


def test_constants_that_something_follows_for_are_no_parameters() -> None:
    parameters = [
        evaluated(text, Content({None: ""}, {None: SCHEMA}, entailment=Regime.RDFS))[0].parameters
        for text in ("SELECT ?x { ?x a :Cat }", "SELECT ?x { ?x a :Being }", "SELECT ?x { ?x :meets :tom }")
    ]
    assert parameters == [("<http://ex/Cat>",), (), ()]


def test_the_regime_is_part_of_the_shape() -> None:
    window: dict[str | None, str] = {None: ":tom a :Cat ."}
    text = "SELECT ?x { ?x a :Being }"
    plans = [
        evaluated(text, Content(window, {None: SCHEMA}, entailment=regime))[0] for regime in (Regime.NONE, Regime.RDFS)
    ]
    assert plans[0].mark != plans[1].mark


@pytest.mark.parametrize("below", ["rdf:type", f"<{RDFS}subClassOf>", f"<{RDFS}range>"])
def test_a_schema_that_data_extend_is_refused(below: str) -> None:
    schema = f":isA <{RDFS}subPropertyOf> {below} ."
    with pytest.raises(UnsupportedFeature, match="properties below rdf:type or a property of RDFS"):
        _asked("SELECT ?x { ?x a :Being }", ":tom :isA :Cat .", schema)


@pytest.mark.parametrize("of", ["GRAPH :g1", "GRAPH ?g"])
def test_a_graph_that_is_read_with_such_a_schema_of_its_own_is_refused(of: str) -> None:
    graphs: dict[str | None, str] = {
        None: SCHEMA,
        "http://ex/g1": f":isA <{RDFS}subPropertyOf> rdf:type . :tom :isA :Cat .",
    }
    content = Content({None: ":tom a :Cat ."}, graphs, entailment=Regime.RDFS)
    with pytest.raises(UnsupportedFeature, match="that of a graph which the query reads"):
        evaluated(f"SELECT ?x {{ ?x a :Being {of} {{ ?x a :Cat }} }}", content)
    _, answers = evaluated("SELECT ?x { ?x a :Being }", content)
    assert answers[INSTANT] == [("<http://ex/tom>",)]


def test_members_in_a_window_are_told_by_the_properties_that_its_graph_has_in_the_store() -> None:
    members = f"SELECT ?x ?y {{ ?x <{RDFS}member> ?y }}"
    window = f":n <{RDF}_1> :m ; <{RDF}_2> :o ."
    found = _asked(members, window, f":z <{RDF}_1> :zz .")
    assert found == [("<http://ex/n>", "<http://ex/m>"), ("<http://ex/z>", "<http://ex/zz>")]
    assert _asked(members, window, ":z :p :zz .") == []
