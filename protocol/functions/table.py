"""Functions with IRIs that are not SPARQL's own: what each means, once, for one-shot and continuous queries alike.

``FUNCTIONS`` is the table that engines read: to add a function is to add its row. Here are XPath's mathematics
(XQuery and XPath Functions and Operators 3.1, section 4.8), of which SPARQL 1.1 has none: a standard deviation, say, is
``math:sqrt(AVG(?x * ?x) - AVG(?x) * AVG(?x))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from protocol.functions.aggregates import PAIR, pair
from protocol.terms import Term, TermKind, facets

MATH = "http://www.w3.org/2005/xpath-functions/math#"


@dataclass(frozen=True)
class Function:
    """``call`` takes as many terms as ``arguments`` says, none unbound. What it raises is an expression error."""

    arguments: int
    call: Callable[..., Term]


def _pow(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        odd = math.isfinite(exponent) and math.fmod(exponent, 2) in (1.0, -1.0)
        return math.copysign(math.inf, base) if odd else math.inf
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and math.fmod(exponent, 2) != 0 else math.inf


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda number: -math.inf if number == 0 else function(number)


_MATHEMATICS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "pi": (0, lambda: math.pi),
    "exp": (1, math.exp),
    "exp10": (1, lambda exponent: _pow(10.0, exponent)),
    "log": (1, _logarithm(math.log)),
    "log10": (1, _logarithm(math.log10)),
    "pow": (2, _pow),
    "sqrt": (1, math.sqrt),
    "sin": (1, math.sin),
    "cos": (1, math.cos),
    "tan": (1, math.tan),
    "asin": (1, math.asin),
    "acos": (1, math.acos),
    "atan": (1, math.atan),
    "atan2": (2, math.atan2),
}


def _of_numbers(function: Callable[..., float]) -> Callable[..., Term]:
    """The function of numeric literals, each promoted to an xsd:double, which the result is too."""

    def call(*terms: Term) -> Term:
        numbers = [_double(term) for term in terms]
        try:
            return Literal(function(*numbers))
        except OverflowError:
            return Literal(math.inf)
        except ValueError:  # outside the function's domain
            return Literal(math.nan)

    return call


def _double(term: Term) -> float:
    kind, number = facets(str(term))
    if kind > TermKind.DOUBLE or not isinstance(term, Literal):
        raise TypeError(f"{term} is not a number")
    return float(term.value) if number is None else number


FUNCTIONS: Mapping[str, Function] = {
    f"{MATH}{name}": Function(arguments, _of_numbers(function)) for name, (arguments, function) in _MATHEMATICS.items()
}
"""By IRI."""

CUSTOM_FUNCTIONS: dict[NamedNode, Callable[..., NamedNode | BlankNode | Literal | Triple | None]] = {
    **{NamedNode(iri): function.call for iri, function in FUNCTIONS.items()},
    NamedNode(PAIR): pair,
}
"""The table as Oxigraph takes it (``custom_functions``), and what aggregates of two arguments are made of."""
