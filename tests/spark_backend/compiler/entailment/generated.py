"""Generated datasets with a schema, and queries over them.

The oracle is Oxigraph over the closure of each graph (``tests.spark_backend.compiler.one_shot``). Under RDFS, what a
window says of classes and properties is no schema, so that windows have statements about things alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from protocol.entailment.regimes import Regime
from protocol.terms import RDF
from tests.spark_backend.compiler.one_shot import Content

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
CLASSES, PROPERTIES, THINGS = (":A", ":B", ":C", ":D"), (":p", ":q", ":r"), (":x", ":y", ":z", "_:b")
classes, properties, things = map(st.sampled_from, (CLASSES, PROPERTIES, THINGS))
values = st.one_of(things, st.sampled_from(('"one"', "2", '"2"@en')))


def _said(template: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda found: template.format(**found))


def _text(statements: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(statements, max_size=most).map("\n".join)


data = st.one_of(
    _said("{x} {p} {y} .", x=things, p=properties, y=values),
    _said("{x} a {c} .", x=things, c=classes),
)
schemas = st.one_of(
    _said(f"{{c}} <{RDFS}subClassOf> {{d}} .", c=classes, d=classes),
    _said(f"{{p}} <{RDFS}subPropertyOf> {{q}} .", p=properties, q=properties),
    _said(f"{{p}} <{RDFS}domain> {{c}} .", p=properties, c=classes),
    _said(f"{{p}} <{RDFS}range> {{c}} .", p=properties, c=classes),
    _said(f"{{c}} a <{RDFS}Class> .", c=classes),
)


def _contents(stored: st.SearchStrategy[str], schemas: st.SearchStrategy[str]) -> st.SearchStrategy[Content]:
    return st.builds(
        lambda default, named, first, schema, more, graph: Content(
            {None: default, "http://ex/w1": named, "http://ex/w2": first},
            {None: f"{schema}\n{more}", "http://ex/g1": graph},
            entailment=Regime.RDFS,
        ),
        _text(data, 5), _text(data, 5), _text(data, 2),
        _text(schemas, 6), _text(stored, 3), _text(st.one_of(stored, schemas), 3),
    )  # fmt: skip


contents = _contents(data, schemas)
_memberships = st.sampled_from((f"<{RDF}_1>", f"<{RDF}_20>"))
_members = _said("{x} {p} {y} .", x=things, p=_memberships, y=values)
contents_with_containers = _contents(
    st.one_of(
        data,
        _members,
        _said("{p} {q} {y} .", p=_memberships, q=properties, y=values),
        _said("{x} {q} {p} .", x=things, q=properties, p=_memberships),
    ),
    st.one_of(
        schemas,
        schemas,
        schemas,
        _said(f"<{RDFS}member> <{RDFS}subPropertyOf> {{q}} .", q=properties),
        _said(f"<{RDFS}member> <{RDFS}domain> {{c}} .", c=classes),
        _said(f"<{RDFS}ContainerMembershipProperty> <{RDFS}subClassOf> {{c}} .", c=classes),
        _said(f"<{RDF}Property> <{RDFS}subClassOf> {{c}} .", c=classes),
        _said(f"{{p}} <{RDFS}subPropertyOf> {{q}} .", p=_memberships, q=properties),
    ),
)
"""Of these, the members are said in the store: the properties that only windows have are no schema, either."""


def _with_list(subject: str, said: str, one: str, other: str) -> str:
    """Of a list of two, whose nodes have the same names wherever it is said."""
    first, last = (f"_:list{one[1:]}{other[1:]}{place}" for place in (1, 2))
    cells = ((first, one, last), (last, other, f"<{RDF}nil>"))
    listed = " ".join(f"{node} <{RDF}first> {member} ; <{RDF}rest> {rest} ." for node, member, rest in cells)
    return f"{subject} <{OWL}{said}> {first} . {listed}"


_OF_PROPERTIES = (
    "SymmetricProperty", "TransitiveProperty", "FunctionalProperty", "InverseFunctionalProperty", "ObjectProperty",
)  # fmt: skip
_same = _said(f"{{x}} <{OWL}sameAs> {{y}} .", x=things, y=things)
_owl_schemas = st.one_of(
    schemas,
    schemas,
    _said(f"{{p}} a <{OWL}{{kind}}> .", p=properties, kind=st.sampled_from(_OF_PROPERTIES)),
    _said(f"{{p}} <{OWL}{{said}}> {{q}} .", p=properties, q=properties,
          said=st.sampled_from(("inverseOf", "equivalentProperty", "propertyDisjointWith"))),
    _said(f"{{c}} <{OWL}{{said}}> {{d}} .", c=classes, d=classes,
          said=st.sampled_from(("equivalentClass", "disjointWith", "complementOf"))),
    _said(f"{{c}} <{OWL}onProperty> {{p}} ; <{OWL}{{said}}> {{d}} .", c=classes, d=classes, p=properties,
          said=st.sampled_from(("someValuesFrom", "allValuesFrom", "hasValue"))),
    st.builds(_with_list, properties, st.just("propertyChainAxiom"), properties, properties),
    st.builds(_with_list, classes, st.sampled_from(("unionOf", "intersectionOf")), classes, classes),
)  # fmt: skip
_owl_data = st.one_of(data, data, data, _same)


def _owl_contents(data: st.SearchStrategy[str]) -> st.SearchStrategy[Content]:
    return st.builds(
        lambda default, named, first, schema, more, graph: Content(
            {None: default, "http://ex/w1": named, "http://ex/w2": first},
            {None: f"{schema}\n{more}", "http://ex/g1": graph},
            entailment=Regime.OWL_RL,
        ),
        _text(data, 5), _text(st.one_of(data, _owl_schemas), 5), _text(data, 2),
        _text(_owl_schemas, 6), _text(data, 3), _text(st.one_of(data, _owl_schemas), 3),
    )  # fmt: skip


owl_contents = _owl_contents(_owl_data)
"""With schemas of OWL 2 RL, in a window, too."""
owl_contents_with_containers = _owl_contents(st.one_of(_owl_data, _members))
"""Of which owlrl says less: under OWL 2 RL it has none of the rules of RDFS that OWL does not have."""

variables = st.sampled_from(("?a", "?b", "?c"))
_ends = st.one_of(variables, variables, st.sampled_from((":x", ":y")))
_plain = st.one_of(
    _said("{x} {p} {y}", x=_ends, p=properties, y=st.one_of(variables, values.filter(lambda one: one != "_:b"))),
    _said("{x} a {c}", x=_ends, c=classes),
    _said("{x} (:p|:q)+ {y}", x=_ends, y=variables),
)
_patterns = st.one_of(
    _plain,
    _said("{x} a {c}", x=_ends, c=variables),
    _said("{x} ?b {y}", x=_ends, y=_ends),
    _said(f"{{c}} <{RDFS}subClassOf> {{d}}", c=variables, d=st.one_of(variables, classes)),
)
_datasets = st.sampled_from(("", "", "", "FROM <http://ex/g1> FROM NAMED <http://ex/g1> "))


def _queries(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blocks = st.lists(patterns, min_size=1, max_size=2).map(" . ".join)
    groups = st.one_of(
        blocks,
        _said("{one} FILTER(?a != :x)", one=blocks),
        _said("GRAPH :w1 {{ {one} }}", one=blocks),
        _said("GRAPH :g1 {{ {one} }}", one=blocks),
        _said("GRAPH ?g {{ {one} }}", one=patterns),
        _said("{one} GRAPH :w2 {{ {two} }}", one=blocks, two=blocks),
        _said("{one} OPTIONAL {{ {two} }}", one=blocks, two=patterns),
        _said("{one} MINUS {{ {two} }}", one=blocks, two=patterns),
        _said("{{ {one} }} UNION {{ {two} }}", one=blocks, two=patterns),
        _said("{one} FILTER NOT EXISTS {{ {two} }}", one=blocks, two=patterns),
    )
    return st.one_of(
        _said("SELECT * {dataset}WHERE {{ {one} }}", dataset=_datasets, one=groups),
        _said("SELECT (COUNT(*) AS ?n) {dataset}WHERE {{ {one} }}", dataset=_datasets, one=groups),
        _said("SELECT ?a (COUNT(DISTINCT ?c) AS ?n) {dataset}WHERE {{ {one} }} GROUP BY ?a",
              dataset=_datasets, one=groups),
    )  # fmt: skip


queries = _queries(_patterns)
queries_of_containers = _queries(
    st.one_of(
        _patterns,
        _said(f"{{x}} <{RDFS}member> {{y}}", x=_ends, y=variables),
        _said("{x} {p} {y}", x=_ends, p=_memberships, y=variables),
        _said("{p} a {c}", p=_memberships, c=st.one_of(variables, classes)),
        _said(f"{{x}} a <{RDFS}ContainerMembershipProperty>", x=variables),
        _said(f"{{x}} a <{RDF}Property>", x=variables),
        _said(f"{{x}} <{RDFS}subPropertyOf> {{y}}", x=variables, y=variables),
    )
)
plain_queries = _queries(_plain)
"""Those that name properties and classes: all who infer agree on their answers, whatever axioms they have besides."""


def without_blank_nodes(content: Content) -> Content:
    """The same of a thing with a name: who infers elsewhere gives blank nodes other labels."""

    def named(texts: Mapping[str | None, str]) -> dict[str | None, str]:
        return {name: text.replace("_:b ", ":w ") for name, text in texts.items()}

    return replace(content, windows=named(content.windows), graphs=named(content.graphs))
