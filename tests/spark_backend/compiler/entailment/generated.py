"""Generated datasets with a schema, and queries over them.

The oracle is Oxigraph over the closure of each graph (``tests.spark_backend.compiler.one_shot``). What a window says of
classes and properties is no schema, so that windows have statements about things alone.
"""

from __future__ import annotations

from hypothesis import strategies as st

from protocol.entailment.regimes import Regime
from tests.spark_backend.compiler.one_shot import Content

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
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
contents = st.builds(
    lambda default, named, first, schema, more, graph: Content(
        {None: default, "http://ex/w1": named, "http://ex/w2": first},
        {None: f"{schema}\n{more}", "http://ex/g1": graph},
        entailment=Regime.RDFS,
    ),
    _text(data, 5), _text(data, 5), _text(data, 2),
    _text(schemas, 6), _text(data, 3), _text(st.one_of(data, schemas), 3),
)  # fmt: skip

variables = st.sampled_from(("?a", "?b", "?c"))
_ends = st.one_of(variables, variables, st.sampled_from((":x", ":y")))
_patterns = st.one_of(
    _said("{x} {p} {y}", x=_ends, p=properties, y=st.one_of(variables, values.filter(lambda one: one != "_:b"))),
    _said("{x} a {c}", x=_ends, c=st.one_of(classes, variables)),
    _said("{x} ?b {y}", x=_ends, y=_ends),
    _said(f"{{c}} <{RDFS}subClassOf> {{d}}", c=variables, d=st.one_of(variables, classes)),
    _said("{x} (:p|:q)+ {y}", x=_ends, y=variables),
)
_blocks = st.lists(_patterns, min_size=1, max_size=2).map(" . ".join)
_groups = st.one_of(
    _blocks,
    _said("{one} FILTER(?a != :x)", one=_blocks),
    _said("GRAPH :w1 {{ {one} }}", one=_blocks),
    _said("GRAPH :g1 {{ {one} }}", one=_blocks),
    _said("GRAPH ?g {{ {one} }}", one=_patterns),
    _said("{one} GRAPH :w2 {{ {two} }}", one=_blocks, two=_blocks),
    _said("{one} OPTIONAL {{ {two} }}", one=_blocks, two=_patterns),
    _said("{one} MINUS {{ {two} }}", one=_blocks, two=_patterns),
    _said("{{ {one} }} UNION {{ {two} }}", one=_blocks, two=_patterns),
    _said("{one} FILTER NOT EXISTS {{ {two} }}", one=_blocks, two=_patterns),
)
_datasets = st.sampled_from(("", "", "", "FROM <http://ex/g1> FROM NAMED <http://ex/g1> "))
queries = st.one_of(
    _said("SELECT * {dataset}WHERE {{ {one} }}", dataset=_datasets, one=_groups),
    _said("SELECT (COUNT(*) AS ?n) {dataset}WHERE {{ {one} }}", dataset=_datasets, one=_groups),
    _said(
        "SELECT ?a (COUNT(DISTINCT ?c) AS ?n) {dataset}WHERE {{ {one} }} GROUP BY ?a", dataset=_datasets, one=_groups
    ),
)
