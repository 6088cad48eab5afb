"""The shapes of a shapes graph, compiled (SHACL, sections 2 and 4; their syntax rules are those of appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from protocol.errors import UnsupportedFeature
from protocol.shapes import components
from protocol.shapes.errors import InvalidShapes, ill_formed
from protocol.shapes.graph import Graph
from protocol.shapes.lists import members_of
from protocol.shapes.path_reading import read_path
from protocol.shapes.paths import Predicate
from protocol.shapes.shape import Check, Shape
from protocol.shapes.values import kind_of, language_of, text_of
from protocol.shapes.vocabulary import (
    ABOUT_SHAPES,
    NOT_CORE,
    PARAMETERS,
    RDF_TYPE,
    SH,
    SHAPE_LISTS,
    SHAPE_VALUED,
    TARGETS,
    TRUE,
    sh,
)
from protocol.terms import XSD, TermKind, facets

_DEEPEST = 64
_LARGEST = 100_000
_INTEGER = f'"^^<{XSD}integer>'

_OF_PROPERTIES = (
    "minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape",
)  # fmt: skip
"""Parameters that only property shapes have."""


class ShapesReader:
    """Reads the shapes of a graph; each is compiled once. All methods raise InvalidShapes for what is ill-formed, and
    UnsupportedFeature for what is not SHACL Core.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, Shape] = {}
        self._reading: list[str] = []

    def all_shapes(self) -> list[Shape]:
        """Every shape of the graph (SHACL, section 2.1)."""
        for predicate, instead in (
            (sh("entailment"), "no entailment regime is applied to messages: leave sh:entailment out"),
            ("<http://www.w3.org/2002/07/owl#imports>", "owl:imports is not followed: put its triples into the graph"),
        ):
            if pairs := self._graph.pairs(predicate):
                raise UnsupportedFeature(f"{pairs[0][0]}: {instead}")
        for name in ("ConstraintComponent", "SPARQLTargetType", "JSConstraint"):
            if nodes := self._graph.subjects(RDF_TYPE, sh(name)):
                raise UnsupportedFeature(
                    f"{next(iter(nodes))}: sh:{name} is not SHACL Core, which is what is validated"
                )
        return [self.shape(node) for node in self._nodes()]

    def _nodes(self) -> list[str]:
        graph = self._graph
        found: dict[str, None] = {}
        kinds = (sh("NodeShape"), sh("PropertyShape"))
        found |= {node: None for node, _ in graph.pairs(RDF_TYPE) if graph.is_instance(node, kinds)}
        about = {sh(name) for name in (*PARAMETERS, *TARGETS, *NOT_CORE)}
        found |= {node: None for node, said in graph.forward.items() if not about.isdisjoint(said)}
        for name in SHAPE_VALUED:
            found |= {value: None for _, value in graph.pairs(sh(name))}
        return list(found)

    def shape(self, node: str) -> Shape:
        """The shape that a node is."""
        known = self._known.get(node)
        if known is not None:
            return known
        if node in self._reading:
            raise ill_formed(
                node, "a shape must not refer to itself, nor by way of others: SHACL gives that no meaning"
            )
        if len(self._reading) > _DEEPEST:
            raise ill_formed(node, f"shapes must not refer to each other more than {_DEEPEST} deep")
        self._reading.append(node)
        try:
            shape = self._known[node] = _OneShape(self, self._graph, node).read()
        finally:
            self._reading.pop()
        if shape.size > _LARGEST:
            raise ill_formed(node, f"the shape reaches others more than {_LARGEST} times")
        return shape


class _OneShape:
    """What the graph says of one shape."""

    def __init__(self, reader: ShapesReader, graph: Graph, node: str) -> None:
        self._reader = reader
        self._graph = graph
        self._node = node
        self._said = graph.forward.get(node, {})

    def read(self) -> Shape:
        if kind_of(self._node) not in "<_":
            raise self._wrong("a shape must be an IRI or a blank node")
        self._check_names()
        path = self._one("path")
        is_property = path is not None
        if self._graph.is_instance(self._node, {sh("PropertyShape")}) and not is_property:
            raise self._wrong("a property shape must have a sh:path")
        if self._graph.is_instance(self._node, {sh("NodeShape")}) and is_property:
            raise self._wrong("a node shape must not have a sh:path: leave it out, or make it a sh:PropertyShape")
        if not is_property and (misplaced := [name for name in _OF_PROPERTIES if self._all(name)]):
            raise self._wrong(
                f"sh:{misplaced[0]} is for property shapes: say the sh:path, or put it into a sh:property"
            )
        severity = self._one("severity")
        if severity is not None:
            self._require(severity, "<", "sh:severity", "an IRI, such as sh:Warning")
        shape = Shape(
            self._node,
            None if path is None else read_path(self._graph, path),
            severity or sh("Violation"),
            self._messages(),
            self._boolean("deactivated"),
        )
        for kind in ("targetClass", "targetSubjectsOf", "targetObjectsOf"):
            self._iris(kind)
        for target in self._all("targetNode"):
            self._require(target, '<"', "sh:targetNode", "an IRI or a literal")
        shape.checks += self._checks(shape)
        return shape

    def _check_names(self) -> None:
        for predicate in self._said:
            if predicate.startswith(f"<{SH}"):
                name = predicate[len(SH) + 1 : -1]
                if name in NOT_CORE:
                    raise UnsupportedFeature(f"{self._node}: sh:{name} is not SHACL Core, which is what is validated")
                if name not in PARAMETERS and name not in ABOUT_SHAPES:
                    raise self._wrong(f"there is no sh:{name} for shapes in SHACL Core")

    def _messages(self) -> tuple[str, ...]:
        messages = self._all("message")
        for message in messages:
            if facets(message)[0] not in (TermKind.STRING, TermKind.LANGUAGE_STRING):
                raise self._wrong(f"sh:message must be a text, not {message}")
        if len({language_of(message) for message in messages}) < len(messages):
            raise self._wrong("there must be one sh:message in a language")
        return tuple(messages)

    # Constraints, in the order of the specification

    def _checks(self, shape: Shape) -> Iterator[Check]:
        yield from (components.class_(shape, iri) for iri in self._iris("class"))
        if (datatype := self._one("datatype")) is not None:
            self._require(datatype, "<", "sh:datatype", "an IRI, such as xsd:double")
            yield components.datatype(shape, datatype)
        if (kind := self._one("nodeKind")) is not None:
            name = kind[len(SH) + 1 : -1] if kind.startswith(f"<{SH}") else kind
            if name not in components.KINDS:
                raise self._wrong(f"sh:nodeKind must be one of {', '.join(f'sh:{one}' for one in components.KINDS)}")
            yield components.node_kind(shape, name)
        if (count := self._integer("minCount")) is not None:
            yield components.min_count(shape, count)
        if (count := self._integer("maxCount")) is not None:
            yield components.max_count(shape, count)
        for name in ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive"):
            if (limit := self._one(name)) is not None:
                self._require(limit, '"', f"sh:{name}", "a literal")
                yield components.bound(shape, name, limit)
        for name in ("minLength", "maxLength"):
            if (length := self._integer(name)) is not None:
                yield components.length(shape, name, length)
        yield from self._pattern(shape)
        if (languages := self._one("languageIn")) is not None:
            ranges = members_of(self._graph, languages, "sh:languageIn")
            yield components.language_in(shape, [self._string(one, "a member of sh:languageIn") for one in ranges])
        if self._boolean("uniqueLang"):
            yield components.unique_lang(shape)
        yield from (components.equals(shape, iri) for iri in self._iris("equals"))
        yield from (components.disjoint(shape, iri) for iri in self._iris("disjoint"))
        yield from (components.less_than(shape, iri, or_equal=False) for iri in self._iris("lessThan"))
        yield from (components.less_than(shape, iri, or_equal=True) for iri in self._iris("lessThanOrEquals"))
        yield from self._of_shapes(shape)
        yield from self._closed(shape)
        yield from (components.has_value(shape, term) for term in self._all("hasValue"))
        if (members := self._one("in")) is not None:
            yield components.in_(shape, members_of(self._graph, members, "sh:in"))

    def _pattern(self, shape: Shape) -> Iterator[Check]:
        pattern, flags = self._one("pattern"), self._one("flags")
        if pattern is None:
            return
        texts = self._string(pattern, "sh:pattern"), "" if flags is None else self._string(flags, "sh:flags")
        try:
            yield components.pattern(shape, *texts)
        except ValueError as error:
            raise self._wrong(f"sh:pattern: {error}") from None

    def _of_shapes(self, shape: Shape) -> Iterator[Check]:
        single: dict[str, Callable[[Shape, Shape], Check]] = {
            "not": components.not_, "node": components.node, "property": components.property_,
        }  # fmt: skip
        several: dict[str, Callable[[Shape, Sequence[Shape]], Check]] = {
            "and": components.and_, "or": components.or_, "xone": components.xone,
        }  # fmt: skip
        for name in ("not", *SHAPE_LISTS, "node", "property"):
            for value in self._all(name):
                if name in single:
                    other = self._other(shape, value)
                    if name == "property" and other.path is None:
                        raise self._wrong(f"sh:property must be a property shape: {value} has no sh:path")
                    if name == "node" and other.path is not None:
                        raise self._wrong(f"sh:node must be a node shape: {value} has a sh:path")
                    yield single[name](shape, other)
                else:
                    members = members_of(self._graph, value, f"sh:{name}")
                    yield several[name](shape, [self._other(shape, one) for one in members])
        counted = self._one("qualifiedValueShape")
        least, most = self._integer("qualifiedMinCount"), self._integer("qualifiedMaxCount")
        if counted is not None:
            siblings = self._siblings(counted) if self._boolean("qualifiedValueShapesDisjoint") else []
            others = [self._other(shape, one) for one in siblings]
            yield components.qualified(shape, self._other(shape, counted), others, least, most)

    def _other(self, shape: Shape, node: str) -> Shape:
        """A shape that this one refers to."""
        other = self._reader.shape(node)
        shape.size += other.size
        return other

    def _siblings(self, own: str) -> list[str]:
        """The other qualified value shapes of the shapes that this is a property of (SHACL, section 4.7.3)."""
        found: dict[str, None] = {}
        for parent in self._graph.subjects(sh("property"), self._node):
            for property_shape in self._graph.objects(parent, sh("property")):
                found |= self._graph.objects(property_shape, sh("qualifiedValueShape"))
        found.pop(own, None)
        return list(found)

    def _closed(self, shape: Shape) -> Iterator[Check]:
        ignored = self._one("ignoredProperties")
        allowed = [] if ignored is None else members_of(self._graph, ignored, "sh:ignoredProperties")
        for iri in allowed:
            self._require(iri, "<", "a member of sh:ignoredProperties", "an IRI")
        if self._boolean("closed"):
            for node in self._all("property"):
                path = self._reader.shape(node).path
                if isinstance(path, Predicate):
                    allowed.append(path.iri)
            yield components.closed(shape, frozenset(allowed))

    # What the graph says by a predicate of SHACL's

    def _all(self, name: str) -> list[str]:
        return list(self._said.get(sh(name), ()))

    def _one(self, name: str) -> str | None:
        values = self._all(name)
        if len(values) > 1:
            raise self._wrong(f"a shape has one sh:{name} at most, this has {len(values)}: {', '.join(values)}")
        return values[0] if values else None

    def _iris(self, name: str) -> list[str]:
        values = self._all(name)
        for value in values:
            self._require(value, "<", f"sh:{name}", "an IRI")
        return values

    def _integer(self, name: str) -> int | None:
        value = self._one(name)
        if value is None:
            return None
        digits = value[1 : -len(_INTEGER)]
        if not value.endswith(_INTEGER) or facets(value)[0] != TermKind.INTEGER or len(digits) > 18:
            raise self._wrong(f"sh:{name} must be an xsd:integer, such as 1, not {value}")
        return int(digits)

    def _boolean(self, name: str) -> bool:
        value = self._one(name)
        if value is not None and facets(value)[0] != TermKind.BOOLEAN:
            raise self._wrong(f"sh:{name} must be true or false, not {value}")
        return value == TRUE  # and no other way of writing it (section 4.4.5)

    def _string(self, value: str, what: str) -> str:
        if facets(value)[0] != TermKind.STRING:
            raise self._wrong(f"{what} must be a text without a language, not {value}")
        return text_of(value)

    def _require(self, value: str, kinds: str, what: str, expected: str) -> None:
        if kind_of(value) not in kinds:
            raise self._wrong(f"{what} must be {expected}, not {value}")

    def _wrong(self, problem: str) -> InvalidShapes:
        return ill_formed(self._node, problem)
