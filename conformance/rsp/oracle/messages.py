"""The elements in a request's body: its messages, each with its time and triples
(docs/http.md, "The time of an element").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from conformance.rsp.oracle.elements import Triple
from conformance.rsp.oracle.stream_settings import GENERATED_AT
from conformance.rsp.oracle.window_text import instant

_BREAK = re.compile(r"^#\s*@message.*$", re.MULTILINE)


def elements(
    body: str, content_type: str, at: str | None, path: Sequence[str], scope: str
) -> Iterator[tuple[int, list[Triple]]]:  # fmt: skip
    """Times in ms, and triples in the order they were sent, with blank nodes of the message's own, by ``scope``."""
    media_type, _, parameters = content_type.partition(";")
    syntax = ox.RdfFormat.JSON_LD if "json" in media_type else ox.RdfFormat.from_media_type(media_type)
    assert syntax is not None
    messages = [body]
    if "ndjson" in media_type:
        messages = [line for line in body.splitlines() if line.strip()]
    elif "messages=rdfm" in parameters:
        messages = [part for part in _BREAK.split(body) if part.strip()]
    for number, message in enumerate(messages):
        quads = list(ox.parse(message, format=syntax, rename_blank_nodes=False))
        own = f"{scope}m{number}"
        if at is not None:
            yield instant(at), [_triple(quad, own) for quad in quads]
            continue
        times = {
            quad.subject: instant(quad.object.value)
            for quad in quads
            if quad.predicate.value == GENERATED_AT and isinstance(quad.graph_name, ox.DefaultGraph)
            if isinstance(quad.object, ox.Literal)
        }
        graphs = [name for name in dict.fromkeys(quad.graph_name for quad in quads) if name in times]
        for graph in graphs:
            yield times[graph], [_triple(quad, own) for quad in quads if quad.graph_name == graph]
        if not graphs:
            yield _time(quads, path), [_triple(quad, own) for quad in quads]


def _time(quads: Sequence[ox.Quad], path: Sequence[str]) -> int:
    for predicate in path:
        for quad in quads:
            if quad.predicate.value == predicate and isinstance(quad.object, ox.Literal):
                return instant(quad.object.value)
    raise ValueError("a message has no time")


def _triple(quad: ox.Quad, scope: str) -> Triple:
    s, p, o = (
        f"_:{scope}x{term.value}" if isinstance(term, ox.BlankNode) else str(term)
        for term in (quad.subject, quad.predicate, quad.object)
    )
    return s, p, o
