"""The closure of random graphs is owlrl's, and does not depend on the order in which triples come."""

from __future__ import annotations

from collections.abc import Iterable

import owlrl
import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.entailment.closure import Closure, closure
from protocol.entailment.lists import LIST_PROPERTIES, OF_LISTS
from protocol.entailment.regimes import Regime
from protocol.entailment.rules import Term, named

EX = "http://example.org/"
PREFIXES = f"""
@prefix : <{EX}> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""

classes = st.sampled_from([":A", ":B", ":C", ":D"])
properties = st.sampled_from([":p", ":q", ":r"])
things = st.sampled_from([":x", ":y", ":z", "_:b"])
values = st.one_of(things, st.sampled_from(['"one"', "2"]))


def said(template: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda found: template.format(**found))


data = st.one_of(
    said("{x} {p} {y} .", x=things, p=properties, y=values),
    said("{x} a {c} .", x=things, c=classes),
)
_of_containers = st.sampled_from(["rdf:_1", "rdf:_2", "rdf:_30"])
containers = st.one_of(
    said("{x} {p} {y} .", x=things, p=_of_containers, y=values),
    said("{x} {p} {y} .", x=things, p=properties, y=_of_containers),
)
rdfs = st.one_of(
    said("{c} rdfs:subClassOf {d} .", c=classes, d=classes),
    said("{p} rdfs:subPropertyOf {q} .", p=properties, q=properties),
    said("{p} rdfs:domain {c} .", p=properties, c=classes),
    said("{p} rdfs:range {c} .", p=properties, c=classes),
)
_KINDS = st.sampled_from(["Transitive", "Symmetric", "Functional", "InverseFunctional", "Object"])
owl = st.one_of(
    rdfs,
    said("{p} a owl:{kind}Property .", p=properties, kind=_KINDS),
    said("{p} owl:inverseOf {q} .", p=properties, q=properties),
    said("{p} owl:equivalentProperty {q} .", p=properties, q=properties),
    said("{c} owl:equivalentClass {d} .", c=classes, d=classes),
    said("{c} a owl:Class .", c=classes),
    said("{c} owl:onProperty {p} ; owl:someValuesFrom {d} .", c=classes, p=properties, d=classes),
    said("{c} owl:onProperty {p} ; owl:someValuesFrom owl:Thing .", c=classes, p=properties),
    said("{c} owl:onProperty {p} ; owl:allValuesFrom {d} .", c=classes, p=properties, d=classes),
    said("{c} owl:onProperty {p} ; owl:hasValue {y} .", c=classes, p=properties, y=values),
    said('{c} owl:onProperty {p} ; owl:maxCardinality "1"^^xsd:nonNegativeInteger .', c=classes, p=properties),
    said("{c} owl:intersectionOf ({d} {e}) .", c=classes, d=classes, e=classes),
    said("{c} owl:unionOf ({d} {e}) .", c=classes, d=classes, e=classes),
    said("{c} owl:oneOf ({x} {y}) .", c=classes, x=things, y=things),
    said("{r} owl:propertyChainAxiom ({p} {q}) .", r=properties, p=properties, q=properties),
    said("{c} owl:hasKey ({p} {q}) .", c=classes, p=properties, q=properties),
    said("{x} owl:sameAs {y} .", x=things, y=things),
)


def graph(statements: Iterable[str]) -> list[ox.Triple]:
    text = PREFIXES + "\n".join(statements)
    return [quad.triple for quad in ox.parse(text.encode(), ox.RdfFormat.TURTLE)]


def with_owlrl(regime: Regime, triples: list[ox.Triple]) -> set[ox.Triple]:
    """What owlrl makes of them; with axioms under RDFS, where reflexive triples need them."""
    found = rdflib.Graph()
    found.parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
    rdfs = regime is Regime.RDFS
    semantics = owlrl.RDFS_Semantics if rdfs else owlrl.OWLRL_Semantics
    owlrl.DeductiveClosure(semantics, axiomatic_triples=rdfs, improved_datatypes=False).expand(found)
    for one in [one for one in found if isinstance(one[0], rdflib.Literal) or not isinstance(one[1], rdflib.URIRef)]:
        found.remove(one)
    return {quad.triple for quad in ox.parse(found.serialize(format="nt").encode(), ox.RdfFormat.N_TRIPLES)}


def about_named(triples: Iterable[ox.Triple], namespace: str = EX) -> set[ox.Triple]:
    """Those of what is named in the graphs (blank nodes have other labels), told by what is named there."""

    def is_told(term: object) -> bool:
        return isinstance(term, ox.Literal) or (isinstance(term, ox.NamedNode) and term.value.startswith(namespace))

    return {one for one in triples if is_told(one.subject) and is_told(one.object)}


ORACLE = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])


@given(st.lists(st.one_of(data, rdfs), max_size=14))
@ORACLE
def test_rdfs_is_that_of_owlrl(statements: list[str]) -> None:
    triples = graph(statements)
    assert about_named(closure(Regime.RDFS, triples)) == about_named(with_owlrl(Regime.RDFS, triples))


@given(st.lists(st.one_of(data, owl), max_size=14))
@ORACLE
def test_owl_rl_is_that_of_owlrl(statements: list[str]) -> None:
    triples = graph(statements)
    found = about_named(closure(Regime.OWL_RL, triples))
    expected = about_named(with_owlrl(Regime.OWL_RL, triples))
    # Ours are with the rules of RDFS, which find more classes and properties to be below themselves.
    assert {one for one in found if not says_itself(one)} == {one for one in expected if not says_itself(one)}
    assert expected <= found


def says_itself(one: ox.Triple) -> bool:
    return one.subject == one.object and one.predicate in _REFLEXIVE


_REFLEXIVE = [
    named(name) for name in ("rdfs:subClassOf", "rdfs:subPropertyOf", "owl:equivalentClass", "owl:equivalentProperty")
]


@given(st.lists(st.one_of(data, owl), max_size=14), st.integers(0, 14))
@settings(deadline=None, max_examples=100)
def test_what_is_added_later_is_as_if_it_had_been_there(statements: list[str], first: int) -> None:
    # Blank nodes are the same in both, because the text is parsed once; lists are whole.
    triples = graph(statements)
    lists = [one for one in triples if _is_of_list(one)]
    others = [one for one in triples if not _is_of_list(one)]
    found = Closure(Regime.OWL_RL)
    for part in (lists + others[:first], others[first:]):
        found.add_terms((one.subject, one.predicate, one.object) for one in part)
    assert {ox.Triple(*one) for one in found.triples()} == closure(Regime.OWL_RL, triples)  # type: ignore[arg-type]


def _is_of_list(one: ox.Triple) -> bool:
    return one.predicate in [*map(named, LIST_PROPERTIES), *OF_LISTS]


@pytest.mark.parametrize(
    ("statements", "rule"),
    [
        (":x a owl:Nothing .", "cls-nothing2"),
        (":A owl:disjointWith :B . :x a :A, :B .", "cax-dw"),
        (":x owl:differentFrom :y ; owl:sameAs :y .", "eq-diff1"),
        (":x owl:differentFrom :x .", "eq-diff1"),
        ("[] a owl:AllDifferent ; owl:members (:x :y) . :p a owl:FunctionalProperty . :z :p :x, :y .", "eq-diff2"),
        ("[] a owl:AllDisjointClasses ; owl:members (:A :B :C) . :x a :A, :C .", "cax-adc"),
        (':A owl:onProperty :p ; owl:maxCardinality "0"^^xsd:nonNegativeInteger . :x a :A ; :p 1 .', "cls-maxc1"),
        (":p a owl:IrreflexiveProperty . :x :p :x .", "prp-irp"),
        (":p owl:propertyDisjointWith :q . :x :p :y ; :q :y .", "prp-pdw"),
    ],
)
def test_contradictions_are_named(statements: str, rule: str) -> None:
    found = Closure(Regime.OWL_RL)
    found.add_terms((one.subject, one.predicate, one.object) for one in graph([statements]))
    assert found.contradictions == {rule}


def test_nothing_contradicts_an_ordinary_graph() -> None:
    found = Closure(Regime.OWL_RL)
    found.add_terms((one.subject, one.predicate, one.object) for one in graph([":x a :A ; :p 1, 2 ."]))
    assert not found.contradictions


def test_only_what_rdf_can_say_is_told() -> None:
    triples = graph([":p rdfs:range :A . :q owl:inverseOf :p . :x :p 1 , <<( :y :p 1 )>> . :x a [] ."])
    found = closure(Regime.OWL_RL, triples)
    assert {type(one.subject) for one in found} == {ox.NamedNode, ox.BlankNode}
    one = ox.NamedNode(EX + "x")
    assert ox.Triple(one, named("rdf:type"), ox.NamedNode(EX + "A")) not in found


def test_axioms_of_membership_are_of_those_that_are_there() -> None:
    found = closure(Regime.RDFS, graph([":x rdf:_2 :y ."]))
    members = {one.subject for one in found if one.object == named("rdfs:ContainerMembershipProperty")}
    assert named("rdf:_2") in members
    assert named("rdf:_1") not in members
    assert ox.Triple(ox.NamedNode(EX + "x"), named("rdfs:member"), ox.NamedNode(EX + "y")) in found


def test_without_a_regime_nothing_follows() -> None:
    triples = graph([":A rdfs:subClassOf :B . :x a :A ."])
    assert closure(Regime.NONE, triples) == set(triples)


@pytest.mark.parametrize("regime", [Regime.RDFS, Regime.OWL_RL])
def test_the_members_of_a_graph_with_the_same_vocabulary_are_not_there(regime: Regime) -> None:
    one = Closure(regime)
    other = one.copy()
    _add(one, ":x rdf:_1 :y .")
    _add(other, ":x :p :y .")
    assert _memberships(one) == {named("rdf:_1")}
    assert _memberships(other) == set()
    _add(other, ":x :p rdf:_2 .")
    assert _memberships(other) == {named("rdf:_2")}
    _add(other, ":x rdf:_1 :y .")
    assert _memberships(other) == {named("rdf:_1"), named("rdf:_2")}


@pytest.mark.parametrize("regime", [Regime.RDFS, Regime.OWL_RL])
def test_nothing_of_a_graph_is_known_of_the_next(regime: Regime) -> None:
    nothing = closure(regime, [])
    said = graph([":p rdfs:domain :A ; rdfs:range :B .", ":x :p :y ; rdf:_7 :z ."])
    assert closure(regime, said) >= {*nothing, *said}
    assert closure(regime, []) == nothing


def _add(closed: Closure, statement: str) -> None:
    closed.add_terms((one.subject, one.predicate, one.object) for one in graph([statement]))


def _memberships(closed: Closure) -> set[Term]:
    wanted = named("rdf:type"), named("rdfs:ContainerMembershipProperty")
    return {subject for subject, *said in closed.triples() if tuple(said) == wanted}
