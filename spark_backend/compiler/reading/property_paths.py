"""Property paths as graph patterns (SPARQL 1.1 Query sections 9 and 18.2.2.4).

What keeps multiplicities (sequence, alternative, inverse, negated property sets) becomes triple patterns, joins and
unions. What is a set (``?``, ``*``, ``+``) becomes a ``Closure`` over the pattern of one step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import rdflib
from rdflib import paths
from rdflib.plugins.sparql.parserutils import CompValue

from protocol.language import algebra as a
from spark_backend.compiler.algebra.operands import conjunction

End = a.Variable | a.Constant
"""Of a path; constants are lifted later (``parameters``)."""


@dataclass(frozen=True)
class Inverse:
    path: PropertyPath


@dataclass(frozen=True)
class Sequence:
    parts: tuple[PropertyPath, ...]


@dataclass(frozen=True)
class Alternative:
    parts: tuple[PropertyPath, ...]


@dataclass(frozen=True)
class Negated:
    """``!(:p | ^:q)``: triples of other predicates, ``inverse`` read from object to subject; None for no such part."""

    forward: tuple[a.Constant, ...] | None
    inverse: tuple[a.Constant, ...] | None


@dataclass(frozen=True)
class Repeated:
    path: PropertyPath
    zero: bool
    many: bool


PropertyPath = a.Constant | Inverse | Sequence | Alternative | Negated | Repeated


def path_of(path: Any) -> PropertyPath:
    """The path that rdflib parsed."""
    match path:
        case rdflib.URIRef():
            return a.Constant(f"<{path}>")
        case paths.InvPath():
            return Inverse(path_of(path.arg))
        case paths.SequencePath():
            return Sequence(tuple(map(path_of, path.args)))
        case paths.AlternativePath():
            return Alternative(tuple(map(path_of, path.args)))
        case paths.MulPath():
            return _repeated(path_of(path.path), zero=path.mod in "?*", many=path.mod in "*+")
        case paths.NegatedPath():
            return _negated(path.args)
    raise AssertionError(f"no property path: {path!r}")


def _negated(parts: list[Any]) -> Negated:
    forward = tuple(a.Constant(f"<{part}>") for part in parts if isinstance(part, rdflib.URIRef))
    inverse = tuple(a.Constant(f"<{part.part}>") for part in parts if isinstance(part, CompValue))
    return Negated(forward or None, inverse or None)


def _repeated(path: PropertyPath, *, zero: bool, many: bool) -> PropertyPath:
    """``path?``, ``path*`` or ``path+``, without repetitions right inside it that change nothing.

    Being of length zero at a node outside of the graph is not seen in the steps: it must be told of the outermost.
    """
    zero = zero or _is_of_length_zero(path)
    if many:
        return Repeated(_once(path), zero, True)
    if isinstance(path, Repeated):
        return Repeated(path.path, zero, path.many)
    return Repeated(path, zero, False)


def _is_of_length_zero(path: PropertyPath) -> bool:
    """Whether the path goes from any term to itself, be it in the graph or not."""
    match path:
        case Repeated(inner, zero):
            return zero or _is_of_length_zero(inner)
        case Alternative(parts):
            return any(map(_is_of_length_zero, parts))
        case Inverse(inner):
            return _is_of_length_zero(inner)
    return False


def _once(path: PropertyPath) -> PropertyPath:
    """A path that has the same transitive closure, but for length zero."""
    match path:
        case Repeated(inner):
            return _once(inner)
        case Alternative(parts):
            return Alternative(tuple(map(_once, parts)))
        case Inverse(inner):
            return Inverse(_once(inner))
    return path


def matched_by(path: PropertyPath, subject: End, object: End) -> list[a.Pattern]:
    """The patterns whose join is ``subject path object``."""
    match path:
        case a.Constant():
            return [a.BGP((a.TriplePattern(subject, path, object),))]
        case Inverse(inner):
            return matched_by(inner, object, subject)
        case Sequence(parts):
            ends = [subject, *(_fresh() for _ in parts[1:]), object]
            return [
                pattern
                for part, one, other in zip(parts, ends, ends[1:], strict=False)
                for pattern in matched_by(part, one, other)
            ]
        case Alternative(parts):
            return [reduce(a.Union, (_joined(matched_by(part, subject, object)) for part in parts))]
        case Negated():
            return [reduce(a.Union, _others(path, subject, object))]
        case Repeated(inner, zero, many):
            source, target = _fresh(), _fresh()
            anywhere = zero and isinstance(subject, a.Variable) and isinstance(object, a.Variable)
            step = _joined(matched_by(inner, source, target))
            return [
                a.Closure(subject, object, step, source, target, zero, many, nodes_as(source) if anywhere else None)
            ]


def _others(path: Negated, subject: End, object: End) -> Iterator[a.Pattern]:
    for predicates, one, other in ((path.forward, subject, object), (path.inverse, object, subject)):
        if predicates is None:
            continue
        predicate = _fresh()
        different = (a.Call("!", (a.Call("SAMETERM", (predicate, excluded)),)) for excluded in predicates)
        triple: a.Pattern = a.BGP((a.TriplePattern(one, predicate, other),))
        yield a.Filter(triple, conjunction(different))


def nodes_as(variable: a.Variable) -> a.Pattern:
    """The nodes of the active graph: all subjects and objects (18.1.7), as often as they occur."""
    as_subject = a.TriplePattern(variable, _fresh(), _fresh())
    as_object = a.TriplePattern(_fresh(), _fresh(), variable)
    return a.Union(a.BGP((as_subject,)), a.BGP((as_object,)))


def _joined(patterns: list[a.Pattern]) -> a.Pattern:
    """The join; neighbouring basic graph patterns become one."""
    joined: list[a.Pattern] = []
    for pattern in patterns:
        last = joined[-1] if joined else None
        if isinstance(pattern, a.BGP) and isinstance(last, a.BGP):
            joined[-1] = a.BGP((*last.triples, *pattern.triples))
        else:
            joined.append(pattern)
    return reduce(a.Join, joined)


def _fresh() -> a.Variable:
    """A variable that nobody can name."""
    return a.Variable(f"_:{rdflib.BNode()}")
