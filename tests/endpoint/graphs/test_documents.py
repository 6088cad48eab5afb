"""Graphs that are read here, or in a process of their own: the same triples and errors, whatever becomes of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil
import pyoxigraph as ox
import pytest

from endpoint.graphs import documents
from endpoint.graphs.documents import Document, n_quads, n_triples
from endpoint.processes.child import ChildProcess
from protocol.errors import ProtocolError, Unavailable
from protocol.formats.media_types import RdfSyntax
from protocol.formats.reading_time import LONG
from tests.protocol.formats.scoped_contexts import scoped_contexts

BASE = "http://base/graph"
TURTLE = "".join(f'<s{number}> <http://p> "{number}" , [] .\n' for number in range(4_000)).encode()


def triples(read: bytes) -> int:
    return sum(1 for _ in ox.parse(read, format=ox.RdfFormat.N_TRIPLES))


def readers() -> list[psutil.Process]:
    """Processes that read a graph for this one."""
    here = psutil.Process().children(recursive=True)
    return [one for one in here if one.status() != psutil.STATUS_ZOMBIE and one.name() == "sparql-graph"]


def problem(document: Document) -> tuple[int, str, int | None, int | None]:
    with pytest.raises(ProtocolError) as told:
        n_triples([document], BASE)
    return told.value.status, told.value.title, told.value.line, told.value.column


def test_long_documents_say_what_they_say_in_this_process() -> None:
    short = TURTLE[: TURTLE.index(b"\n", 30_000) + 1]
    assert len(short) < LONG < len(TURTLE)
    read = n_triples([Document(RdfSyntax.TURTLE, TURTLE), Document(RdfSyntax.N_TRIPLES, b"_:b <http://p> _:b .")], BASE)
    assert triples(read) == 8_001
    assert b'<http://base/s7> <http://p> "7" .\n' in read
    assert n_triples([Document(RdfSyntax.TURTLE, short)], BASE).count(b"<http://base/s") == short.count(b"\n") * 2


def test_an_error_is_the_same_with_its_place() -> None:
    line = TURTLE.count(b"\n") + 1
    assert problem(Document(RdfSyntax.TURTLE, TURTLE + b" <a> b .")) == (400, "The graph cannot be read", line, 6)
    assert problem(Document(RdfSyntax.TURTLE, b" <a> b .")) == (400, "The graph cannot be read", 1, 6)


def test_named_graphs_are_read_where_they_may_be_however_long_the_document_is() -> None:
    trig = b"<http://g> { _:b <http://p> <s> } _:b <http://p> 1 ."
    for document, count in ((trig, 2), (TURTLE + trig, 8_002)):
        quads = list(ox.parse(n_quads(Document(RdfSyntax.TRIG, document), BASE), format=ox.RdfFormat.N_QUADS))
        assert len(quads) == count
        (named,) = (quad for quad in quads if quad.graph_name == ox.NamedNode("http://g"))
        assert named.object == ox.NamedNode("http://base/s")
        assert [quad.subject for quad in quads if quad.object == ox.Literal(1)] == [named.subject]
        assert problem(Document(RdfSyntax.TRIG, document))[:2] == (400, "The graph cannot be read")


def test_what_takes_too_much_processor_time_is_refused() -> None:
    with pytest.raises(ProtocolError, match="more than 0 s of processor time") as told:
        n_triples([Document(RdfSyntax.JSON_LD, scoped_contexts())], BASE, allowed=lambda size: 0.2)
    assert told.value.status == 400
    assert triples(n_triples([Document(RdfSyntax.TURTLE, TURTLE)], BASE)) == 8_000


@pytest.mark.parametrize(
    ("asked", "again"),
    [
        (lambda document: n_triples([document], BASE), "nothing was changed, send it again"),
        # By a source, which nobody sends anything.
        (lambda document: n_quads(document, BASE), "nothing was stored, and it is read again"),
    ],
)
def test_a_process_that_somebody_ends_is_unavailable_and_none_is_left(
    asked: Callable[[Document], bytes], again: str
) -> None:
    raised: list[ProtocolError] = []

    def ask() -> None:
        try:
            asked(Document(RdfSyntax.JSON_LD, scoped_contexts()))
        except ProtocolError as error:
            raised.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while not (there := readers()):
        time.sleep(0.01)
    os.kill(there[0].pid, signal.SIGKILL)
    asking.join()
    assert [type(error) for error in raised] == [Unavailable]
    assert raised[0].detail.endswith(again)
    assert not readers()


@pytest.mark.parametrize("lines", [4_000, 100_000])
def test_a_process_that_stands_still_is_not_waited_for_also_while_it_is_sent_the_document(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer one has no room in the socket."""

    def stopped(*arguments: Any) -> ChildProcess:
        process = ChildProcess(*arguments)
        os.kill(process.pid, signal.SIGSTOP)
        # What is waited for without end ends, too.
        end = threading.Timer(10, process.kill)
        end.daemon = True
        end.start()
        return process

    monkeypatch.setattr(documents, "ChildProcess", stopped)
    monkeypatch.setattr(documents, "_STANDSTILL_SECONDS", 0.2)
    with pytest.raises(Unavailable, match="stood still: nothing was changed, send it again"):
        n_triples([Document(RdfSyntax.N_TRIPLES, b'<http://s> <http://p> "o" .\n' * lines)], BASE)
