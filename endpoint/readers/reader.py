"""The program of a reader process (``endpoint.processes``).

Answers one question after another from snapshots of the store, which it opens read-only. It is ended from outside, at
any moment, when a query has had its time or nobody waits for the answer any more.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import traceback
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from endpoint.graphs.dataset import one_shot
from endpoint.graphs.processor import OxigraphResult
from endpoint.processes.frames import Connection, Kind, frame, json_frame
from endpoint.processes.relayed_error import problem_frame
from endpoint.readers.exchange import COPIED, Asked, Copy, GraphQuestion, LinesQuestion, QueryQuestion, Release
from endpoint.readers.lines import write_lines
from endpoint.readers.open_snapshot import OpenSnapshot
from endpoint.readers.writer import AnswerWriter
from protocol.entailment.regimes import Regime
from protocol.errors import NotFound, ProtocolError, StorageDamaged, UnsupportedFeature
from protocol.formats.allow_list import AllowList
from protocol.formats.json.ld import json_ld_lacks
from protocol.formats.media_types import GRAPH_OFFERS, SOLUTIONS_OFFERS, RdfSyntax
from protocol.formats.xml.rdf_xml import write_rdf_xml
from protocol.functions.python_functions import callables
from protocol.processes.bounds import bound_memory, bound_processor_time
from protocol.processes.stack import start_with_stack
from protocol.sparql.form import answers_with_a_graph

if TYPE_CHECKING:
    from endpoint.readers.rdflib_functions import RdflibEvaluation

GRACE_SECONDS = 10.0


class Reader:
    """Answers the questions that arrive at the socket until the server closes it."""

    def __init__(
        self,
        connection: socket.socket,
        memory: int | None = None,
        functions: str = "",
        rdflib_functions: str = "",
        regime: Regime = Regime.NONE,
    ) -> None:
        """``memory`` bounds what this process takes for answers, in bytes; all else is as for ``ReaderProcess``."""
        self._functions = functions
        self._regime = regime
        self._rdflib = _rdflib_evaluation(rdflib_functions, regime)
        self._memory = memory
        self._connection = Connection(connection)
        self._snapshot: OpenSnapshot | None = None

    def serve(self) -> None:
        """Raises ConnectionError when the server is gone while an answer is sent."""
        self._send(frame(Kind.READY))
        with contextlib.suppress(EOFError):
            while self._serve_one(Asked.decoded(self._connection.receive())):
                pass

    def _send(self, data: bytes) -> None:
        self._connection.send(data)

    def _serve_one(self, asked: Asked) -> bool:
        """Answer; False if that failed in a way nobody foresaw, which leaves this process in an unknown state."""
        bound_processor_time(asked.seconds + GRACE_SECONDS)
        try:
            self._answer(asked)
        except ProtocolError as error:
            problem = problem_frame(error)
            self._send(frame(problem.kind, problem.content))
        except (KeyboardInterrupt, SystemExit, ConnectionError):
            raise
        except MemoryError:
            # As Oxigraph does where it allocates in vain: by this the server knows what it was.
            os.abort()
        except BaseException as error:  # a panic in Oxigraph is no Exception
            if (damaged := StorageDamaged.of(error)) is not None:
                problem = problem_frame(damaged)
                self._send(frame(problem.kind, problem.content))
                return True
            self._send(frame(Kind.FAILED, traceback.format_exc().encode("utf-8", "backslashreplace")))
            return False
        finally:
            bound_processor_time(0)
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
        elif isinstance(question, LinesQuestion):
            self._answer_lines(self._open(asked.snapshot), question, writer)
        else:
            self._answer_graph(self._open(asked.snapshot), question, writer)
        writer.finish()

    def _open(self, directory: str) -> OpenSnapshot:
        if self._snapshot is None or self._snapshot.directory != directory:
            self._let_go()
            self._snapshot = OpenSnapshot(directory)
            if self._memory is not None:
                # Once, and now: the first to be opened starts Oxigraph's threads, whose stacks are hardly used.
                bound_memory(self._memory)
                self._memory = None
        return self._snapshot

    def _let_go(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.close()

    def _answer_query(self, snapshot: OpenSnapshot, question: QueryQuestion, writer: AnswerWriter) -> None:
        offers: dict[str, Any] = {**GRAPH_OFFERS} if answers_with_a_graph(question.text) else {**SOLUTIONS_OFFERS}
        written_as = offers[question.media_type]
        result = self._result(snapshot, question)
        with closing(result):
            self._send(json_frame(Kind.HEADER, {"media_type": question.media_type}))
            result.write(written_as, writer)

    def _answer_lines(self, snapshot: OpenSnapshot, question: LinesQuestion, writer: AnswerWriter) -> None:
        if self._rdflib is not None and self._rdflib.takes(question.text, question.base):
            # Registered before the application had it: a new one is refused at once.
            raise UnsupportedFeature(
                "functions of rows, and with custom_eval all queries, are evaluated by rdflib, and answered once: "
                "there are no live queries of them"
            )
        write_lines(
            snapshot.on_disk,
            question,
            writer,
            functions=callables(self._functions),
            union=self._union,
            regime=self._regime,
        )

    @property
    def _union(self) -> bool:
        return self._rdflib is not None and self._rdflib.union

    def _result(self, snapshot: OpenSnapshot, question: QueryQuestion) -> OxigraphResult:
        allow_fetch = AllowList.of(question.allow_fetch)
        if self._rdflib is not None and self._rdflib.takes(question.text, question.base):
            return self._rdflib.answer(snapshot.oxigraph, question, allow_fetch)
        return one_shot(
            snapshot.dataset(question.text),
            question.text,
            base=question.base,
            default_graphs=question.default_graphs,
            named_graphs=question.named_graphs,
            allow_fetch=allow_fetch,
            functions=callables(self._functions),
            union=self._union,
            regime=self._regime,
        )

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
        try:
            snapshot.oxigraph.dump(writer, syntax.oxigraph, from_graph=graph)  # type: ignore[arg-type]
        except OSError as error:
            raise json_ld_lacks(error) or error from None


def _rdflib_evaluation(functions: str, regime: Regime) -> RdflibEvaluation | None:
    if not functions:
        return None
    # Few endpoints have any, and what is loaded here is loaded by every reader.
    from endpoint.readers.rdflib_functions import RdflibEvaluation, RdflibFunctions

    return RdflibEvaluation(RdflibFunctions.from_json(functions), regime)


def main(
    connection: socket.socket,
    memory: int | None = None,
    nice: int = 0,
    functions: str = "",
    rdflib_functions: str = "",
    regime: str = Regime.NONE.value,
) -> None:
    """Serve the socket until the server closes it; ``memory`` bounds what its queries take, in bytes.

    ``nice`` is added to what the process is to the system's scheduler. All else is as for ``ReaderProcess``.
    """
    os.nice(nice)

    def work() -> None:
        # The server having gone is the ordinary end.
        with contextlib.suppress(ConnectionError):
            Reader(connection, memory, functions, rdflib_functions, Regime(regime)).serve()

    thread = threading.Thread(target=work, name="reader")
    start_with_stack(thread)
    thread.join()
