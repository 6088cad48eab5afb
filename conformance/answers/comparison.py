"""Whether two answers are the same: solution sequences as multisets, graphs as sets, blank nodes by bijection.

Both are collections of *facts*, tuples of terms: a triple is a fact, and so is a row of a table. Two
collections are the same if some bijection between their blank nodes makes one the other. It is looked for
by refinement of colours (a blank node's colour is what all its facts say of it); where colours leave
several nodes alike, by trying each pairing of one of them, refining again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import pyoxigraph as ox

from conformance.answers.literals import number_in_text, value
from conformance.manifest import Term


class Sameness(IntEnum):
    """How much alike two answers are; greater is more."""

    DIFFERENT = 0
    BY_VALUE = 1
    """The same where each literal stands for its value: "01" is "1", both xsd:integer."""
    STRICT = 2
    """The same term by term (RDF 1.1 Concepts section 3.3)."""


Solution = Mapping[str, Term]
Place = str | ox.BlankNode
"""What a fact has at a place: a text that stands for a term, or a blank node, still to be matched."""
Fact = tuple[Place, ...]


@dataclass(frozen=True)
class Solutions:
    """A solution sequence; ``ordered`` if its order matters; ``untyped`` if its literals are texts alone (CSV)."""

    variables: tuple[str, ...]
    rows: tuple[Solution, ...]
    ordered: bool = False
    untyped: bool = False


@dataclass(frozen=True)
class GraphAnswer:
    """An RDF graph: the answer of CONSTRUCT or DESCRIBE, or a graph of a store."""

    triples: frozenset[ox.Triple] = field(default_factory=frozenset)


QueryResult = Solutions | GraphAnswer | bool


def compare(expected: QueryResult, actual: QueryResult, *, lax: bool = False) -> Sameness:
    """How far the two are the same; ``lax``: as REDUCED allows, fewer duplicates than expected will do."""
    if type(expected) is not type(actual):
        return Sameness.DIFFERENT
    if isinstance(expected, bool):
        return Sameness.STRICT if expected is actual else Sameness.DIFFERENT
    for sameness, literal in ((Sameness.STRICT, _exactly), (Sameness.BY_VALUE, _by_value)):
        if isinstance(expected, GraphAnswer) and isinstance(actual, GraphAnswer):
            same = isomorphic(*({_fact(one, literal): 1 for one in side.triples} for side in (expected, actual)))
        else:
            assert isinstance(expected, Solutions)
            assert isinstance(actual, Solutions)
            by_number = literal is _by_value and expected.untyped and actual.untyped
            same = _same_solutions(expected, actual, number_in_text if by_number else literal, lax)
        if same:
            return sameness
    return Sameness.DIFFERENT


def _same_solutions(expected: Solutions, actual: Solutions, literal: Callable[[ox.Literal], str], lax: bool) -> bool:
    if set(expected.variables) != set(actual.variables):
        return False
    names = sorted(expected.variables)
    left, right = (
        Counter(_row(row, names, literal, place if expected.ordered else None) for place, row in enumerate(side.rows))
        for side in (expected, actual)
    )
    if lax:
        # Multiplicities may shrink, not vanish; no test of the suites has blank nodes in what is reduced.
        return left.keys() == right.keys() and all(right[row] <= left[row] for row in right)
    return isomorphic(left, right)


def _row(row: Solution, names: Sequence[str], literal: Callable[[ox.Literal], str], place: int | None) -> Fact:
    """The solution as one fact: its number if order matters, then each variable's term or that it is unbound."""
    places: list[Place] = [] if place is None else [str(place)]
    for name in names:
        term = row.get(name)
        places.extend(["unbound"] if term is None else _places(term, literal))
    return tuple(places)


def _fact(triple: ox.Triple, literal: Callable[[ox.Literal], str]) -> Fact:
    return tuple(_places(triple, literal))


def _places(term: Term, literal: Callable[[ox.Literal], str]) -> list[Place]:
    if isinstance(term, ox.BlankNode):
        return [term]
    if isinstance(term, ox.Literal):
        return [literal(term)]
    if isinstance(term, ox.Triple):
        inner = [part for one in (term.subject, term.predicate, term.object) for part in _places(one, literal)]
        return ["<<(", *inner, ")>>"]
    return [str(term)]


def _exactly(literal: ox.Literal) -> str:
    return str(literal)


def _by_value(literal: ox.Literal) -> str:
    kept = str(literal)[len(str(ox.Literal(literal.value))) :]  # the language tag or datatype, as written
    return f"{value(literal)!r}{kept}"


def isomorphic(left: Mapping[Fact, int], right: Mapping[Fact, int]) -> bool:
    """Whether a bijection between blank nodes makes the one multiset of facts the other."""
    ours, theirs = _nodes(left), _nodes(right)
    if len(ours) != len(theirs) or sum(left.values()) != sum(right.values()):
        return False
    return _match(left, right, dict.fromkeys(ours, 0), dict.fromkeys(theirs, 0))


Colours = dict[ox.BlankNode, int]


def _match(left: Mapping[Fact, int], right: Mapping[Fact, int], ours: Colours, theirs: Colours) -> bool:
    ours, theirs = _refined(left, right, ours, theirs)
    if _coloured(left, ours) != _coloured(right, theirs):
        return False
    alike: defaultdict[int, list[ox.BlankNode]] = defaultdict(list)
    for node, colour in ours.items():
        alike[colour].append(node)
    open_classes = [nodes for nodes in alike.values() if len(nodes) > 1]
    if not open_classes:
        # Every colour is one node on each side, so that equal coloured facts are equal facts.
        return True
    chosen = min(open_classes, key=len)[0]
    colour = ours[chosen]
    fresh = max(ours.values()) + 1
    return any(
        _match(left, right, {**ours, chosen: fresh}, {**theirs, candidate: fresh})
        for candidate, other in theirs.items()
        if other == colour
    )


def _refined(
    left: Mapping[Fact, int], right: Mapping[Fact, int], ours: Colours, theirs: Colours
) -> tuple[Colours, Colours]:
    """Colours on both sides from one palette, refined until no class of the left splits any more."""
    while True:
        described = [_described(facts, colours) for facts, colours in ((left, ours), (right, theirs))]
        palette: dict[object, int] = {}
        ours, theirs, before = (
            {node: palette.setdefault(what, len(palette)) for node, what in described[0].items()},
            {node: palette.setdefault(what, len(palette)) for node, what in described[1].items()},
            len(set(ours.values())),
        )
        if len(set(ours.values())) == before:
            return ours, theirs


def _described(facts: Mapping[Fact, int], colours: Colours) -> dict[ox.BlankNode, object]:
    said: defaultdict[ox.BlankNode, list[object]] = defaultdict(list)
    for fact, count in facts.items():
        painted = tuple(place if isinstance(place, str) else colours[place] for place in fact)
        for node in {place for place in fact if isinstance(place, ox.BlankNode)}:
            said[node].append((painted, tuple(place == node for place in fact), count))
    return {node: (colour, frozenset(Counter(said[node]).items())) for node, colour in colours.items()}


def _coloured(facts: Mapping[Fact, int], colours: Colours) -> Counter[object]:
    painted: Counter[object] = Counter()
    for fact, count in facts.items():
        painted[(tuple(place if isinstance(place, str) else colours[place] for place in fact), count)] += 1
    return painted


def _nodes(facts: Iterable[Fact]) -> list[ox.BlankNode]:
    return list(dict.fromkeys(place for fact in facts for place in fact if isinstance(place, ox.BlankNode)))
