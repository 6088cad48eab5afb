"""An application as users of rdflib-endpoint write them, with one import changed; readers import it by its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rdflib import Graph, Literal, Namespace, URIRef, Variable
from rdflib.plugins.sparql.evaluate import evalBGP
from rdflib.plugins.sparql.evalutils import _eval

from endpoint.rdflib_endpoint import DatasetExt

EX = Namespace("http://example.org/functions/")


@dataclass
class Letter:
    letter: str
    place: int


def dataset() -> DatasetExt:
    """A new dataset with a function of each kind."""
    made = DatasetExt(default_union=True)
    made.extension_function()(shout)
    made.extension_function()(letters)
    made.extension_function(namespace=EX)(each_letter)
    made.type_function()(spelling)
    made.type_function(use_subject=True)(parts_of)
    made.predicate_function(namespace=EX)(shorter)
    made.graph_function()(alphabet)
    return made


def shout(text: str, mark: str = "!") -> str:
    if not text:
        raise ValueError("nothing to shout")
    return text.upper() + mark


def letters(text: str) -> list[Letter]:
    return [Letter(letter, place) for place, letter in enumerate(text)]


def each_letter(text: str) -> Iterator[str]:
    yield from text


def spelling(word: str) -> list[Letter]:
    return letters(word)


def parts_of(iri: URIRef, separator: str = "/") -> list[Letter]:
    return [Letter(part, place) for place, part in enumerate(iri.split(separator))]


def shorter(iri: URIRef) -> URIRef:
    return URIRef(iri[:-1])


def alphabet(text: str) -> Graph:
    graph = Graph()
    for letter in text:
        graph.add((EX.alphabet, EX.has, Literal(letter)))
    return graph


def both_ways(results: list[Any], ctx: Any, part: Any, bindings: Any) -> tuple[Any, ...]:
    """Of rdflib-endpoint's older interface: a row for each order, with the length in another variable."""
    one, other = (str(_eval(argument, bindings.forget(ctx, _except=part.expr._vars))) for argument in part.expr.expr)
    for text in (one + other, other + one):
        length = Variable(f"{part.var}Length")
        results.append(bindings.merge({part.var: Literal(text), length: Literal(len(text))}))
    return results, ctx, part, bindings


def turned(ctx: Any, part: Any) -> Any:
    """A custom evaluation: subject and object of each pattern change places."""
    if part.name != "BGP":
        raise NotImplementedError
    return evalBGP(ctx, [(o, p, s) for s, p, o in part.triples])
