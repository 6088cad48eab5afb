"""The program of a reader process, ``python -m endpoint.readers.reader``; standard input is the socket to the server.

Answers one question after another from snapshots of the store, which it opens read-only. It is ended from outside, at
any moment, when a query has had its time or nobody waits for the answer any more.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import traceback
from contextlib import closing
from typing import Any

import pyoxigraph as ox

from endpoint.graphs.dataset import one_shot
from endpoint.readers.exchange import (
    COPIED,
    Asked,
    Copy,
    FrameDecoder,
    GraphQuestion,
    Kind,
    QueryQuestion,
    Release,
    frame,
    json_frame,
)
from endpoint.readers.open_snapshot import OpenSnapshot
from endpoint.readers.writer import AnswerWriter
from protocol.errors import NotFound, ProtocolError
from protocol.formats.allow_list import AllowList
from protocol.formats.media_types import GRAPH_OFFERS, SOLUTIONS_OFFERS, RdfSyntax
from protocol.formats.rdf_xml import write_rdf_xml
from protocol.sparql.form import answers_with_a_graph
from protocol.stack import start_with_stack

RECEIVED_BYTES = 256 * 1024
GRACE_SECONDS = 10.0


class Reader:
    """Answers the questions that arrive at the socket until the server closes it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._decoder = FrameDecoder()
        self._snapshot: OpenSnapshot | None = None

    def serve(self) -> None:
        """Raises OSError when the server is gone while an answer is sent."""
        self._send(frame(Kind.READY))
        while True:
            received = self._decoder.next()
            if received is None:
                data = self._connection.recv(RECEIVED_BYTES)
                if not data:
                    return
                self._decoder.feed(data)
                continue
            if not self._serve_one(Asked.decoded(received)):
                return

    def _send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def _serve_one(self, asked: Asked) -> bool:
        """Answer; False if that failed in a way nobody foresaw, which leaves this process in an unknown state."""
        _bound_processor_time(asked.seconds + GRACE_SECONDS)
        try:
            self._answer(asked)
        except ProtocolError as error:
            self._send(json_frame(Kind.PROBLEM, {**error.problem(), "refusal": error.refusal}))
        except (KeyboardInterrupt, SystemExit, ConnectionError):
            raise
        except BaseException:  # a panic in Oxigraph is no Exception
            self._send(frame(Kind.FAILED, traceback.format_exc().encode("utf-8", "backslashreplace")))
            return False
        finally:
            _bound_processor_time(0)
        return True

    def _answer(self, asked: Asked) -> None:
        question = asked.question
        writer = AnswerWriter(self._send, asked.most_bytes)
        if isinstance(question, Release):
            self._let_go()
        elif isinstance(question, Copy):
            if self._open(asked.snapshot).copy(question.most_quads):
                writer.write(COPIED)
        elif isinstance(question, QueryQuestion):
            self._answer_query(self._open(asked.snapshot), question, writer)
        else:
            self._answer_graph(self._open(asked.snapshot), question, writer)
        writer.finish()

    def _open(self, directory: str) -> OpenSnapshot:
        if self._snapshot is None or self._snapshot.directory != directory:
            self._let_go()
            self._snapshot = OpenSnapshot(directory)
        return self._snapshot

    def _let_go(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.close()

    def _answer_query(self, snapshot: OpenSnapshot, question: QueryQuestion, writer: AnswerWriter) -> None:
        offers: dict[str, Any] = {**GRAPH_OFFERS} if answers_with_a_graph(question.text) else {**SOLUTIONS_OFFERS}
        written_as = offers[question.media_type]
        result = one_shot(
            snapshot.dataset(question.text),
            question.text,
            base=question.base,
            default_graphs=question.default_graphs,
            named_graphs=question.named_graphs,
            allow_fetch=AllowList.of(question.allow_fetch.split(",")),
        )
        with closing(result):
            self._send(json_frame(Kind.HEADER, {"media_type": question.media_type}))
            result.write(written_as, writer)

    def _answer_graph(self, snapshot: OpenSnapshot, question: GraphQuestion, writer: AnswerWriter) -> None:
        graph = ox.DefaultGraph() if question.iri is None else ox.NamedNode(question.iri)
        if isinstance(graph, ox.NamedNode) and not snapshot.oxigraph.contains_named_graph(graph):
            raise NotFound(f"there is no graph <{question.iri}>")
        syntax = GRAPH_OFFERS[question.media_type]
        self._send(json_frame(Kind.HEADER, {"media_type": question.media_type}))
        if syntax is RdfSyntax.RDF_XML:
            quads = snapshot.oxigraph.quads_for_pattern(None, None, None, graph)
            write_rdf_xml((quad.triple for quad in quads), writer)
            return
        snapshot.oxigraph.dump(writer, syntax.oxigraph, from_graph=graph)  # type: ignore[arg-type]


def _bound_processor_time(seconds: float) -> None:
    """Let the kernel end this process after so much processor time; 0 takes it back.

    The server ends it earlier; this is for a server that was killed while a query runs away here.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)


def end_with_the_server(connection: socket.socket) -> None:
    """Start a thread that ends this process as soon as the other end of the socket is closed."""

    def watch() -> None:
        hangup = select.poll()
        # Only what is reported unasked: that the other end is gone.
        hangup.register(connection, 0)
        hangup.poll()
        os._exit(0)

    threading.Thread(target=watch, name="server-gone", daemon=True).start()


def _first_to_be_killed_for_memory() -> None:
    """Where memory runs out, the kernel shall end the query, not the server (Linux; elsewhere nothing)."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as adjustment:
        adjustment.write("500")


def main() -> None:
    """Serve the socket that is standard input until the server closes it."""
    connection = socket.socket(fileno=os.dup(0))
    _first_to_be_killed_for_memory()
    end_with_the_server(connection)

    def work() -> None:
        # The server having gone is the ordinary end.
        with contextlib.suppress(ConnectionError):
            Reader(connection).serve()

    thread = threading.Thread(target=work, name="reader")
    start_with_stack(thread)
    thread.join()


if __name__ == "__main__":
    main()
