"""QF, the query form: a query's answers as complete documents, serialised once (RSP-QL Definition 24).

docs/http.md, "Events": SPARQL 1.1 Query Results JSON with the member ``evaluation``, or N-Triples.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.time import BEFORE_ALL, FIRST_INSTANT, Instant, format_instant
from protocol.windows.instances import content_bounds
from protocol.windows.spec import CountWindow, SessionWindow
from spark_backend.answers.answer import Answer
from spark_backend.answers.r2s import relation_to_stream

WindowBounds = Callable[[int, Instant], tuple[Instant, Instant]]
"""(after, upto] of the content that a query's window, by its place in the query, has at an instant."""


@dataclass
class DocumentWriter:
    """Writes one query's answers in order of their instants, remembering the last for ISTREAM and DSTREAM.

    ``bounds`` is needed for count windows and sessions; those of all others are theirs by definition. ``new_matches``:
    the answers are what ISTREAM gives of them already.
    """

    query: ContinuousQuery
    variables: tuple[str, ...]
    previous: Answer | None = None
    bounds: WindowBounds | None = None
    new_matches: bool = False

    @property
    def needs_previous(self) -> bool:
        """Whether an answer depends on the one before."""
        return self.query.operator is not R2S.RSTREAM and not self.new_matches

    def write(self, answer: Answer) -> tuple[bytes, int]:
        """The document of an answer, and how many solutions (triples for CONSTRUCT and DESCRIBE) are in it."""
        before = self.previous or Answer(answer.instant, [], [])
        operator = self.query.operator if self.needs_previous else R2S.RSTREAM
        places, of_previous = relation_to_stream(operator, answer.told_apart, before.told_apart)
        chosen = before if of_previous else answer
        if self.needs_previous:
            self.previous = answer
        if self.query.form in (Form.CONSTRUCT, Form.DESCRIBE):
            # The graph is a set of triples; a solution of DESCRIBE is a resource with its description.
            lines = dict.fromkeys(
                line for place in places for line in chosen.triples[place].split("\n") if line
            )  # fmt: skip
            return "".join(f"{line}\n" for line in lines).encode(), len(lines)
        evaluation = json.dumps(self._evaluation(answer.instant), ensure_ascii=False, separators=(",", ":"))
        if self.query.form is Form.ASK:
            truth = "true" if places else "false"
            return f'{{"head":{{}},"boolean":{truth},"evaluation":{evaluation}}}'.encode(), int(bool(places))
        names = json.dumps(self.variables, ensure_ascii=False, separators=(",", ":"))
        bindings = ",".join(chosen.solutions[place] for place in places)
        document = (
            f'{{"head":{{"vars":{names}}},"results":{{"bindings":[{bindings}]}},"evaluation":{evaluation}}}'
        )  # fmt: skip
        return document.encode(), len(places)

    def _evaluation(self, instant: Instant) -> dict[str, object]:
        windows: dict[str, list[str]] = {}
        taken = {member.graph for member in self.query.windows if member.graph is not None}
        for place, member in enumerate(self.query.windows):
            name = member.graph
            if name is None:
                name = member.stream
                while name in taken:  # several windows over one stream
                    name += "#"
                taken.add(name)
            windows[name] = [_format(bound) for bound in self._bounds(place, instant)]
        return {"time": _format(instant), "operator": self.query.operator.value, "windows": windows}

    def _bounds(self, place: int, instant: Instant) -> tuple[Instant, Instant]:
        window = self.query.windows[place].window
        if isinstance(window, CountWindow | SessionWindow):
            if self.bounds is None:
                raise ValueError("the bounds of a count window or session come from its stream's timeline")
            return self.bounds(place, instant)
        return content_bounds(window, instant)


def _format(instant: Instant) -> str:
    if instant == BEFORE_ALL:
        instant = FIRST_INSTANT
    try:
        return format_instant(instant)
    except ValueError:  # before the year 1 there is no xsd:dateTime that everyone reads
        return str(instant)
