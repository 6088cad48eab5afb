"""The rows of a plan's statement as answers, whichever engine gave them (docs/http.md, "Events")."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from protocol.language.model import Form
from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.answers.solutions import bindings, descriptions, instantiate
from spark_backend.compiler.plan import Plan

Row = tuple[str | None, ...]
"""A solution's terms."""
_Which = tuple[Instant, int]
"""An instant and the place of a plan: which answer it is."""


def answers_of_rows(plans: Sequence[Plan], instants: Sequence[Instant], rows: pa.Table) -> list[list[Answer]]:
    """For each of the plans, which have one shape, its answers in order of the instants.

    ``rows`` are ``instant, place of the plan, term or null, …``, those of an answer together and in order.
    """
    if plans[0].form is Form.DESCRIBE:
        return _describe(len(plans), instants, rows)
    columns = rows.columns[2:]
    names = [json.dumps(variable, ensure_ascii=False) for variable in plans[0].variables]
    lines = bindings(names, columns[: len(names)], rows.num_rows)
    matches = _matches(columns[len(names) :])
    constructed = list(_terms(columns[: len(names)])) if plans[0].form is Form.CONSTRUCT else []
    if plans[0].form is Form.CONSTRUCT and not names:  # of no column there are no rows to be seen
        constructed = [()] * rows.num_rows
    answers = {}
    for which, first, end in _of_answers(rows):
        instant, member = which
        triples = _triples(plans[member], instant, constructed[first:end])
        answers[which] = Answer(instant, _joined(lines, first, end), triples, matches=matches[first:end])
    return [
        [answers.get((instant, place)) or Answer(instant) for instant in instants] for place in range(len(plans))
    ]  # fmt: skip


def _of_answers(rows: pa.Table) -> Iterator[tuple[_Which, int, int]]:
    """Where the rows of each answer begin and end: they are neighbours."""
    if not rows.num_rows:
        return
    instants, members = (rows.column(place).to_numpy() for place in (0, 1))
    changes = (instants[1:] != instants[:-1]) | (members[1:] != members[:-1])
    bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), rows.num_rows]
    for first, end in pairwise(bounds):
        yield (int(instants[first]), int(members[first])), first, end


def _joined(lines: pa.LargeStringArray, first: int, end: int) -> bytes:
    """Some of the lines, which lie one behind the other, without the last one's line break."""
    _, offsets, data = lines.buffers()
    begins = memoryview(offsets).cast("q")
    return bytes(memoryview(data)[begins[first] : begins[end] - 1])


def _matches(columns: Sequence[pa.ChunkedArray]) -> list[str]:
    """What tells apart what each row is a match of (``Plan.matches``); nothing where they are no matches."""
    # No term has a line break.
    return ["\n".join("" if term is None else term for term in row) for row in _terms(columns)]


def _terms(columns: Sequence[pa.ChunkedArray]) -> Iterator[Row]:
    return zip(*(column.to_pylist() for column in columns), strict=True)


def _describe(plans: int, instants: Sequence[Instant], rows: pa.Table) -> list[list[Answer]]:
    """Answers whose solutions are resources: several rows, a triple each, are one."""
    triples = list(_terms(rows.columns[2:]))
    answers = {}
    for which, first, end in _of_answers(rows):
        solutions, lines = descriptions(triples[first:end])
        answers[which] = Answer(which[0], "\n".join(solutions).encode(), lines)
    return [[answers.get((instant, place)) or Answer(instant) for instant in instants] for place in range(plans)]


def _triples(plan: Plan, instant: Instant, rows: Sequence[Row]) -> list[str]:
    """What a CONSTRUCT's template makes of each solution."""
    if plan.template is None:
        return []
    return [
        instantiate(plan.template, plan.variables, row, query=plan.identity, instant=instant, place=place)
        for place, row in enumerate(rows)
    ]
