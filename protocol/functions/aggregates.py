"""Aggregates with IRIs: what each means, once, for one-shot and continuous queries alike.

They stand where those of SPARQL 1.1 Query do (section 18.5.1). Each is a function of the multiset of its group's terms,
so that the order in which they come changes nothing. Numbers are taken exactly, whatever their datatypes, and a result
is rounded once. For an engine each is an aggregate of one argument: one of two is one of pairs, which the function
``PAIR`` makes, and one of DISTINCT terms has an IRI of its own, as Oxigraph knows neither.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from protocol.numbers import exact_value, quotient_term
from protocol.order import order_text
from protocol.terms import Term, TermKind, facets, parse_term, term_text, unescape

if TYPE_CHECKING:  # of stubs alone
    from pyoxigraph import AggregateFunctionAccumulator

AGGREGATES_NAMESPACE = "urn:x-sparql-streams:aggregate:"
JENA = "http://jena.apache.org/ARQ/function/aggregate#"
"""Jena's namespace, with the names that Jena has."""
PAIR = "urn:x-sparql-streams:pair"
"""The function that makes one literal of two terms."""
_CALLED = "urn:x-sparql-streams:aggregate-of-terms:"
_DISTINCT = "-distinct"
PAIR_DATATYPE = f"{PAIR}-literal"

Terms = Sequence[str]
"""The terms of a group, canonical; where an argument is an error or unbound, so is the aggregate."""


class _NoResult(Exception):
    """The aggregate is an error."""


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate by its name in the table, and how many arguments it takes."""

    name: str
    arguments: int

    def called(self, distinct: bool) -> str:
        """The IRI that engines call it by."""
        return f"{_CALLED}{self.name}{_DISTINCT if distinct else ''}"


def pair(one: Term, other: Term) -> Term:
    """Both terms as one."""
    return Literal(f"{term_text(one)}\n{term_text(other)}", datatype=NamedNode(PAIR_DATATYPE))


def aggregate_term(called: str, terms: Terms | None, errors: int | None) -> str | None:
    """The term that an aggregate (``AggregateFunction.called``) gives, None where it is an error.

    ``terms`` None is no term at all; ``errors`` is how many arguments were errors.
    """
    if errors:
        return None
    name = called.removeprefix(_CALLED)
    distinct = name.endswith(_DISTINCT)
    terms = terms or ()
    try:
        return _FUNCTIONS[name.removesuffix(_DISTINCT)](tuple(dict.fromkeys(terms)) if distinct else terms)
    except _NoResult:
        return None


# --- numbers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Numbers:
    """Numbers of a group; ``exact``: all of them are integers and decimals."""

    values: Sequence[Fraction | float]
    exact: bool

    @property
    def finite(self) -> bool:
        return not any(isinstance(value, float) for value in self.values)


def _numbers(terms: Terms) -> _Numbers:
    """Fractions; infinities and NaNs as they are. Raises _NoResult where there is no number, or another term."""
    if not terms:
        raise _NoResult
    values: list[Fraction | float] = []
    exact = True
    for term in terms:
        kind, number = facets(term)
        if kind > TermKind.DOUBLE:
            raise _NoResult
        exact = exact and kind <= TermKind.DECIMAL
        value = number if number is not None and math.isnan(number) else exact_value(term)
        assert value is not None
        values.append(value)
    return _Numbers(values, exact)


def _double_term(number: Fraction | float) -> str:
    try:
        return str(Literal(float(number)))
    except OverflowError:
        return str(Literal(math.copysign(math.inf, number)))


def _spread(function: Callable[[Sequence[Fraction]], Fraction | float], least: int) -> Callable[[Terms], str]:
    """An xsd:double: the function of at least so many exact numbers."""

    def aggregate(terms: Terms) -> str:
        numbers = _numbers(terms)
        if len(terms) < least:
            raise _NoResult
        if not numbers.finite:
            return _double_term(math.nan)
        try:
            return _double_term(function([Fraction(value) for value in numbers.values]))
        except OverflowError:
            return _double_term(math.inf)

    return aggregate


def _interpolated(numbers: _Numbers, share: Fraction) -> str:
    """What is at a share of the way from the least number to the greatest, linearly between neighbours."""
    if any(isinstance(value, float) and math.isnan(value) for value in numbers.values):
        return _double_term(math.nan)
    ordered = sorted(numbers.values)
    below, between = divmod(share * (len(ordered) - 1), 1)
    value = ordered[int(below)]
    if between:
        above = ordered[int(below) + 1]
        if isinstance(value, Fraction) and isinstance(above, Fraction):
            value += (above - value) * between
        elif value != above:  # one of them is infinite, and both are if they are of different signs
            value = math.nan if isinstance(value, float) and isinstance(above, float) else _infinite(value, above)
    if numbers.exact and isinstance(value, Fraction):
        return quotient_term(value.numerator, value.denominator)
    return _double_term(value)


def _infinite(one: Fraction | float, other: Fraction | float) -> float:
    return one if isinstance(one, float) else float(other)


def _median(terms: Terms) -> str:
    return _interpolated(_numbers(terms), Fraction(1, 2))


def _percentile(pairs: Terms) -> str:
    parted = [_parts(term) for term in pairs]
    numbers = _numbers([one for one, _ in parted])
    percents = set(_numbers([other for _, other in parted]).values)
    if len(percents) != 1:
        raise _NoResult
    (percent,) = percents
    if not (isinstance(percent, Fraction) and 0 <= percent <= 100):
        raise _NoResult
    return _interpolated(numbers, percent / 100)


# --- terms -----------------------------------------------------------------------------------


def _mode(terms: Terms) -> str:
    if not terms:
        raise _NoResult
    counted = Counter(terms)
    most = max(counted.values())
    return min((term for term, times in counted.items() if times == most), key=order_text)


def _by_key(parts: tuple[str, str]) -> tuple[str, str]:
    term, key = parts
    return order_text(key), order_text(term)


def _of_parts(choose: Callable[..., tuple[str, str]]) -> Callable[[Terms], str]:
    """The term of the pair whose key is the least or the greatest; of several, whose term is."""

    def aggregate(pairs: Terms) -> str:
        if not pairs:
            raise _NoResult
        return choose(map(_parts, pairs), key=_by_key)[0]

    return aggregate


def _parts(literal: str) -> tuple[str, str]:
    """The terms that ``pair`` made a literal of."""
    one, other = unescape(literal[1 : literal.rindex('"')]).split("\n")
    return one, other


# --- the table -------------------------------------------------------------------------------

_OF_ONE: Mapping[str, Callable[[Terms], str]] = {
    "median": _median,
    "mode": _mode,
    "stdev": _spread(statistics.stdev, 2),
    "stdev_samp": _spread(statistics.stdev, 2),
    "stdev_pop": _spread(statistics.pstdev, 1),
    "variance": _spread(statistics.variance, 2),
    "var_samp": _spread(statistics.variance, 2),
    "var_pop": _spread(statistics.pvariance, 1),
}
_OF_TWO: Mapping[str, Callable[[Terms], str]] = {
    "percentile": _percentile,
    "first": _of_parts(min),
    "last": _of_parts(max),
}
_FUNCTIONS: Mapping[str, Callable[[Terms], str]] = {**_OF_ONE, **_OF_TWO}

AGGREGATES: Mapping[str, AggregateFunction] = {
    **{f"{AGGREGATES_NAMESPACE}{name}": AggregateFunction(name, 1) for name in _OF_ONE},
    **{f"{AGGREGATES_NAMESPACE}{name}": AggregateFunction(name, 2) for name in _OF_TWO},
    **{f"{JENA}{name}": AggregateFunction(name, 1) for name in _OF_ONE},
}
"""By the IRI that queries call them by."""


class _Accumulator:
    """An aggregate of one group, as Oxigraph calls it: what it raises is an error of the aggregate."""

    def __init__(self, called: str) -> None:
        self._called = called
        self._terms: list[str] = []

    def accumulate(self, element: Term) -> None:
        self._terms.append(term_text(element))

    def finish(self) -> Term | None:
        term = aggregate_term(self._called, self._terms, 0)
        return None if term is None else parse_term(term)


def _accumulator(called: str) -> Callable[[], AggregateFunctionAccumulator]:
    return lambda: _Accumulator(called)


CUSTOM_AGGREGATES: dict[NamedNode, Callable[[], AggregateFunctionAccumulator]] = {
    **{NamedNode(iri): _accumulator(known.called(False)) for iri, known in AGGREGATES.items() if known.arguments == 1},
    **{
        NamedNode(known.called(distinct)): _accumulator(known.called(distinct))
        for known in AGGREGATES.values()
        for distinct in (False, True)
    },
}
"""The table as Oxigraph takes it (``custom_aggregate_functions``): those of one argument by their own IRIs, too."""
