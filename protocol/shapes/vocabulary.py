"""The terms of SHACL Core, as canonical N-Triples."""

from __future__ import annotations

from protocol.terms import RDF, XSD

SH = "http://www.w3.org/ns/shacl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"

RDF_TYPE = f"<{RDF}type>"
RDF_FIRST = f"<{RDF}first>"
RDF_REST = f"<{RDF}rest>"
RDF_NIL = f"<{RDF}nil>"
SUBCLASS_OF = f"<{RDFS}subClassOf>"
CLASSES = frozenset({f"<{RDFS}Class>", f"<{OWL}Class>"})
"""What makes a shape the target of its own instances; owl:Class is a subclass of rdfs:Class by OWL."""
TRUE = f'"true"^^<{XSD}boolean>'
FALSE = f'"false"^^<{XSD}boolean>'


def sh(name: str) -> str:
    """The term of SHACL with this name."""
    return f"<{SH}{name}>"


TARGETS = ("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf")

PARAMETERS = frozenset(
    {
        "class", "datatype", "nodeKind", "minCount", "maxCount", "minExclusive", "minInclusive", "maxExclusive",
        "maxInclusive", "minLength", "maxLength", "pattern", "flags", "languageIn", "uniqueLang", "equals", "disjoint",
        "lessThan", "lessThanOrEquals", "not", "and", "or", "xone", "node", "property", "qualifiedValueShape",
        "qualifiedMinCount", "qualifiedMaxCount", "qualifiedValueShapesDisjoint", "closed", "ignoredProperties",
        "hasValue", "in",
    }
)  # fmt: skip
"""The parameters of all constraint components of SHACL Core (section 4)."""

ABOUT_SHAPES = frozenset(
    {"path", *TARGETS, "severity", "message", "deactivated", "name", "description", "order", "group", "defaultValue"}
)
"""What else may be said of a shape (sections 2.1 to 2.3)."""

SHAPE_VALUED = ("node", "property", "not", "qualifiedValueShape")
SHAPE_LISTS = ("and", "or", "xone")

NOT_CORE = frozenset(
    {"sparql", "target", "js", "rule", "expression", "values", "select", "ask", "construct", "filterShape", "nodes"}
)
"""What SHACL-SPARQL and SHACL Advanced Features say of shapes."""
