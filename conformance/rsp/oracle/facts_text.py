"""What a query's text says of facts, as the oracle reads it: definitions, CURRENT and what counts facts.

It reads texts that are written plainly: whole triples, FILTERs in brackets, terms without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from conformance.rsp.oracle.elements import Triple
from conformance.rsp.oracle.facts import Definition, Pattern
from conformance.rsp.oracle.timestamps import FACTS
from conformance.rsp.oracle.window_text import DURATION, duration

ONLY_STREAM = ""
"""Stands for the endpoint's only stream, where none is named."""

_IRI = r"(?:<[^>]*>|[A-Za-z][\w.-]*:[\w./-]*|:[\w./-]*)"
_STREAM = rf"(?:FROM\s+STREAM\s+(?P<%s>{_IRI})\s*)?"
_DEFINITION = re.compile(
    rf"\bCONSTRUCT\s+FACT\s+(?P<name>{_IRI}|[\w-]+)\s*{_STREAM % 'before'}\{{(?P<template>[^{{}}]*)\}}\s*"
    rf"{_STREAM % 'behind'}(?P<outer>\(\s*)?UNION\s*(?=\()",
    re.IGNORECASE,
)
_CURRENT = re.compile(rf"\bCURRENT\s+(?P<name>{_IRI}|[\w-]+)?\s*\{{", re.IGNORECASE)
_COUNTED = re.compile(
    r"\bSELECT\s+(?P<key>\?\w+)\s+AS\s+(?P<as_key>\w+)\s*,\s*(?P<value>\?\w+)\s+AS\s+(?P<as_value>\w+)\s*"
    r"\(\s*AGGREGATE\s+\?\w+\s*,\s*(?P<function>\w+)\s+\?\w+\s+WHERE\s*\(\s*CURRENT\s+(?P<pattern>[^()]*)\)\s*"
    rf"GROUP\s+BY\s+\?\w+\s+EVERY\s+\"?\s*(?P<every>{DURATION})\s*(?:\"\^\^[\w:]+)?\s*\)",
    re.IGNORECASE,
)
_PREFIXED = re.compile(r'(?<![\w<"/])(?:[A-Za-z][\w.-]*)?:\w[\w.-]*')
_FILTER = re.compile(r"\bFILTER\s*(?=\()", re.IGNORECASE)
_TERM = re.compile(r'\?\w+|<[^>]*>|"[^"]*"(?:\^\^\S+|@\w+)?|[\w.-]*:[\w./-]*|-?\d+|a\b')
_XSD_INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

Full = Callable[[str], str]
"""The absolute IRI of an IRI or a prefixed name."""


@dataclass(frozen=True)
class FactsText:
    """A query's text with graphs for its facts.

    ``text`` is "" where there was a definition alone. ``uses``: of each CURRENT its name (None: all facts) and graph.
    ``every``: the period that counted facts ask for.
    """

    text: str
    definitions: tuple[Definition, ...]
    uses: tuple[tuple[str | None, str], ...]
    every: int | None


def read_facts(text: str, full: Full) -> FactsText:
    """What the text says of facts, if it is of any."""
    definitions: list[Definition] = []
    while found := _DEFINITION.search(text):
        since, end = _bracketed(text, found.end())
        till, end = _bracketed(text, end)
        if found["outer"]:
            end = text.index(")", end) + 1
        stream = found["before"] or found["behind"]
        definitions.append(
            Definition(
                _name(found["name"], full),
                ONLY_STREAM if stream is None else full(stream),
                _pattern(since.partition("SINCE")[2], full),
                _pattern(till.partition("TILL")[2], full),
                _triples(found["template"], full),
            )
        )
        text = text[: found.start()] + text[end:]
    every = None
    if counted := _COUNTED.search(text):
        every = duration(counted["every"])
        key, value = counted["key"], counted["value"]
        selected = key if key == f"?{counted['as_key']}" else f"({key} AS ?{counted['as_key']})"
        text = (
            f"{text[: counted.start()]} SELECT {selected} ({counted['function']}({value}) AS ?{counted['as_value']}) "
            f"WHERE {{ CURRENT {{ {counted['pattern']} }} }} GROUP BY {key} {text[counted.end() :]}"
        )
    uses: dict[str | None, str] = {}

    def as_graph(current: re.Match[str]) -> str:
        name = current["name"] and _name(current["name"], full)
        return f"GRAPH <{uses.setdefault(name, f'{FACTS}{len(uses)}')}> {{"

    text = _CURRENT.sub(as_graph, text)
    return FactsText(text, tuple(definitions), tuple(uses.items()), every)


def _name(text: str, full: Full) -> str:
    return full(text) if ":" in text else text


def _pattern(text: str, full: Full) -> Pattern:
    text = text.strip().removeprefix("{").removesuffix("}")
    filters = []
    while found := _FILTER.search(text):
        condition, end = _bracketed(text, found.end())
        filters.append(f"({_PREFIXED.sub(lambda name: f'<{full(name[0])}>', condition)})")
        text = f"{text[: found.start()]} . {text[end:]}"
    return Pattern(_triples(text, full), tuple(filters))


def _triples(text: str, full: Full) -> tuple[Triple, ...]:
    terms = [_term(term, full) for term in _TERM.findall(text)]
    return tuple((s, p, o) for s, p, o in zip(terms[::3], terms[1::3], terms[2::3], strict=True))


def _term(text: str, full: Full) -> str:
    if text[0] in '?"':
        return text
    if text == "a":
        return _TYPE
    return f'"{text}"^^{_XSD_INTEGER}' if text.lstrip("-").isdigit() else f"<{full(text)}>"


def _bracketed(text: str, place: int) -> tuple[str, int]:
    """What is in the brackets that open at or behind a place, and where they end."""
    start = text.index("(", place)
    depth = 0
    for offset in range(start, len(text)):
        depth += (text[offset] == "(") - (text[offset] == ")")
        if not depth:
            return text[start + 1 : offset], offset + 1
    raise ValueError(f"a bracket is not closed: {text[start : start + 40]}")
