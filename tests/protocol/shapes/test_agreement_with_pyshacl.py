"""Random shapes and messages: what pySHACL finds, our validator finds."""

from __future__ import annotations

from unittest import mock

import pyshacl
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.shapes.graph import Graph
from protocol.shapes.path_reading import read_path
from protocol.shapes.vocabulary import sh
from tests.protocol.shapes.shapes_text import PREFIXES, compiled, report_graph, triples

Text = st.SearchStrategy[str]

_NODES = ("ex:a", "ex:b", "ex:c", "ex:longer")
_CLASSES = ("ex:C", "ex:D", "ex:E")
_PROPERTIES = ("ex:p", "ex:q", "ex:r")
_LITERALS = (
    "1", "2", "5", "2.5", "1.0e0", '"x"', '"xyz"', '"ab c"', '"x"@en', '"y"@en', '"z"@de', '"w"@en-gb', "true", "false",
    '"2026-01-01T00:00:00Z"^^xsd:dateTime', '"2026-01-02T00:00:00Z"^^xsd:dateTime', '"2026-01-01"^^xsd:date',
    '"none"^^xsd:integer', '"300"^^xsd:byte', '"3"^^xsd:byte',
)  # fmt: skip
_TERMS = (*_NODES, *_LITERALS, *_CLASSES)
_KINDS = ("IRI", "BlankNode", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
_DATATYPES = ("integer", "decimal", "double", "string", "boolean", "dateTime", "date", "byte")
_PATTERNS = ('"^x"', '"[a-z]{2}"', '"^(x|y)+$"', '"X" ; sh:flags "i"', '"^http://ex/.$"', '"2"')


def _one_of(form: str, choices: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(choices).map(form.format)


def _list(choices: tuple[str, ...], form: str) -> st.SearchStrategy[str]:
    members = st.lists(st.sampled_from(choices), min_size=1, max_size=4, unique=True)
    return members.map(lambda some: form.format(" ".join(some)))


_OF_ANY = (
    _one_of("sh:class {}", _CLASSES),
    _one_of("sh:datatype xsd:{}", _DATATYPES),
    _one_of("sh:nodeKind sh:{}", _KINDS),
    _one_of("sh:minInclusive {}", ("1", "2.5", '"2026-01-02T00:00:00Z"^^xsd:dateTime')),
    _one_of("sh:maxExclusive {}", ("2", "5.0e0", '"2026-01-02T00:00:00Z"^^xsd:dateTime')),
    _one_of("sh:minLength {}", ("0", "1", "2", "12")),
    _one_of("sh:maxLength {}", ("0", "1", "3", "11")),
    _one_of("sh:pattern {}", _PATTERNS),
    _list(('"en"', '"de"', '"fr"'), "sh:languageIn ( {} )"),
    _list(_TERMS, "sh:in ( {} )"),
    _one_of("sh:hasValue {}", _TERMS),
    _one_of("sh:equals {}", _PROPERTIES),
    _one_of("sh:disjoint {}", _PROPERTIES),
    st.just("sh:closed true ; sh:ignoredProperties ( rdf:type ex:q )"),
)
_OF_PROPERTIES = (
    _one_of("sh:minCount {}", ("0", "1", "2")),
    _one_of("sh:maxCount {}", ("0", "1", "2")),
    st.just("sh:uniqueLang true"),
)

_PATHS = st.recursive(
    st.sampled_from(_PROPERTIES),
    lambda inner: st.one_of(
        inner.map("[ sh:inversePath {} ]".format),
        st.lists(inner, min_size=2, max_size=2).map(lambda two: f"( {' '.join(two)} )"),
        st.lists(inner, min_size=2, max_size=2).map(lambda two: f"[ sh:alternativePath ( {' '.join(two)} ) ]"),
        *(inner.map(f"[ sh:{kind}Path {{}} ]".format) for kind in ("zeroOrMore", "oneOrMore", "zeroOrOne")),
    ),
    max_leaves=4,
)


def _constraints(
    inner: st.SearchStrategy[str] | None, kinds: tuple[st.SearchStrategy[str], ...]
) -> st.SearchStrategy[str]:
    """What stands in the brackets of a shape: constraints, each parameter once."""
    simple = st.lists(st.one_of(*kinds), min_size=1, max_size=3, unique_by=lambda one: one.split()[0])
    if inner is None:
        return simple.map(" ; ".join)
    lists = st.lists(inner, min_size=1, max_size=2).map(lambda some: f"( {' '.join(f'[ {one} ]' for one in some)} )")
    several = [lists.map(f"sh:{name} {{}}".format) for name in ("and", "or", "xone")]
    of_shapes = st.one_of(inner.map("sh:not [ {} ]".format), inner.map("sh:node [ {} ]".format), *several)
    return st.tuples(simple, st.lists(of_shapes, max_size=1)).map(lambda both: " ; ".join([*both[0], *both[1]]))


_LEAF = _constraints(None, _OF_ANY)
_NESTED = _constraints(_LEAF, _OF_ANY)
_QUALIFIED = st.tuples(_LEAF, st.sampled_from(("sh:qualifiedMinCount 1", "sh:qualifiedMaxCount 1"))).map(
    lambda both: f"sh:qualifiedValueShape [ {both[0]} ] ; {both[1]}"
)
# pySHACL orders IRIs, too; in SPARQL, which SHACL refers to, they have no order.
_LESS = _one_of("sh:property [ sh:path ex:less ; sh:lessThan{} ex:more ]", ("", "OrEquals"))
_PROPERTY = st.tuples(_PATHS, st.one_of(_constraints(_NESTED, (*_OF_ANY[:-1], *_OF_PROPERTIES)), _QUALIFIED)).map(
    lambda both: f"sh:property [ sh:path {both[0]} ; {both[1]} ]"
)
_TARGETS = st.one_of(
    _one_of("sh:targetNode {}", ("ex:a", '"x"', "ex:nobody")),
    _one_of("sh:targetClass {}", _CLASSES),
    _one_of("sh:targetSubjectsOf {}", _PROPERTIES),
    _one_of("sh:targetObjectsOf {}", _PROPERTIES),
)
_SHAPES = st.lists(
    st.tuples(
        _TARGETS,
        _TARGETS,
        st.lists(st.one_of(_PROPERTY, _PROPERTY, _LESS), max_size=2),
        st.one_of(_NESTED, st.just("sh:deactivated false")),
    ),
    min_size=1,
    max_size=2,
).map(
    lambda shapes: (
        "ex:D rdfs:subClassOf ex:C . ex:E rdfs:subClassOf ex:D .\n"
        + "\n".join(
            f"ex:Shape{number} a sh:NodeShape ; {one} ; {other} ; {' ; '.join([*properties, own])} ."
            for number, (one, other, properties, own) in enumerate(shapes)
        )
    )
)
_TRIPLE = st.one_of(
    st.tuples(
        st.sampled_from((*_NODES, "_:blank")), st.sampled_from(_PROPERTIES), st.sampled_from((*_TERMS, "_:blank"))
    ),
    st.tuples(st.sampled_from(_NODES), st.just("a"), st.sampled_from(_CLASSES)),
    st.tuples(st.sampled_from(_NODES), st.sampled_from(("ex:less", "ex:more")), st.sampled_from(("1", "2", "2.5"))),
)
_DATA = st.lists(_TRIPLE, max_size=10).map(lambda some: " .\n".join(map(" ".join, some)) + " .\n" if some else "")


def _told(graph: Graph, report: str) -> set[tuple[str | None, ...]]:
    found = set()
    for result in graph.objects(report, sh("result")):
        path = graph.object(result, sh("resultPath"))
        names = ("focusNode", "value", "sourceConstraintComponent", "resultSeverity")
        terms = [graph.object(result, sh(name)) for name in names]
        named = ["_:" if term is not None and term[0] == "_" else term for term in terms]
        found.add((*named, None if path is None else read_path(graph, path).text))
    return found


def _expected(shapes: str, data: str) -> set[tuple[str | None, ...]]:
    with mock.patch.object(rdflib, "NORMALIZE_LITERALS", False):
        return _told_by_pyshacl(shapes, data)


def _told_by_pyshacl(shapes: str, data: str) -> set[tuple[str | None, ...]]:
    graphs = [rdflib.Graph().parse(data=PREFIXES + text, format="turtle") for text in (data, shapes)]
    for triple in graphs[1].triples((None, rdflib.RDFS.subClassOf, None)):
        graphs[0].add(triple)
    _, report, _ = pyshacl.validate(graphs[0], shacl_graph=graphs[1])
    assert isinstance(report, rdflib.Graph)
    s, p, o = zip(*triples(report.serialize(format="nt")), strict=True)
    graph = Graph(s, p, o)
    ((node, _),) = graph.pairs(sh("conforms"))
    return _told(graph, node)


@settings(max_examples=60, deadline=None)
@given(_SHAPES, _DATA)
def test_the_results_are_the_same(shapes: str, data: str) -> None:
    graph = compiled(shapes)
    found = graph.validate(graph.graph(triples(data)))
    ours = report_graph(found)
    assert _told(ours, "_:report") == _expected(shapes, data)
