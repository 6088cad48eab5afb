"""Which triples of a graph are its schema: what classes and properties are, and not what is of them."""

from __future__ import annotations

from protocol.entailment.lists import LIST_PROPERTIES, OF_LISTS
from protocol.entailment.rules import Term, named

_OF_RDFS = ("subClassOf", "subPropertyOf", "domain", "range")
_OF_OWL = (
    "equivalentClass", "equivalentProperty", "inverseOf", "propertyDisjointWith", "disjointWith", "complementOf",
    "onProperty", "onClass", "someValuesFrom", "allValuesFrom", "hasValue", "maxCardinality", "maxQualifiedCardinality",
)  # fmt: skip

SCHEMA_PROPERTIES: frozenset[Term] = frozenset(
    {
        *(named(f"rdfs:{name}") for name in _OF_RDFS),
        *(named(f"owl:{name}") for name in _OF_OWL),
        *map(named, LIST_PROPERTIES),
        *OF_LISTS,
    }
)
"""What only a schema says; ``rdf:first`` and ``rdf:rest`` are how it says it."""

_KINDS = (
    "rdf:Property", "rdfs:Class", "rdfs:Datatype", "rdfs:ContainerMembershipProperty", "owl:Class", "owl:Restriction",
    "owl:ObjectProperty", "owl:DatatypeProperty", "owl:AnnotationProperty", "owl:FunctionalProperty",
    "owl:InverseFunctionalProperty", "owl:IrreflexiveProperty", "owl:SymmetricProperty", "owl:AsymmetricProperty",
    "owl:TransitiveProperty", "owl:AllDifferent", "owl:AllDisjointClasses", "owl:AllDisjointProperties",
)  # fmt: skip
SCHEMA_KINDS: frozenset[Term] = frozenset(map(named, _KINDS))
"""What the rules know of classes and properties by ``rdf:type``."""

TYPE = named("rdf:type")


def is_schema(predicate: Term, object: Term) -> bool:
    """Whether a triple with these is part of a schema."""
    return predicate in SCHEMA_PROPERTIES or (predicate == TYPE and object in SCHEMA_KINDS)
