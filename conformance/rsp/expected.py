"""What a query answers, evaluation by evaluation: a line of JSON each.

``{"time": 8, "operator": "ISTREAM", "windows": {"http://ex/w": [3, 8]}, "solutions": [{"x": "<http://ex/a>"}]}``:
times in ms, terms in N-Triples; ``boolean`` (ASK) or ``triples`` (CONSTRUCT, a list of N-Triples lines) instead of
``solutions``. The operator is left out where it is RSTREAM, a window where docs/http.md does not say what is shown of
it, and both for CONSTRUCT, whose document has no room for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from conformance.answers.comparison import GraphAnswer, QueryResult, Sameness, Solutions, compare
from conformance.manifest import ManifestError
from protocol.terms import parse_term

Row = Mapping[str, str]
"""A solution: terms in N-Triples by variable."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation. ``answer``: solutions as rows, triples as lines, or a boolean."""

    time: int
    answer: bool | tuple[Row, ...] | tuple[str, ...]
    operator: str = "RSTREAM"
    windows: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_graph(self) -> bool:
        return isinstance(self.answer, tuple) and all(isinstance(one, str) for one in self.answer)

    def write(self, *, graph: bool) -> str:
        """The line. ``graph``: it is a CONSTRUCT's, which an empty answer does not show."""
        document: dict[str, object] = {"time": self.time}
        if not graph:
            document |= {} if self.operator == "RSTREAM" else {"operator": self.operator}
            document |= {"windows": self.windows} if self.windows else {}
        name = "boolean" if isinstance(self.answer, bool) else "triples" if graph else "solutions"
        return json.dumps(document | {name: self.answer}, ensure_ascii=False)


def read_expected(text: str, place: str) -> list[Evaluation]:
    """The evaluations in a file. ManifestError if it is no such file."""
    try:
        return [_evaluation(json.loads(line)) for line in text.splitlines() if line.strip()]
    except (ValueError, KeyError, TypeError) as error:
        raise ManifestError(f"{place}: not a line an evaluation: {error!r}") from None


def _evaluation(document: dict[str, object]) -> Evaluation:
    (name,) = document.keys() & {"solutions", "boolean", "triples"}
    given = document[name]
    assert isinstance(given, bool | list)
    answer: bool | tuple[Row, ...] | tuple[str, ...] = given if isinstance(given, bool) else tuple(given)
    windows = document.get("windows", {})
    assert isinstance(windows, dict)
    bounds = {window: (int(opening), int(closing)) for window, (opening, closing) in windows.items()}
    return Evaluation(int(str(document["time"])), answer, str(document.get("operator", "RSTREAM")), bounds)


def difference(expected: Sequence[Evaluation], actual: Sequence[Evaluation], *, ordered: bool) -> str | None:
    """What is wrong with the actual evaluations; None if nothing is.

    Solutions are compared as multisets (``ordered``: as sequences) up to a renaming of blank nodes; literals by value,
    as nothing says how a number or a time is to be written.
    """
    times = [[one.time for one in side] for side in (expected, actual)]
    if times[0] != times[1]:
        return f"evaluated at {times[1]}, expected {times[0]}"
    for wanted, got in zip(expected, actual, strict=True):
        where = f"at {wanted.time}:"
        if not wanted.is_graph or wanted.answer == ():
            if not got.is_graph and wanted.operator != got.operator:
                return f"{where} the operator is {got.operator}, expected {wanted.operator}"
            for window, bounds in wanted.windows.items():
                if got.windows.get(window) != bounds:
                    return f"{where} the bounds of <{window}> are {got.windows.get(window)}, expected {bounds}"
        if wanted.answer == got.answer:
            continue
        if compare(_answer(wanted, ordered), _answer(got, ordered)) is Sameness.DIFFERENT:
            return f"{where} {_shown(got)}, expected {_shown(wanted)}"
    return None


def _answer(evaluation: Evaluation, ordered: bool) -> QueryResult:
    if isinstance(evaluation.answer, bool):
        return evaluation.answer
    if evaluation.is_graph and evaluation.answer:
        text = "\n".join(str(line) for line in evaluation.answer)
        return GraphAnswer(frozenset(quad.triple for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)))
    rows = [row for row in evaluation.answer if not isinstance(row, str)]
    terms = [{name: parse_term(text) for name, text in row.items()} for row in rows]
    # A variable that is never bound is not seen in the file: every solution has it unbound.
    return Solutions(tuple(sorted({name for row in rows for name in row})), tuple(terms), ordered)


def _shown(evaluation: Evaluation) -> str:
    return json.dumps(evaluation.answer, ensure_ascii=False)[:400]
