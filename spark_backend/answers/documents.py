"""QF, the query form: a query's answers as complete documents, serialised once (RSP-QL Definition 24).

docs/http.md, "Events": SPARQL 1.1 Query Results JSON with the member ``evaluation``, or N-Triples.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

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

    ``compared``: the instant of the answer that this one was compared with; its own where there was none before it.
    ``bounds`` is needed for count windows and sessions; those of all others are theirs by definition. ``new_matches``:
    the answers are what ISTREAM gives of them already.
    """

    query: ContinuousQuery
    variables: tuple[str, ...]
    previous: Answer | None = None
    bounds: WindowBounds | None = None
    new_matches: bool = False
    compared: Instant | None = None

    @property
    def needs_previous(self) -> bool:
        """Whether an answer depends on the one before."""
        return self.query.operator is not R2S.RSTREAM and not self.new_matches

    def write(self, answer: Answer) -> tuple[bytes, int]:
        """The document of an answer, and how many solutions (triples for CONSTRUCT and DESCRIBE) are in it."""
        chosen, places = self._streamed(answer)
        if self.query.form in (Form.CONSTRUCT, Form.DESCRIBE):
            # The graph is a set of triples; a solution of DESCRIBE is a resource with its description.
            triples = chosen.triples if places is None else [chosen.triples[place] for place in places]
            lines = dict.fromkeys(line for some in triples for line in some.split("\n") if line)
            return "".join(f"{line}\n" for line in lines).encode(), len(lines)
        count = chosen.count if places is None else len(places)
        evaluation = self._evaluation(answer.instant)
        if self.query.form is Form.ASK:
            truth = b"true" if count else b"false"
            return b'{"head":{},"boolean":%b,"evaluation":%b}' % (truth, evaluation), int(bool(count))
        bindings = chosen.bindings
        if places is not None:
            solutions = chosen.solutions
            bindings = b"\n".join(solutions[place] for place in places)
        # Before the results: behind them Oxigraph's parser takes no member that it does not know.
        parts = self._head, evaluation, b',"results":{"bindings":[', bindings.replace(b"\n", b","), b"]}}"
        return b"".join(parts), count

    @cached_property
    def _head(self) -> bytes:
        names = json.dumps(self.variables, ensure_ascii=False, separators=(",", ":"))
        return f'{{"head":{{"vars":{names}}},"evaluation":'.encode()

    def _streamed(self, answer: Answer) -> tuple[Answer, Sequence[int] | None]:
        """What the operator gives out: some of the solutions of an answer, by their places; None for all of them."""
        if not self.needs_previous:
            return answer, None
        before, self.previous = self.previous or Answer(answer.instant), answer
        self.compared = before.instant
        places, of_previous = relation_to_stream(self.query.operator, answer.told_apart, before.told_apart)
        return before if of_previous else answer, places

    def _evaluation(self, instant: Instant) -> bytes:
        bounds = tuple(self._bounds(place, instant) for place in range(len(self._window_names)))
        return _evaluation_member(instant, self.query.operator, self._window_names, bounds)

    @cached_property
    def _window_names(self) -> tuple[str, ...]:
        names = []
        taken = {member.graph for member in self.query.windows if member.graph is not None}
        for member in self.query.windows:
            name = member.graph
            if name is None:
                name = member.stream
                while name in taken:  # several windows over one stream
                    name += "#"
                taken.add(name)
            names.append(name)
        return tuple(names)

    def _bounds(self, place: int, instant: Instant) -> tuple[Instant, Instant]:
        window = self.query.windows[place].window
        if isinstance(window, CountWindow | SessionWindow):
            if self.bounds is None:
                raise ValueError("the bounds of a count window or session come from its stream's timeline")
            return self.bounds(place, instant)
        return content_bounds(window, instant)


@lru_cache(maxsize=1024)  # many queries have the same windows, and are evaluated at the same instants
def _evaluation_member(
    instant: Instant, operator: R2S, names: tuple[str, ...], bounds: tuple[tuple[Instant, Instant], ...]
) -> bytes:
    """The member ``evaluation`` of a document, ``bounds`` being those of the windows of these names."""
    windows = {name: list(map(instant_text, some)) for name, some in zip(names, bounds, strict=True)}
    member = {"time": instant_text(instant), "operator": operator.value, "windows": windows}
    return json.dumps(member, ensure_ascii=False, separators=(",", ":")).encode()


def instant_text(instant: Instant) -> str:
    """The ``xsd:dateTime`` of an instant of an evaluation; of one before the year 1 its milliseconds since 1970."""
    if instant == BEFORE_ALL:
        instant = FIRST_INSTANT
    try:
        return format_instant(instant)
    except ValueError:  # before the year 1 there is no xsd:dateTime that everyone reads
        return str(instant)
