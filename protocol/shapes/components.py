"""The constraint components of SHACL Core (section 4), as checks.

Each builder takes the shape that it is a constraint of, and its parameter, well-formed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial

from protocol.shapes.datatypes import lexical_test
from protocol.shapes.graph import Graph
from protocol.shapes.paths import Predicate
from protocol.shapes.shape import Check, Result, Results, Shape
from protocol.shapes.values import (
    bound_test,
    direction_of,
    has_text,
    is_less,
    kind_of,
    language_matches,
    language_of,
    pattern_test,
    text_of,
)
from protocol.terms import RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD

KINDS = {
    "IRI": "<",
    "BlankNode": "_",
    "Literal": '"',
    "BlankNodeOrIRI": "_<",
    "BlankNodeOrLiteral": '_"',
    "IRIOrLiteral": '<"',
}
"""The values of sh:nodeKind, and the kinds of such terms."""


def each_value(shape: Shape, component: str, test: Callable[[str], bool], message: str) -> Check:
    """What every value node has to be, as ``test`` tells of a term."""

    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        for value in values:
            if not test(value):
                results.append(Result(shape, component, focus, value, message))

    return check


def each_node(shape: Shape, component: str, test: Callable[[Graph, str], bool], message: str) -> Check:
    """What every value node has to be in its graph."""

    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        for value in values:
            if not test(graph, value):
                results.append(Result(shape, component, focus, value, message))

    return check


# Value types and ranges (4.1, 4.3)


def class_(shape: Shape, iri: str) -> Check:
    wanted = frozenset((iri,))
    return each_node(shape, "Class", lambda graph, node: graph.is_instance(node, wanted), f"is no instance of {iri}")


def datatype(shape: Shape, iri: str) -> Check:
    message = f"is no literal of {iri}, or ill-formed"
    if iri == f"<{XSD}string>":
        return each_value(shape, "Datatype", lambda term: term[0] == '"' == term[-1], message)
    if iri == f"<{RDF_LANG_STRING}>":
        return each_value(shape, "Datatype", lambda term: language_of(term) != "" == direction_of(term), message)
    if iri == f"<{RDF_DIR_LANG_STRING}>":
        return each_value(shape, "Datatype", lambda term: direction_of(term) != "", message)
    suffix, well_formed = f'"^^{iri}', lexical_test(iri[1:-1])
    end = -len(suffix)
    return each_value(
        shape, "Datatype", lambda term: term[0] == '"' and term.endswith(suffix) and well_formed(term[1:end]), message
    )


def node_kind(shape: Shape, name: str) -> Check:
    kinds = KINDS[name]
    return each_value(shape, "NodeKind", lambda term: kind_of(term) in kinds, f"is not of kind sh:{name}")


def bound(shape: Shape, name: str, limit: str) -> Check:
    """sh:minInclusive and its like."""
    test = bound_test(limit, least=name.startswith("min"), or_equal=name.endswith("Inclusive"))
    return each_value(shape, name[0].upper() + name[1:], test, f"is not {_BOUNDS[name]} {limit}")


_BOUNDS = {
    "minInclusive": "at least",
    "minExclusive": "greater than",
    "maxInclusive": "at most",
    "maxExclusive": "less than",
}


# Cardinality (4.2)


def min_count(shape: Shape, count: int) -> Check:
    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        if len(values) < count:
            results.append(
                Result(shape, "MinCount", focus, None, f"has {len(values)} values, at least {count} expected")
            )

    return check


def max_count(shape: Shape, count: int) -> Check:
    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        if len(values) > count:
            results.append(Result(shape, "MaxCount", focus, None, f"has {len(values)} values, at most {count} allowed"))

    return check


# Strings (4.4)


def length(shape: Shape, name: str, bound: int) -> Check:
    """sh:minLength and sh:maxLength."""
    if name == "minLength":
        words, test = f"is shorter than {bound}", lambda term: has_text(term) and len(text_of(term)) >= bound
    else:
        words, test = f"is longer than {bound}", lambda term: has_text(term) and len(text_of(term)) <= bound
    return each_value(shape, name[0].upper() + name[1:], test, f"{words} characters")


def pattern(shape: Shape, text: str, flags: str) -> Check:
    """Raises ValueError for what REGEX does not take."""
    matches = pattern_test(text, flags)
    shown = f'"{text}"' + (f' with the flags "{flags}"' if flags else "")
    return each_value(
        shape, "Pattern", lambda term: has_text(term) and matches(text_of(term)), f"does not match {shown}"
    )


def language_in(shape: Shape, ranges: Sequence[str]) -> Check:
    def test(term: str) -> bool:
        tag = language_of(term)
        return tag != "" and any(language_matches(tag, one) for one in ranges)

    return each_value(shape, "LanguageIn", test, f"is in none of the languages {', '.join(ranges)}")


def unique_lang(shape: Shape) -> Check:
    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        if len(values) > 1:
            for tag, count in Counter(map(language_of, values)).items():
                if tag and count > 1:
                    message = f"has {count} values in the language {tag}, one allowed"
                    results.append(Result(shape, "UniqueLang", focus, None, message))

    return check


# Pairs of properties (4.5)


def equals(shape: Shape, predicate: str) -> Check:
    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        others = graph.objects(focus, predicate)
        for value in values:
            if value not in others:
                results.append(Result(shape, "Equals", focus, value, f"is no value of {predicate}"))
        for value in others:
            if value not in values:
                results.append(Result(shape, "Equals", focus, value, f"is a value of {predicate} only"))

    return check


def disjoint(shape: Shape, predicate: str) -> Check:
    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        others = graph.objects(focus, predicate)
        for value in values:
            if value in others:
                results.append(Result(shape, "Disjoint", focus, value, f"is a value of {predicate}, too"))

    return check


def less_than(shape: Shape, predicate: str, *, or_equal: bool) -> Check:
    component = "LessThanOrEquals" if or_equal else "LessThan"
    words = "is not at most" if or_equal else "is not less than"

    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        others = graph.objects(focus, predicate)
        for value in values:
            for other in others:
                if not is_less(value, other, or_equal=or_equal):
                    message = f"{words} {other}, a value of {predicate}"
                    results.append(Result(shape, component, focus, value, message))

    return check


# Logic and shapes (4.6, 4.7)


def not_(shape: Shape, other: Shape) -> Check:
    message = f"conforms to {other.node}, as it must not"
    return each_node(shape, "Not", lambda graph, node: not other.accepts(graph, node), message)


def and_(shape: Shape, others: Sequence[Shape]) -> Check:
    message = f"does not conform to all of {_names(others)}"
    return each_node(shape, "And", lambda graph, node: all(one.accepts(graph, node) for one in others), message)


def or_(shape: Shape, others: Sequence[Shape]) -> Check:
    message = f"conforms to none of {_names(others)}"
    return each_node(shape, "Or", lambda graph, node: any(one.accepts(graph, node) for one in others), message)


def xone(shape: Shape, others: Sequence[Shape]) -> Check:
    message = f"does not conform to exactly one of {_names(others)}"
    return each_node(shape, "Xone", lambda graph, node: sum(one.accepts(graph, node) for one in others) == 1, message)


def _names(shapes: Sequence[Shape]) -> str:
    return ", ".join(shape.node for shape in shapes)


def node(shape: Shape, other: Shape) -> Check:
    return each_node(shape, "Node", other.accepts, f"does not conform to {other.node}")


def property_(shape: Shape, other: Shape) -> Check:
    """The results are those of the property shape."""

    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        for value in values:
            if other.size > 1:
                results.extend(other.found(graph, value))
            else:  # which leads no further, and costs no more than to remember what it finds
                other.validate(graph, value, results)

    return check


def qualified(shape: Shape, other: Shape, siblings: Sequence[Shape], least: int | None, most: int | None) -> Check:
    """sh:qualifiedValueShape; a value that conforms to one of the siblings does not count."""

    def counts(graph: Graph, value: str) -> bool:
        return other.accepts(graph, value) and not any(one.accepts(graph, value) for one in siblings)

    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        count = sum(map(partial(counts, graph), values))
        said = f"has {count} values that conform to {other.node}"
        if least is not None and count < least:
            results.append(Result(shape, "QualifiedMinCount", focus, None, f"{said}, at least {least} expected"))
        if most is not None and count > most:
            results.append(Result(shape, "QualifiedMaxCount", focus, None, f"{said}, at most {most} allowed"))

    return check


# Other (4.8)


def closed(shape: Shape, allowed: Collection[str]) -> Check:
    """sh:closed: the property is what is wrong, so the result has it as its path."""

    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        for value in values:
            for predicate, objects in graph.forward.get(value, {}).items():
                if predicate not in allowed:
                    path, message = Predicate(predicate), "is the value of a property that is not allowed"
                    for one in objects:
                        results.append(Result(shape, "Closed", focus, one, message, path))

    return check


def has_value(shape: Shape, term: str) -> Check:
    def check(graph: Graph, focus: str, values: Collection[str], results: Results) -> None:
        if term not in values:
            results.append(Result(shape, "HasValue", focus, None, f"has not the value {term}"))

    return check


def in_(shape: Shape, members: Collection[str]) -> Check:
    return each_value(shape, "In", frozenset(members).__contains__, f"is none of {', '.join(members)}")
