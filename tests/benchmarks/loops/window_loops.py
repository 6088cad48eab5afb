"""The loops that a Python user would write for windows that tumble or slide, over messages that arrive as text."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import pyoxigraph
import sparq

from tests.benchmarks.loops.observations import Question, Recording

Loop = Callable[[Recording, Sequence[Question]], list[bytes]]
"""Questions that differ in a constant, to answers (SPARQL JSON): those of all questions at the first instant first."""


def sparq_store_a_window(data: Recording, questions: Sequence[Question]) -> list[bytes]:
    """Its graphs are made from text. One holds a window for all of the questions."""
    texts = [question.over_graph() for question in questions]
    answers = []
    for instant in questions[0].instants(len(data.seconds)):
        window = "".join(data.text(second) for second in questions[0].window(instant))
        graph = sparq.Graph.load(window, "ntriples")
        answers += [graph.query_json(text).encode() for text in texts]
    return answers


def pyoxigraph_store_a_window(data: Recording, questions: Sequence[Question]) -> list[bytes]:
    texts = [question.over_graph() for question in questions]
    answers = []
    for instant in questions[0].instants(len(data.seconds)):
        window = "".join(data.text(second) for second in questions[0].window(instant))
        store = pyoxigraph.Store()
        store.bulk_load(window.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
        answers += [_answer(store, text) for text in texts]
    return answers


def pyoxigraph_adds_and_removes(data: Recording, questions: Sequence[Question]) -> list[bytes]:
    """One store: what came since the instant before is added, what has left the window is removed."""
    texts = [question.over_graph() for question in questions]
    store = pyoxigraph.Store()
    held: deque[list[pyoxigraph.Quad]] = deque()
    answers = []
    seconds = iter(range(len(data.seconds)))
    for instant in questions[0].instants(len(data.seconds)):
        window = questions[0].window(instant)
        for _ in range(questions[0].step_seconds):
            text = data.text(next(seconds)).encode()
            held.append(list(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES)))
            store.extend(held[-1])
        while len(held) > len(window):
            for quad in held.popleft():
                store.remove(quad)
        answers += [_answer(store, text) for text in texts]
    return answers


def _answer(store: pyoxigraph.Store, text: str) -> bytes:
    solutions = store.query(text)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    return solutions.serialize(format=pyoxigraph.QueryResultsFormat.JSON) or b""
