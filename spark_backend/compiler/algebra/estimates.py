"""How many solutions a pattern may have: rough, for comparison of one with another."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.language import algebra as a
from spark_backend.compiler.statistics import Statistics

_UNKNOWN = 1000.0
"""Triples of a predicate that nothing is known of."""
_SUBJECTS, _OBJECTS, _PREDICATES = 0.01, 0.05, 0.1
"""The share of triples with one subject, object, predicate, where nothing is known: subjects tell most."""
_PASSES, _REACHED, _SERVED = 1 / 3, 10.0, 100.0
"""The share of solutions that a filter lets pass; the nodes that paths from one node come to; what a service gives."""


def of_triple(triple: a.TriplePattern, bound: frozenset[a.Variable], statistics: Statistics | None) -> float:
    """The triples that match, for each solution that binds some variables already."""
    known = None
    if statistics is not None and isinstance(triple.predicate, a.Constant):
        known = statistics.predicates.get(triple.predicate.text)
    if known is not None:
        assert statistics is not None
        count = _UNKNOWN / _PREDICATES * known.triples / statistics.triples
        shares = 1 / max(known.subjects, 1), 1 / max(known.objects, 1)
    else:
        count = _UNKNOWN * (1.0 if _is_given(triple.predicate, bound) else 1 / _PREDICATES)
        shares = _SUBJECTS, _OBJECTS
    for part, share in zip((triple.subject, triple.object), shares, strict=True):
        if _is_given(part, bound):
            count *= share
    return count


def of_pattern(pattern: a.Pattern, bound: frozenset[a.Variable], statistics: Statistics | None) -> float:
    """The solutions that are compatible with one that binds some variables already."""

    def of(inner: a.Pattern) -> float:
        return of_pattern(inner, bound, statistics)

    match pattern:
        case a.BGP(triples):
            return of_triples(triples, bound, statistics)
        case a.Closure(subject, object_):
            given = _is_given(subject, bound), _is_given(object_, bound)
            return 1.0 if all(given) else _REACHED * (1.0 if any(given) else _UNKNOWN)
        case a.ServiceSolutions():
            return _SERVED
        case a.Values(_, rows):
            return float(len(rows))
        case a.Join(left, right) | a.PathJoin(left, right):
            return of(left) * of_pattern(right, bound | a.in_scope(left), statistics)
        case a.LeftJoin(left, right):
            return of(left) * max(1.0, of_pattern(right, bound | a.in_scope(left), statistics))
        case a.Union(left, right):
            return of(left) + of(right)
        case a.Minus(left):
            return of(left)
        case a.Filter(inner):
            return of(inner) * _PASSES
        case a.Group(_, None):
            return 1.0
        case a.Group(inner, keys):
            return of(inner) if frozenset(keys or ()) <= bound else max(1.0, of(inner) / 10)
        case a.Slice(inner, _, limit):
            return of(inner) if limit is None else min(of(inner), float(limit))
    return of(pattern.pattern)


def of_triples(
    triples: Iterable[a.TriplePattern], bound: frozenset[a.Variable], statistics: Statistics | None
) -> float:
    """The solutions of a basic graph pattern, matched in this order."""
    count = 1.0
    for triple in triples:
        count *= of_triple(triple, bound, statistics)
        bound |= frozenset(triple.variables)
    return count


def _is_given(part: a.Variable | a.Constant | a.Parameter, bound: frozenset[a.Variable]) -> bool:
    return not isinstance(part, a.Variable) or part in bound
