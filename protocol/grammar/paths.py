"""Property paths (productions [88] to [97] of SPARQL 1.1 Query section 19.8), by the table of section 18.2.2.4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

from protocol.grammar.cursor import Cursor
from protocol.grammar.terms import TYPE, Terms
from protocol.language.algebra import (
    BGP,
    Call,
    Closure,
    Constant,
    Filter,
    Join,
    PathEnd,
    Pattern,
    TriplePattern,
    Union,
    Variable,
    balanced,
)
from protocol.sparql.tokens import TokenKind


@dataclass(frozen=True)
class Inverse:
    """``^path``"""

    path: Path


@dataclass(frozen=True)
class Sequence:
    """``path / path``"""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Alternative:
    """``path | path``"""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Negated:
    """``!(iri | ^iri)``; None where no IRI of that direction is written."""

    forward: tuple[Constant, ...] | None
    inverse: tuple[Constant, ...] | None


@dataclass(frozen=True)
class Repeated:
    """``path?``, ``path*`` or ``path+``"""

    path: Path
    zero: bool
    many: bool


Path: TypeAlias = Constant | Inverse | Sequence | Alternative | Negated | Repeated


class Paths:
    """Reads paths."""

    def __init__(self, cursor: Cursor, terms: Terms) -> None:
        self._cursor = cursor
        self._terms = terms

    @property
    def at_path(self) -> bool:
        cursor = self._cursor
        return self._terms.at_iri or self._at_a or cursor.at_punctuation("^", "!", "(")

    @property
    def _at_a(self) -> bool:
        return self._cursor.token.kind is TokenKind.WORD and self._cursor.token.text == "a"

    def path(self) -> Path:
        """[88] Path, which is [89] PathAlternative."""
        parts = [self._sequence()]
        while sign := self._cursor.take_punctuation("|"):
            self._cursor.count_operation(sign)
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternative(tuple(parts))

    def _sequence(self) -> Path:
        parts = [self._element()]
        while sign := self._cursor.take_punctuation("/"):
            self._cursor.count_operation(sign)
            parts.append(self._element())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _element(self) -> Path:
        """[92] PathEltOrInverse and [91] PathElt."""
        inverse = self._cursor.take_punctuation("^")
        path = self._primary()
        if sign := self._cursor.take_punctuation("?", "*", "+"):
            path = _repeated(path, zero=sign.text != "+", many=sign.text != "?")
        return Inverse(path) if inverse else path

    def _primary(self) -> Path:
        """[94] PathPrimary."""
        cursor = self._cursor
        if cursor.at_punctuation("("):
            with cursor.nested("(", ")"):
                return self.path()
        if cursor.take_punctuation("!"):
            return self._negated()
        return self._predicate()

    def _predicate(self) -> Constant:
        if self._at_a:
            self._cursor.advance()
            return TYPE
        return self._terms.iri("a property path")

    def _negated(self) -> Negated:
        """[95] PathNegatedPropertySet."""
        cursor = self._cursor
        found: dict[bool, list[Constant]] = {}
        if cursor.at_punctuation("("):
            with cursor.nested("(", ")"):
                while not cursor.at_punctuation(")"):
                    if found:
                        cursor.expect_punctuation("|", "| or ) in a negated property set")
                    self._one_in_set(found)
        else:
            self._one_in_set(found)
        if not found:  # !(): any property
            found[True] = []
        return Negated(*(tuple(found[way]) if way in found else None for way in (True, False)))

    def _one_in_set(self, found: dict[bool, list[Constant]]) -> None:
        forward = self._cursor.take_punctuation("^") is None
        found.setdefault(forward, []).append(self._predicate())


def _repeated(path: Path, *, zero: bool, many: bool) -> Path:
    """``path?``, ``path*`` or ``path+``, without repetitions right inside it that change nothing.

    Being of length zero at a node outside of the graph is not seen in the steps: it must be told of the outermost.
    """
    zero = zero or _is_of_length_zero(path)
    if many:
        return Repeated(_once(path), zero, True)
    if isinstance(path, Repeated):
        return Repeated(path.path, zero, path.many)
    return Repeated(path, zero, False)


def _is_of_length_zero(path: Path) -> bool:
    """Whether the path goes from any term to itself, be it in the graph or not.

    A sequence does not: in its middle is a variable (18.4), of which ``path*`` has no more than the nodes of the graph.
    """
    match path:
        case Repeated(inner, zero):
            return zero or _is_of_length_zero(inner)
        case Alternative(parts):
            return any(map(_is_of_length_zero, parts))
        case Inverse(inner):
            return _is_of_length_zero(inner)
    return False


def _once(path: Path) -> Path:
    """A path that has the same transitive closure, but for length zero."""
    match path:
        case Repeated(inner):
            return _once(inner)
        case Alternative(parts):
            return Alternative(tuple(map(_once, parts)))
        case Inverse(inner):
            return Inverse(_once(inner))
    return path


class Matching:
    """Patterns for paths; ``terms`` gives the variables in between."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def patterns(self, path: Path, subject: PathEnd, object: PathEnd) -> list[Pattern]:
        """Patterns whose join matches the path between both ends."""
        match path:
            case Constant():
                return [BGP((TriplePattern(subject, path, object),))]
            case Inverse(inner):
                return self.patterns(inner, object, subject)
            case Sequence(parts):
                ends = [subject, *(self._terms.fresh() for _ in parts[1:]), object]
                return [
                    pattern
                    for part, (one, other) in zip(parts, pairwise(ends), strict=True)
                    for pattern in self.patterns(part, one, other)
                ]
            case Alternative(parts):
                return [reduce(Union, (joined(self.patterns(part, subject, object)) for part in parts))]
            case Negated():
                return [reduce(Union, self._others(path, subject, object))]
            case Repeated(inner, zero, many):
                source, target = self._terms.fresh(), self._terms.fresh()
                anywhere = zero and isinstance(subject, Variable) and isinstance(object, Variable)
                step = joined(self.patterns(inner, source, target))
                nodes = self._nodes(source) if anywhere else None
                return [Closure(subject, object, step, source, target, zero, many, nodes, path_text(path))]

    def _others(self, path: Negated, subject: PathEnd, object: PathEnd) -> Iterator[Pattern]:
        for predicates, one, other in ((path.forward, subject, object), (path.inverse, object, subject)):
            if predicates is None:
                continue
            predicate = self._terms.fresh()
            pattern: Pattern = BGP((TriplePattern(one, predicate, other),))
            conditions = [Call("!", (Call("SAMETERM", (predicate, excluded)),)) for excluded in predicates]
            if conditions:
                pattern = Filter(pattern, balanced("&&", conditions))
            yield pattern

    def _nodes(self, variable: Variable) -> Pattern:
        """The nodes of the active graph: all subjects and objects (18.1.7), as often as they occur."""
        fresh = self._terms.fresh
        as_subject = TriplePattern(variable, fresh(), fresh())
        as_object = TriplePattern(fresh(), fresh(), variable)
        return Union(BGP((as_subject,)), BGP((as_object,)))


def path_text(path: Path) -> str:
    """The path in SPARQL, every operator of it in brackets."""
    match path:
        case Constant(text):
            return text
        case Inverse(inner):
            return f"(^{path_text(inner)})"
        case Sequence(parts):
            return f"({'/'.join(map(path_text, parts))})"
        case Alternative(parts):
            return f"({'|'.join(map(path_text, parts))})"
        case Repeated(inner, zero, many):
            return f"({path_text(inner)}{'*' if zero and many else '+' if many else '?'})"
        case Negated(forward, inverse):
            found = [one.text for one in forward or ()] + [f"^{one.text}" for one in inverse or ()]
            return f"(!({'|'.join(found)}))"


def joined(patterns: list[Pattern]) -> Pattern:
    """The join; neighbouring basic graph patterns become one."""
    found: list[Pattern] = []
    for pattern in patterns:
        last = found[-1] if found else None
        if isinstance(pattern, BGP) and isinstance(last, BGP):
            found[-1] = BGP((*last.triples, *pattern.triples))
        else:
            found.append(pattern)
    return reduce(Join, found)
