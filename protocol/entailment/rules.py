"""The rules of the regimes, as data: premises and conclusions are triple patterns, names are the standards' own.

RDF Semantics 1.1, sections 8 and 9 (rdfD2, rdfs2 to rdfs13), and OWL 2 Profiles, section 4.3, tables 4 to 9. Those with
lists are made of the lists in a schema (``protocol.entailment.lists``). What the tables say of the values of literals
(dt-eq, dt-diff, dt-type2, dt-not-type) is left out: a literal is equal to itself alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyoxigraph as ox

from protocol.entailment.regimes import Regime

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Place = Term | ox.Variable
Pattern = tuple[Place, Place, Place]

NAMESPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


@dataclass(frozen=True)
class Rule:
    """Where all premises match, all conclusions hold. Without conclusions it is a contradiction.

    ``unequal``: pairs of variables with which nothing new follows, or nothing at all, where they are the same term.
    A conclusion may have a literal as its subject: no RDF triple, but other rules go on from it.
    """

    name: str
    premises: tuple[Pattern, ...]
    conclusions: tuple[Pattern, ...]
    unequal: tuple[tuple[ox.Variable, ox.Variable], ...] = ()


def named(name: str) -> ox.NamedNode:
    """``rdf:type`` and the like: a name in one of ``NAMESPACES``."""
    prefix, _, local = name.partition(":")
    return ox.NamedNode(NAMESPACES[prefix] + local)


def rule(name: str, premises: str, conclusions: str = "", *unequal: str) -> Rule:
    """A rule, as the tables write it: ``?c rdfs:subClassOf ?d . ?x rdf:type ?c``; ``unequal`` as ``?x ?y``."""
    pairs = [one.split() for one in unequal]
    return Rule(
        name,
        patterns(premises),
        patterns(conclusions),
        tuple((ox.Variable(one[1:]), ox.Variable(other[1:])) for one, other in pairs),
    )


def patterns(text: str) -> tuple[Pattern, ...]:
    """Triple patterns with points between; numbers are ``xsd:nonNegativeInteger``."""
    return tuple(_pattern(one.split()) for one in text.split(" . ")) if text else ()


def _pattern(places: list[str]) -> Pattern:
    subject, predicate, object = (_place(one) for one in places)
    return subject, predicate, object


def _place(text: str) -> Place:
    if text.startswith("?"):
        return ox.Variable(text[1:])
    if text.isdigit():
        return ox.Literal(text, datatype=named("xsd:nonNegativeInteger"))
    return named(text)


RDFS_RULES: tuple[Rule, ...] = (
    rule("rdfD2", "?x ?p ?y", "?p rdf:type rdf:Property"),
    rule("rdfs2", "?p rdfs:domain ?c . ?x ?p ?y", "?x rdf:type ?c"),
    rule("rdfs3", "?p rdfs:range ?c . ?x ?p ?y", "?y rdf:type ?c"),
    rule("rdfs4a", "?x ?p ?y", "?x rdf:type rdfs:Resource"),
    rule("rdfs4b", "?x ?p ?y", "?y rdf:type rdfs:Resource"),
    rule("rdfs5", "?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r", "?p rdfs:subPropertyOf ?r", "?p ?q", "?q ?r"),
    rule("rdfs6", "?p rdf:type rdf:Property", "?p rdfs:subPropertyOf ?p"),
    rule("rdfs7", "?p rdfs:subPropertyOf ?q . ?x ?p ?y", "?x ?q ?y", "?p ?q"),
    rule("rdfs8", "?c rdf:type rdfs:Class", "?c rdfs:subClassOf rdfs:Resource"),
    rule("rdfs9", "?c rdfs:subClassOf ?d . ?x rdf:type ?c", "?x rdf:type ?d", "?c ?d"),
    rule("rdfs10", "?c rdf:type rdfs:Class", "?c rdfs:subClassOf ?c"),
    rule("rdfs11", "?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e", "?c rdfs:subClassOf ?e", "?c ?d", "?d ?e"),
    rule("rdfs12", "?p rdf:type rdfs:ContainerMembershipProperty", "?p rdfs:subPropertyOf rdfs:member"),
    rule("rdfs13", "?d rdf:type rdfs:Datatype", "?d rdfs:subClassOf rdfs:Literal"),
)

_EQUALITY = (
    rule("eq-ref", "?s ?p ?o", "?s owl:sameAs ?s . ?p owl:sameAs ?p . ?o owl:sameAs ?o"),
    rule("eq-sym", "?x owl:sameAs ?y", "?y owl:sameAs ?x", "?x ?y"),
    rule("eq-trans", "?x owl:sameAs ?y . ?y owl:sameAs ?z", "?x owl:sameAs ?z", "?x ?y", "?y ?z"),
    rule("eq-rep-s", "?s owl:sameAs ?t . ?s ?p ?o", "?t ?p ?o", "?s ?t"),
    rule("eq-rep-p", "?p owl:sameAs ?q . ?s ?p ?o", "?s ?q ?o", "?p ?q"),
    rule("eq-rep-o", "?o owl:sameAs ?t . ?s ?p ?o", "?s ?p ?t", "?o ?t"),
    rule("eq-diff1", "?x owl:differentFrom ?y . ?x owl:sameAs ?y"),
)

_PROPERTIES = (
    rule("prp-dom", "?p rdfs:domain ?c . ?x ?p ?y", "?x rdf:type ?c"),
    rule("prp-rng", "?p rdfs:range ?c . ?x ?p ?y", "?y rdf:type ?c"),
    rule("prp-fp", "?p rdf:type owl:FunctionalProperty . ?x ?p ?y . ?x ?p ?z", "?y owl:sameAs ?z", "?y ?z"),
    rule("prp-ifp", "?p rdf:type owl:InverseFunctionalProperty . ?x ?p ?y . ?z ?p ?y", "?x owl:sameAs ?z", "?x ?z"),
    rule("prp-irp", "?p rdf:type owl:IrreflexiveProperty . ?x ?p ?x"),
    rule("prp-symp", "?p rdf:type owl:SymmetricProperty . ?x ?p ?y", "?y ?p ?x"),
    rule("prp-asyp", "?p rdf:type owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x"),
    rule("prp-trp", "?p rdf:type owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z", "?x ?p ?z", "?x ?y", "?y ?z"),
    rule("prp-spo1", "?p rdfs:subPropertyOf ?q . ?x ?p ?y", "?x ?q ?y", "?p ?q"),
    rule("prp-eqp1", "?p owl:equivalentProperty ?q . ?x ?p ?y", "?x ?q ?y", "?p ?q"),
    rule("prp-eqp2", "?p owl:equivalentProperty ?q . ?x ?q ?y", "?x ?p ?y", "?p ?q"),
    rule("prp-pdw", "?p owl:propertyDisjointWith ?q . ?x ?p ?y . ?x ?q ?y"),
    rule("prp-inv1", "?p owl:inverseOf ?q . ?x ?p ?y", "?y ?q ?x"),
    rule("prp-inv2", "?p owl:inverseOf ?q . ?x ?q ?y", "?y ?p ?x"),
    rule(
        "prp-npa1",
        "?n owl:sourceIndividual ?x . ?n owl:assertionProperty ?p . ?n owl:targetIndividual ?y . ?x ?p ?y",
    ),
    rule("prp-npa2", "?n owl:sourceIndividual ?x . ?n owl:assertionProperty ?p . ?n owl:targetValue ?y . ?x ?p ?y"),
)

_CLASSES = (
    rule("cls-nothing2", "?x rdf:type owl:Nothing"),
    rule("cls-com", "?c owl:complementOf ?d . ?x rdf:type ?c . ?x rdf:type ?d"),
    rule(
        "cls-svf1",
        "?r owl:someValuesFrom ?c . ?r owl:onProperty ?p . ?x ?p ?y . ?y rdf:type ?c",
        "?x rdf:type ?r",
    ),
    rule("cls-svf2", "?r owl:someValuesFrom owl:Thing . ?r owl:onProperty ?p . ?x ?p ?y", "?x rdf:type ?r"),
    rule(
        "cls-avf",
        "?r owl:allValuesFrom ?c . ?r owl:onProperty ?p . ?x rdf:type ?r . ?x ?p ?y",
        "?y rdf:type ?c",
    ),
    rule("cls-hv1", "?r owl:hasValue ?y . ?r owl:onProperty ?p . ?x rdf:type ?r", "?x ?p ?y"),
    rule("cls-hv2", "?r owl:hasValue ?y . ?r owl:onProperty ?p . ?x ?p ?y", "?x rdf:type ?r"),
    rule("cls-maxc1", "?r owl:maxCardinality 0 . ?r owl:onProperty ?p . ?x rdf:type ?r . ?x ?p ?y"),
    rule(
        "cls-maxc2",
        "?r owl:maxCardinality 1 . ?r owl:onProperty ?p . ?x rdf:type ?r . ?x ?p ?y . ?x ?p ?z",
        "?y owl:sameAs ?z",
        "?y ?z",
    ),
    rule(
        "cls-maxqc1",
        "?r owl:maxQualifiedCardinality 0 . ?r owl:onProperty ?p . ?r owl:onClass ?c . ?x rdf:type ?r . ?x ?p ?y . "
        "?y rdf:type ?c",
    ),
    rule(
        "cls-maxqc2",
        "?r owl:maxQualifiedCardinality 0 . ?r owl:onProperty ?p . ?r owl:onClass owl:Thing . ?x rdf:type ?r . "
        "?x ?p ?y",
    ),
    rule(
        "cls-maxqc3",
        "?r owl:maxQualifiedCardinality 1 . ?r owl:onProperty ?p . ?r owl:onClass ?c . ?x rdf:type ?r . ?x ?p ?y . "
        "?y rdf:type ?c . ?x ?p ?z . ?z rdf:type ?c",
        "?y owl:sameAs ?z",
        "?y ?z",
    ),
    rule(
        "cls-maxqc4",
        "?r owl:maxQualifiedCardinality 1 . ?r owl:onProperty ?p . ?r owl:onClass owl:Thing . ?x rdf:type ?r . "
        "?x ?p ?y . ?x ?p ?z",
        "?y owl:sameAs ?z",
        "?y ?z",
    ),
    rule("cax-sco", "?c rdfs:subClassOf ?d . ?x rdf:type ?c", "?x rdf:type ?d", "?c ?d"),
    rule("cax-eqc1", "?c owl:equivalentClass ?d . ?x rdf:type ?c", "?x rdf:type ?d", "?c ?d"),
    rule("cax-eqc2", "?c owl:equivalentClass ?d . ?x rdf:type ?d", "?x rdf:type ?c", "?c ?d"),
    rule("cax-dw", "?c owl:disjointWith ?d . ?x rdf:type ?c . ?x rdf:type ?d"),
)

_SCHEMA = (
    rule(
        "scm-cls",
        "?c rdf:type owl:Class",
        "?c rdfs:subClassOf ?c . ?c owl:equivalentClass ?c . ?c rdfs:subClassOf owl:Thing . "
        "owl:Nothing rdfs:subClassOf ?c",
    ),
    rule("scm-sco", "?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e", "?c rdfs:subClassOf ?e", "?c ?d", "?d ?e"),
    rule("scm-eqc1", "?c owl:equivalentClass ?d", "?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c"),
    rule("scm-eqc2", "?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c", "?c owl:equivalentClass ?d"),
    rule("scm-op", "?p rdf:type owl:ObjectProperty", "?p rdfs:subPropertyOf ?p . ?p owl:equivalentProperty ?p"),
    rule("scm-dp", "?p rdf:type owl:DatatypeProperty", "?p rdfs:subPropertyOf ?p . ?p owl:equivalentProperty ?p"),
    rule(
        "scm-spo", "?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r", "?p rdfs:subPropertyOf ?r", "?p ?q", "?q ?r"
    ),
    rule("scm-eqp1", "?p owl:equivalentProperty ?q", "?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p"),
    rule("scm-eqp2", "?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p", "?p owl:equivalentProperty ?q"),
    rule("scm-dom1", "?p rdfs:domain ?c . ?c rdfs:subClassOf ?d", "?p rdfs:domain ?d", "?c ?d"),
    rule("scm-dom2", "?q rdfs:domain ?c . ?p rdfs:subPropertyOf ?q", "?p rdfs:domain ?c", "?p ?q"),
    rule("scm-rng1", "?p rdfs:range ?c . ?c rdfs:subClassOf ?d", "?p rdfs:range ?d", "?c ?d"),
    rule("scm-rng2", "?q rdfs:range ?c . ?p rdfs:subPropertyOf ?q", "?p rdfs:range ?c", "?p ?q"),
    rule(
        "scm-hv",
        "?r owl:hasValue ?i . ?r owl:onProperty ?p . ?t owl:hasValue ?i . ?t owl:onProperty ?q . "
        "?p rdfs:subPropertyOf ?q",
        "?r rdfs:subClassOf ?t",
    ),
    rule(
        "scm-svf1",
        "?r owl:someValuesFrom ?c . ?r owl:onProperty ?p . ?t owl:someValuesFrom ?d . ?t owl:onProperty ?p . "
        "?c rdfs:subClassOf ?d",
        "?r rdfs:subClassOf ?t",
    ),
    rule(
        "scm-svf2",
        "?r owl:someValuesFrom ?c . ?r owl:onProperty ?p . ?t owl:someValuesFrom ?c . ?t owl:onProperty ?q . "
        "?p rdfs:subPropertyOf ?q",
        "?r rdfs:subClassOf ?t",
    ),
    rule(
        "scm-avf1",
        "?r owl:allValuesFrom ?c . ?r owl:onProperty ?p . ?t owl:allValuesFrom ?d . ?t owl:onProperty ?p . "
        "?c rdfs:subClassOf ?d",
        "?r rdfs:subClassOf ?t",
    ),
    rule(
        "scm-avf2",
        "?r owl:allValuesFrom ?c . ?r owl:onProperty ?p . ?t owl:allValuesFrom ?c . ?t owl:onProperty ?q . "
        "?p rdfs:subPropertyOf ?q",
        "?t rdfs:subClassOf ?r",
    ),
)


def _spelled(one: Rule) -> tuple[Rule, ...]:
    """The rule and, if it speaks of a number, that of an ``xsd:integer``, which Oxigraph's store makes of it."""
    premises = tuple((subject, predicate, _as_integer(object)) for subject, predicate, object in one.premises)
    return tuple(dict.fromkeys((one, replace(one, premises=premises))))


def _as_integer(place: Place) -> Place:
    return ox.Literal(place.value, datatype=named("xsd:integer")) if isinstance(place, ox.Literal) else place


_DOUBLES = frozenset({"prp-dom", "prp-rng", "prp-spo1", "cax-sco", "scm-sco", "scm-spo"})
"""Rules of OWL 2 RL that RDFS has under another name."""

OWL_RL_RULES: tuple[Rule, ...] = (
    *RDFS_RULES,
    *(
        spelled
        for one in (*_EQUALITY, *_PROPERTIES, *_CLASSES, *_SCHEMA)
        if one.name not in _DOUBLES
        for spelled in _spelled(one)
    ),
)
"""Those of RDFS too: what follows from a graph by RDFS follows by OWL's RDF-Based Semantics."""

RULES: dict[Regime, tuple[Rule, ...]] = {Regime.NONE: (), Regime.RDFS: RDFS_RULES, Regime.OWL_RL: OWL_RL_RULES}
"""Of each regime, those that need no list."""
