"""What the dialects leave unsaid: step, origin and report of every window (docs/model.md, "Instants and reports";
docs/language.md, "Defaults of a graph pattern").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm

from protocol.grammar.streams.written_windows import (
    WrittenCount,
    WrittenLandmark,
    WrittenNothing,
    WrittenNow,
    WrittenSession,
    WrittenTime,
    WrittenWindow,
)
from protocol.language.algebra import Constant, Graph, Pattern, Variable, nodes
from protocol.time import BEFORE_ALL, Milliseconds
from protocol.windows.spec import (
    DEFAULT_REPORT,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Partition,
    Report,
    SessionWindow,
    Strategy,
    StreamWindow,
    TimeWindow,
    WindowSpec,
    decided_by_content,
)

_GENERATED = "urn:x-sparql-streams:window:"
_CONTINUOUS_STEP: Milliseconds = 1
_ON_CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))


@dataclass(frozen=True)
class Declaration:
    """A window as the query writes it. ``pattern`` tells the graph pattern ``STREAM … {…}`` (CQELS) from a FROM.

    ``in_group``: it is that of a group (Streaming SPARQL). ``offset`` is that of the stream's IRI in the source.
    ``instead``, ``occurrences`` and ``reference`` as in ``StreamWindow``.
    """

    stream: str
    written: WrittenWindow
    graph: str | None
    declared: bool
    pattern: bool
    offset: int
    in_group: bool = False
    instead: bool = False
    reference: str | None = None
    occurrences: bool = False

    def window(self, report: Report | None) -> WindowSpec:
        """The window with every default in place: the step of a time window is its width, and for a graph pattern one
        millisecond; its origin is the epoch less the width. A LANDMARK with a time steps from there.
        """
        match self.written:
            case WrittenTime(width=width, slide=slide, origin=origin, offset=offset) if self.occurrences:
                return TimeWindow(
                    width,
                    _CONTINUOUS_STEP,
                    -width if origin is None else origin,
                    None if report is None else _beating(report, slide),
                    offset,
                )
            case WrittenNothing():
                return LandmarkWindow(BEFORE_ALL, None, None, report)
            case WrittenTime(width=width, slide=slide, origin=origin, offset=offset):
                if slide is None:
                    slide = _CONTINUOUS_STEP if self.pattern else width
                return TimeWindow(width, slide, -width if origin is None else origin, report, offset)
            case WrittenCount(size=size, unit=unit, step=step, origin=origin, partition=partition, where=where):
                if where is not None and partition is None:
                    partition = Partition()
                return CountWindow(size, unit, step or 1, origin, report, partition, where)
            case WrittenNow(origin=origin):
                return NowWindow(origin, report)
            case WrittenLandmark(landmark=landmark, step=step, origin=origin):
                return LandmarkWindow(landmark, step, landmark if origin is None else origin, report)
            case WrittenSession(gap=gap, origin=origin, partition=partition):
                return SessionWindow(gap, origin, report, partition)

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two graph patterns' windows one: the stream, the window, and when it reports."""
        return self.stream, self.occurrences, self.window(None), self.written.report, self.default_report

    @property
    def default_report(self) -> Report:
        """When it reports if no window of the query has a REPORT: at its closes, or on content change.

        The latter are the windows of graph patterns, NOW, LANDMARK without a step, and those with WHERE. A step that is
        written on a count window or a LANDMARK says when it reports, in a graph pattern too: it has no other meaning.
        Nor has it in the window of an event pattern, which holds what is in (t − α, t] at any t.
        """
        match self.written:
            case WrittenNow() | WrittenNothing() | WrittenLandmark(step=None):
                return _ON_CHANGE
            case WrittenTime(slide=int() as step) if self.occurrences:
                return _beating(DEFAULT_REPORT, step)
            case WrittenLandmark() | WrittenCount(step=int()):
                return DEFAULT_REPORT
            case WrittenCount(where=str()):
                return _ON_CHANGE
            case _:
                return _ON_CHANGE if self.pattern else DEFAULT_REPORT


def _beating(report: Report, step: Milliseconds | None) -> Report:
    """The report of a window that slides continuously, PERIODIC where one with this step would close."""
    if step is None or Strategy.ON_WINDOW_CLOSE not in report.strategies:
        return report
    period = step if report.period is None else lcm(step, report.period)
    return Report(report.strategies - {Strategy.ON_WINDOW_CLOSE} | {Strategy.PERIODIC}, period)


def generated_graph(number: int) -> str:
    """The IRI of the graph of the ``number``-th window that a graph pattern or a group makes."""
    return f"{_GENERATED}{number}"


def facts_report(every: Milliseconds | None) -> Report:
    """When a query over facts is evaluated by them: where one begins or ends, or with COMPUTED EVERY by the clock."""
    return _ON_CHANGE if every is None else Report(frozenset({Strategy.PERIODIC}), every)


def reports(
    declarations: Sequence[Declaration], every: Milliseconds | None, *, beside_facts: bool = False
) -> list[Report | None]:
    """The report of each window, None for those that have none written and leave the decision to others.

    Windows that carry REPORT decide, and if none does, all decide. So a default that differs from
    ``DEFAULT_REPORT`` (``Declaration.default_report``) may be given to a window only when nobody wrote REPORT, and
    then the others have to be given theirs, or they would no longer decide. ``COMPUTED EVERY d`` is
    PERIODIC d on every window, in conjunction with what its REPORT says; a PERIODIC written there with
    another period is more than a window can carry (see ``contradicting``). A window in a group (Streaming SPARQL)
    leaves the decision to those of the dataset. ``beside_facts``: the query reads facts as well, which always report.
    """
    if every is not None:
        return [_computed(declaration.written.report, every) for declaration in declarations]
    written = any(declaration.written.report for declaration in declarations)
    defaults = [declaration.default_report for declaration in declarations]
    deciding = [not declaration.in_group for declaration in declarations]
    usual = all(deciding) and all(default == DEFAULT_REPORT for default in defaults)
    if written or (usual and not beside_facts):
        return [declaration.written.report for declaration in declarations]
    return [default if decides else None for default, decides in zip(defaults, deciding, strict=True)]


def contradicting(declarations: Sequence[Declaration], every: Milliseconds | None) -> Declaration | None:
    """The first window whose PERIODIC has another period than ``COMPUTED EVERY``."""
    return next((d for d in declarations if every is not None and _other_period(d.written.report, every)), None)


def undecidable(windows: Sequence[StreamWindow], *, beside_facts: bool) -> tuple[StreamWindow, str] | None:
    """The first window whose part in ET an evaluation cannot tell from that of another one that content decides, and
    what that is; None where there is none.

    A timeline knows when a count passes its step, an evaluation what is in the windows, but not of which of them an
    instant is.
    """
    deciding = [one for one in windows if one.window.report is not None] or list(windows)
    by_content = [one for one in deciding if decided_by_content(one.window)]
    closing = [one for one in by_content if isinstance(one.window, CountWindow) and _closes(one.window)]
    if not closing:
        return None
    others = [one.window for one in by_content if one is not closing[0]]
    if beside_facts:
        return closing[0], "facts"
    if any(isinstance(window, SessionWindow) for window in others):
        return closing[0], "a SESSION with PARTITION BY"
    return (closing[0], "another window with WHERE") if others else None


def _closes(window: CountWindow) -> bool:
    return Strategy.ON_WINDOW_CLOSE in (window.report or DEFAULT_REPORT).strategies


def _other_period(report: Report | None, every: Milliseconds) -> bool:
    return report is not None and report.period is not None and report.period != every


def _computed(report: Report | None, every: Milliseconds) -> Report:
    strategies = frozenset() if report is None else report.strategies
    return Report(strategies | {Strategy.PERIODIC}, every)


def stream_window(
    declaration: Declaration, report: Report | None, place: tuple[int, int], also: str | None
) -> StreamWindow:
    """The window of the model, with every default in place. ``also`` as in ``StreamWindow``.

    What SPARQLStream names is in the default graph, too (RSP-QL, section 5: its dataset merges all named streams): a
    stream, which FROM NAMED STREAM makes the graph of its own name.
    """
    window, graph, declared = declaration.window(report), declaration.graph, declaration.declared
    if declared and isinstance(declaration.written, WrittenTime) and declaration.written.of_now:
        graph, also = None, graph
    return StreamWindow(
        declaration.stream,
        window,
        graph,
        declared,
        *place,
        reference=declaration.reference,
        also=also,
        instead=declaration.instead,
        occurrences=declaration.occurrences,
    )


def graphs_beside(declarations: Sequence[Declaration], pattern: Pattern, named: Iterable[str]) -> list[str | None]:
    """The named graph that each window is beside the default graph, None for none.

    C-SPARQL (sections 2.6 and 5.2): GRAPH <s>, and a GRAPH with a variable, match the window of FROM STREAM <s> too.
    That is so where the query has such a pattern, and no other graph of its dataset (``named``: its FROM NAMED) has
    the name; for a variable, where the dataset names no graph: else the variable stands for those that it names, as
    in the standard. The graphs that patterns and groups make have no names for anybody.
    """
    taken = {*named, *(known.graph for known in declarations if known.declared)}
    names = [one.name for one in nodes(pattern) if isinstance(one, Graph) and not one.windows_only]
    read = {one.text[1:-1] for one in names if isinstance(one, Constant)}
    ranged = not taken and any(isinstance(one, Variable) for one in names)
    return [
        known.stream if known.graph is None and known.stream not in taken and (ranged or known.stream in read) else None
        for known in declarations
    ]
