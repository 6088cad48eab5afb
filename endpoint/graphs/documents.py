"""Documents as they are sent and fetched, read to N-Triples or N-Quads; long ones in a process of their own.

JSON-LD may take any time (``protocol.formats.reading_time``), and Oxigraph's parsers cannot be interrupted. Over its
one socket the process is sent ``QUESTION`` (JSON: the ``syntaxes`` of the documents, their ``base``, the syntax that
they are read ``into``, and how many ``seconds`` of processor time they may take) and ``DATA`` for each document. It
answers with ``LAST`` (what they say), or with ``PROBLEM`` (JSON: a problem document).
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from endpoint.processes.child import ChildProcess
from endpoint.processes.ending import ended_for_memory, said_of_end
from endpoint.processes.frames import Connection, Kind, frame, json_frame
from protocol.errors import InvalidMessage, ProtocolError, Unavailable
from protocol.formats.document_checks import placed_problem
from protocol.formats.media_types import RdfSyntax
from protocol.formats.rdf_documents import read_graph, read_quads
from protocol.formats.reading_time import LONG, allowed_seconds, said_of_excess, take_long
from protocol.processes.bounds import bound_processor_time
from protocol.processes.stack import start_with_stack

_PROGRAM = "endpoint.graphs.documents"
_DOES = "reads the graph"
_STANDSTILL_SECONDS = 600.0
_END_SECONDS = 5.0
_SEND_AGAIN = "nothing was changed, send it again"
_READ_AGAIN = "nothing was stored, and it is read again"


class InvalidGraph(InvalidMessage):
    """A document is not an RDF graph in the syntax its Content-Type names."""

    title = "The graph cannot be read"


class GraphNotRead(ProtocolError):
    """The process that reads a graph ended, for a reason that nobody foresaw."""

    status = 500
    title = "The graph could not be read"


class Document(NamedTuple):
    """What a request sends, one of its parts, or what was found at an address."""

    syntax: RdfSyntax
    content: bytes


def n_triples(documents: Sequence[Document], base: str, allowed: Callable[[int], float] = allowed_seconds) -> bytes:
    """The triples of all documents in N-Triples, with blank nodes of each document's own.

    ``base`` is the graph's own IRI (Graph Store section 4.1); ``allowed``: how many seconds of processor time so many
    bytes may take. Raises InvalidGraph; Unavailable where the process is lost, GraphNotRead where it breaks.
    """
    return _read_beside(documents, base, RdfSyntax.N_TRIPLES, allowed, _SEND_AGAIN)


def n_quads(document: Document, base: str, allowed: Callable[[int], float] = allowed_seconds) -> bytes:
    """As ``n_triples``, of a document that may have named graphs, which a source has found: its quads in N-Quads, with
    its own blank nodes.
    """
    return _read_beside([document], base, RdfSyntax.N_QUADS, allowed, _READ_AGAIN)


def _read_beside(
    documents: Sequence[Document], base: str, into: RdfSyntax, allowed: Callable[[int], float], again: str
) -> bytes:
    """``again``: what has become of it where the process is lost, and what comes next."""
    size = sum(len(document.content) for document in documents)
    if size < LONG and not any(take_long([content], syntax) for syntax, content in documents):
        return _read(documents, base, into)
    ours, theirs = socket.socketpair()
    connection = Connection(ours)
    try:
        with theirs:
            process = ChildProcess(_PROGRAM, "sparql-graph", [theirs])
        return _answer(process, connection, documents, base, into, allowed(size), again)
    except OSError as error:
        raise Unavailable(f"no process could be started to read the graph ({error}): {again}") from error
    finally:
        # By this the process ends, whatever it is doing.
        connection.close()


def _answer(
    process: ChildProcess,
    connection: Connection,
    documents: Sequence[Document],
    base: str,
    into: RdfSyntax,
    seconds: float,
    again: str,
) -> bytes:
    syntaxes = [document.syntax.name for document in documents]
    asked = {"syntaxes": syntaxes, "base": base, "into": into.name, "seconds": seconds}
    try:
        connection.send(json_frame(Kind.QUESTION, asked), _STANDSTILL_SECONDS)
        for document in documents:
            connection.send(frame(Kind.DATA, document.content), _STANDSTILL_SECONDS)
        received = connection.receive(_STANDSTILL_SECONDS)
    except TimeoutError:
        process.kill()
        raise Unavailable(f"the process that {_DOES} stood still: {again}") from None
    except (EOFError, ConnectionError):
        raise _ended(process, seconds, again) from None
    if received.kind is Kind.PROBLEM:
        problem = received.json()
        raise InvalidGraph(problem["detail"], line=problem.get("line"), column=problem.get("column"))
    return received.content


def _ended(process: ChildProcess, seconds: float, again: str) -> ProtocolError:
    said = said_of_end(process, _DOES, "graph", _END_SECONDS)
    if process.exit_code == -signal.SIGPROF:
        return InvalidGraph(f"it {said_of_excess(seconds)}")
    return ended_for_memory(process, _DOES, again, None) or GraphNotRead(said)


def _read(documents: Sequence[Document], base: str, into: RdfSyntax) -> bytes:
    """Raises InvalidGraph."""
    read = read_quads if into is RdfSyntax.N_QUADS else read_graph
    written = []
    for syntax, content in documents:
        try:
            written.append(ox.serialize(read(content, syntax, base), format=into.oxigraph) or b"")
        except SyntaxError as error:
            raise InvalidGraph(placed_problem(error), line=error.lineno, column=error.offset) from None
        except ValueError as error:
            raise InvalidGraph(str(error)) from None
    return b"".join(written)


def _serve(connection: Connection) -> None:
    asked = connection.receive().json()
    documents = [Document(RdfSyntax[syntax], connection.receive().content) for syntax in asked["syntaxes"]]
    bound_processor_time(asked["seconds"])
    try:
        answer = frame(Kind.LAST, _read(documents, asked["base"], RdfSyntax[asked["into"]]))
    except InvalidGraph as error:
        answer = json_frame(Kind.PROBLEM, error.problem())
    bound_processor_time(0)
    connection.send(answer)


def main(connection: socket.socket) -> None:
    """Read the graph that comes by the socket, and answer."""
    thread = threading.Thread(target=_serve, args=(Connection(connection),), name="documents")
    start_with_stack(thread)
    thread.join()
