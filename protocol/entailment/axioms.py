"""Axiomatic triples of the regimes (RDF Semantics 1.1, sections 8 and 9; OWL 2 Profiles, tables 5, 6 and 8).

Those of the properties ``rdf:_n``, of which there is no end, are given only for those that a graph has (SPARQL 1.1
Entailment Regimes, condition C2 of the RDF and RDFS regimes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyoxigraph as ox

from protocol.entailment.regimes import Regime
from protocol.entailment.rules import NAMESPACES, Pattern, Term, named, patterns

_MEMBERSHIP = re.compile(re.escape(NAMESPACES["rdf"]) + r"_[1-9][0-9]*")


def _typed(kind: str, names: str) -> tuple[Pattern, ...]:
    return tuple((named(name), named("rdf:type"), named(kind)) for name in names.split())


def _of_properties(name: str, values: str) -> tuple[Pattern, ...]:
    """Of a text of ``property value`` pairs."""
    words = values.split()
    return tuple((named(one), named(name), named(other)) for one, other in zip(words[::2], words[1::2], strict=True))


RDFS_AXIOMS: tuple[Pattern, ...] = (
    *_typed("rdf:Property", "rdf:type rdf:subject rdf:predicate rdf:object rdf:first rdf:rest rdf:value"),
    *_typed("rdf:List", "rdf:nil"),
    *_of_properties(
        "rdfs:domain",
        "rdf:type rdfs:Resource rdfs:domain rdf:Property rdfs:range rdf:Property rdfs:subPropertyOf rdf:Property "
        "rdfs:subClassOf rdfs:Class rdf:subject rdf:Statement rdf:predicate rdf:Statement rdf:object rdf:Statement "
        "rdfs:member rdfs:Resource rdf:first rdf:List rdf:rest rdf:List rdfs:seeAlso rdfs:Resource "
        "rdfs:isDefinedBy rdfs:Resource rdfs:comment rdfs:Resource rdfs:label rdfs:Resource rdf:value rdfs:Resource",
    ),
    *_of_properties(
        "rdfs:range",
        "rdf:type rdfs:Class rdfs:domain rdfs:Class rdfs:range rdfs:Class rdfs:subPropertyOf rdf:Property "
        "rdfs:subClassOf rdfs:Class rdf:subject rdfs:Resource rdf:predicate rdfs:Resource rdf:object rdfs:Resource "
        "rdfs:member rdfs:Resource rdf:first rdfs:Resource rdf:rest rdf:List rdfs:seeAlso rdfs:Resource "
        "rdfs:isDefinedBy rdfs:Resource rdfs:comment rdfs:Literal rdfs:label rdfs:Literal rdf:value rdfs:Resource",
    ),
    *_of_properties(
        "rdfs:subClassOf",
        "rdf:Alt rdfs:Container rdf:Bag rdfs:Container rdf:Seq rdfs:Container "
        "rdfs:ContainerMembershipProperty rdf:Property rdfs:Datatype rdfs:Class",
    ),
    *patterns("rdfs:isDefinedBy rdfs:subPropertyOf rdfs:seeAlso"),
    *_typed("rdfs:Datatype", "rdf:langString xsd:string"),
)

OWL_RL_AXIOMS: tuple[Pattern, ...] = (
    *RDFS_AXIOMS,
    *_typed("owl:Class", "owl:Thing owl:Nothing"),
    *_typed(
        "owl:AnnotationProperty",
        "rdfs:label rdfs:comment rdfs:seeAlso rdfs:isDefinedBy owl:deprecated owl:versionInfo owl:priorVersion "
        "owl:backwardCompatibleWith owl:incompatibleWith",
    ),
    *_typed(
        "rdfs:Datatype",
        "rdf:PlainLiteral rdf:XMLLiteral rdfs:Literal xsd:decimal xsd:integer xsd:nonNegativeInteger "
        "xsd:nonPositiveInteger xsd:positiveInteger xsd:negativeInteger xsd:long xsd:int xsd:short xsd:byte "
        "xsd:unsignedLong xsd:unsignedInt xsd:unsignedShort xsd:unsignedByte xsd:float xsd:double xsd:normalizedString "
        "xsd:token xsd:language xsd:Name xsd:NCName xsd:NMTOKEN xsd:boolean xsd:hexBinary xsd:base64Binary xsd:anyURI "
        "xsd:dateTime xsd:dateTimeStamp",
    ),
)

AXIOMS: dict[Regime, tuple[Pattern, ...]] = {
    Regime.NONE: (),
    Regime.RDFS: RDFS_AXIOMS,
    Regime.OWL_RL: OWL_RL_AXIOMS,
}


def is_membership(term: Term) -> bool:
    """Whether it is one of the properties ``rdf:_n``."""
    return isinstance(term, ox.NamedNode) and _MEMBERSHIP.fullmatch(term.value) is not None


def membership_axioms(properties: Iterable[Term]) -> list[Pattern]:
    """Those of each of these properties ``rdf:_n``."""
    kind, resource = named("rdfs:ContainerMembershipProperty"), named("rdfs:Resource")
    return [
        axiom
        for term in properties
        for axiom in (
            (term, named("rdf:type"), kind),
            (term, named("rdfs:domain"), resource),
            (term, named("rdfs:range"), resource),
        )
    ]
