"""Functions as an application defines them, of rdflib's terms and of plain values; processes import them by name."""

from __future__ import annotations

from typing import Any

from rdflib import BNode, Literal, URIRef
from rdflib.term import Identifier

IRI = "http://ex/functions#"


def same(term: Identifier) -> Identifier:
    return term


def described(term: Identifier) -> Literal:
    """What kind of term it is, with all that it has: two terms that differ are described differently."""
    if isinstance(term, Literal):
        return Literal(f"literal {term} {term.language} {term.datatype}")
    return Literal("a blank node" if isinstance(term, BNode) else f"iri {term}")


def picky(term: Identifier, other: Identifier) -> Identifier:
    """Raises for what is no number, and where the sum is odd."""
    total = int(term) + int(other)
    if total % 2:
        raise ValueError(f"{total} is odd")
    return Literal(total)


def page_of(term: Identifier) -> URIRef:
    return URIRef(f"http://ex/pages/{len(str(term))}")


def no_term(term: Identifier) -> Any:
    return [term]


def nothing(term: Identifier) -> None:
    return None


def at_all() -> Literal:
    return Literal("no arguments", lang="en")


def doubled(value: Any) -> Any:
    """Of plain values: a text twice, a number by two; a time is an error."""
    return value * 2


OF_TERMS = {f"{IRI}{one.__name__}": one for one in (same, described, picky, page_of, no_term, nothing, at_all)}
