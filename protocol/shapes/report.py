"""Validation reports (SHACL, section 3.6): as RDF, as JSON, and in words."""

from __future__ import annotations

from itertools import count
from typing import Any

from pyoxigraph import Literal

from protocol.errors import shortened
from protocol.shapes.shape import Result, Results
from protocol.shapes.values import text_of
from protocol.shapes.vocabulary import FALSE, RDF_TYPE, SH, sh
from protocol.terms import rename_blank_nodes

_IN_WORDS = 3


def in_words(results: Results) -> str:
    """The first results, for a person."""
    told = "; ".join(_sentence(result) for result in results.first[:_IN_WORDS])
    more = results.count - _IN_WORDS
    return told if more <= 0 else f"{told}; and {more} more"


def as_json(results: Results) -> dict[str, Any]:
    """The report as a document: IRIs as they are, other terms in N-Triples, paths as SPARQL writes them."""
    return {
        "conforms": False,
        "results": [_result_document(result) for result in results.first],
        **({"more": results.count - len(results.first)} if results.count > len(results.first) else {}),
    }


def as_triples(results: Results, report: str) -> list[tuple[str, str, str]]:
    """The report as RDF; ``report``: the blank node that it is. Blank nodes have labels of their own there."""
    blank = (f"_:path{number}" for number in count())
    triples = [(report, RDF_TYPE, sh("ValidationReport")), (report, sh("conforms"), FALSE)]
    for number, result in enumerate(results.first):
        node = f"_:result{number}"
        triples += [
            (report, sh("result"), node),
            (node, RDF_TYPE, sh("ValidationResult")),
            (node, sh("focusNode"), _labelled(result.focus, "data")),
            (node, sh("resultSeverity"), result.shape.severity),
            (node, sh("sourceConstraintComponent"), _component(result)),
            (node, sh("sourceShape"), _labelled(result.shape.node, "shape")),
            *((node, sh("resultMessage"), message) for message in _messages(result)),
        ]
        if result.value is not None:
            triples.append((node, sh("value"), _labelled(result.value, "data")))
        if result.path is not None:
            triples.append((node, sh("resultPath"), result.path.written(triples, blank)))
    return triples


def _result_document(result: Result) -> dict[str, Any]:
    return {
        "focusNode": _plain(shortened(result.focus)),
        **({} if result.path is None else {"path": _plain(result.path.text)}),
        **({} if result.value is None else {"value": _plain(shortened(result.value))}),
        "message": _message(result),
        "component": _plain(_component(result)),
        "severity": _plain(result.shape.severity),
        "shape": _plain(result.shape.node),
    }


def _sentence(result: Result) -> str:
    value = "" if result.value is None or result.value == result.focus else f" {shortened(result.value)}"
    path = "" if result.path is None else f" {result.path.text}"
    return f"{shortened(result.focus)}{path}{value}: {_message(result)} (sh:{result.component}ConstraintComponent)"


def _message(result: Result) -> str:
    return " ".join(map(text_of, result.shape.messages)) or result.message


def _messages(result: Result) -> tuple[str, ...]:
    return result.shape.messages or (str(Literal(result.message)),)


def _component(result: Result) -> str:
    return f"<{SH}{result.component}ConstraintComponent>"


def _plain(term: str) -> str:
    """An IRI without its brackets, any other term or path as it is."""
    return term[1:-1] if term[0] == "<" and term.find(">") == len(term) - 1 else term


def _labelled(term: str, kind: str) -> str:
    """The term; blank nodes of the data or the shapes, also within triple terms, under labels that no others have."""
    return term if term[0] == '"' else rename_blank_nodes(term, lambda label: f"_:{kind}{label[2:]}")
