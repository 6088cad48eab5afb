"""The rows of a plan's statement as answers, whichever engine gave them (docs/http.md, "Events")."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from protocol.language.model import Form
from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.answers.solutions import bindings, descriptions, instantiate
from spark_backend.answers.sums import Row
from spark_backend.compiler.plan import Plan


def answers_of_rows(plans: Sequence[Plan], instants: Sequence[Instant], rows: Sequence[Row]) -> list[list[Answer]]:
    """For each of the plans, which have one shape, its answers in order of the instants.

    ``rows`` are ``(instant, place of the plan, term or None, …)``, those of an answer together and in order.
    """
    if plans[0].form is Form.DESCRIBE:
        return _describe(len(plans), instants, rows)
    # The rows of an answer are neighbours.
    sizes = Counter((row[0], row[1]) for row in rows)
    columns = list(zip(*rows, strict=True))[2:] if rows else []
    names = [json.dumps(variable, ensure_ascii=False) for variable in plans[0].variables]
    solutions = bindings(names, columns[: len(names)], len(rows)) if rows else []
    matches = _matches(columns[len(names) :])
    answers, first = {}, 0
    for (instant, member), size in sizes.items():
        answers[instant, member] = Answer(
            instant,
            solutions[first : first + size],
            _triples(plans[member], instant, rows[first : first + size]),
            matches=matches[first : first + size],
        )
        first += size
    return [
        [answers.get((instant, place)) or Answer(instant, [], []) for instant in instants]
        for place in range(len(plans))
    ]


def _matches(columns: Sequence[Sequence[str | None]]) -> list[str]:
    """What tells apart what each row is a match of (``Plan.matches``); nothing where they are no matches."""
    # No term has a line break.
    return ["\n".join("" if term is None else term for term in row) for row in zip(*columns, strict=True)]


def _describe(plans: int, instants: Sequence[Instant], rows: Sequence[Row]) -> list[list[Answer]]:
    """Answers whose solutions are resources: several rows, a triple each, are one."""
    of: dict[tuple[Instant, int], list[Row]] = {}
    for instant, member, *triple in rows:
        of.setdefault((instant, member), []).append(tuple(triple))
    return [
        [Answer(instant, *descriptions(of.get((instant, place), []))) for instant in instants] for place in range(plans)
    ]


def _triples(plan: Plan, instant: Instant, rows: Sequence[Row]) -> list[str]:
    """What a CONSTRUCT's template makes of each solution."""
    if plan.form is not Form.CONSTRUCT or plan.template is None:
        return []
    width = 2 + len(plan.variables)
    return [
        instantiate(plan.template, plan.variables, row[2:width], query=plan.identity, instant=instant, place=place)
        for place, row in enumerate(rows)
    ]
