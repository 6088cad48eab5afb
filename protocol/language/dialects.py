"""What the dialects leave unsaid: step, origin and report of every window (contract sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.language.model import StreamWindow
from protocol.language.window_spec import WrittenWindow
from protocol.time import Milliseconds
from protocol.windows.spec import DEFAULT_REPORT, Report, Strategy, TimeWindow

_GENERATED = "urn:x-sparql-streams:window:"
_CONTINUOUS_STEP: Milliseconds = 1
_ON_CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))


@dataclass(frozen=True)
class Declaration:
    """A window as the query writes it. ``pattern`` tells the graph pattern ``STREAM … {…}`` (CQELS) from a FROM.

    ``offset`` is that of the stream's IRI in the source.
    """

    stream: str
    written: WrittenWindow
    graph: str | None
    declared: bool
    pattern: bool
    offset: int

    @property
    def slide(self) -> Milliseconds:
        """The step written, or the dialect's: the width, and for a graph pattern one millisecond."""
        if self.written.slide is not None:
            return self.written.slide
        return _CONTINUOUS_STEP if self.pattern else self.written.width

    @property
    def origin(self) -> int:
        """The origin written, or the epoch less the width."""
        return -self.written.width if self.written.origin is None else self.written.origin


def generated_graph(number: int) -> str:
    """The IRI of the graph of the ``number``-th window that a graph pattern makes."""
    return f"{_GENERATED}{number}"


def reports(declarations: Sequence[Declaration], every: Milliseconds | None) -> list[Report | None]:
    """The report of each window, None for those that have none written and leave the decision to others.

    Windows that carry REPORT decide, and if none does, all decide. So a default that differs from
    ``DEFAULT_REPORT`` (a graph pattern's) may be given to a window only when nobody wrote REPORT, and
    then the others have to be given theirs, or they would no longer decide. ``COMPUTED EVERY d`` is
    PERIODIC d on every window, in conjunction with what its REPORT says; a PERIODIC written there with
    another period is more than a window can carry (see ``contradicting``).
    """
    if every is not None:
        return [_computed(declaration.written.report, every) for declaration in declarations]
    written = any(declaration.written.report for declaration in declarations)
    if written or not any(declaration.pattern for declaration in declarations):
        return [declaration.written.report for declaration in declarations]
    return [_ON_CHANGE if declaration.pattern else DEFAULT_REPORT for declaration in declarations]


def contradicting(declarations: Sequence[Declaration], every: Milliseconds | None) -> Declaration | None:
    """The first window whose PERIODIC has another period than ``COMPUTED EVERY``."""
    return next((d for d in declarations if every is not None and _other_period(d.written.report, every)), None)


def _other_period(report: Report | None, every: Milliseconds) -> bool:
    return report is not None and report.period is not None and report.period != every


def _computed(report: Report | None, every: Milliseconds) -> Report:
    strategies = frozenset() if report is None else report.strategies
    return Report(strategies | {Strategy.PERIODIC}, every)


def stream_window(declaration: Declaration, report: Report | None, place: tuple[int, int]) -> StreamWindow:
    """The window of the model, with every default in place."""
    window = TimeWindow(declaration.written.width, declaration.slide, declaration.origin, report)
    return StreamWindow(declaration.stream, window, declaration.graph, declaration.declared, *place)
