"""Messages are validated, each by itself, before they become elements (docs/shapes.md)."""

from __future__ import annotations

from itertools import accumulate

import pyarrow as pa

from protocol.shapes.graph import Graph
from protocol.shapes.shape import Results
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.shapes.violation import ShapeViolation
from spark_backend.ingest.statements import Statements


def require_conforming(statements: Statements, shapes: ShapesGraph) -> None:
    """Validate each message that says something: the union of its graphs is the data graph.

    Raises ShapeViolation for the first that does not conform, which also tells the others.
    """
    columns = (statements.quads.s, statements.quads.p, statements.quads.o)
    subjects, predicates, objects = (_terms(column) for column in columns)
    wrong: dict[int, Results] = {}
    begin = 0
    for message, end in enumerate(accumulate(statements.counts)):
        if begin < end:
            graph = Graph(subjects[begin:end], predicates[begin:end], objects[begin:end], shapes.hierarchy)
            if results := shapes.validate(graph):
                wrong[message] = results
        begin = end
    if wrong:
        raise _violation(statements, wrong)


def _terms(column: pa.DictionaryArray) -> list[str]:
    distinct = column.dictionary.to_pylist()
    return [distinct[index] for index in column.indices.to_pylist()]


def _violation(statements: Statements, wrong: dict[int, Results]) -> ShapeViolation:
    first = next(iter(wrong))
    error = _error(first + 1, statements.line_of(first), wrong[first])
    error.messages = len(statements.counts)
    line = None if error.line is None else 1
    error.alone = lambda: {message: _error(1, line, results) for message, results in wrong.items()}
    return error


def _error(number: int, line: int | None, results: Results) -> ShapeViolation:
    place = "" if line is None else f" (line {line})"
    return ShapeViolation(f"message {number}{place}: ", results=results, line=line, extra={"message": number})
