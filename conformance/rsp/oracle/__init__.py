"""RSP-QL as a program that takes its time: whole streams in memory, every instant looked at, Definition by Definition.

It decides what is right where the engine is tested, so it shares no code with ``protocol/windows`` or
``spark_backend``. The algebra at one instant is pyoxigraph's.

- ``elements``: streams with the watermark that each element met (Definition 9; docs/model.md, "Watermarks")
- ``windows``: content and bounds of a window at an instant (Definitions 12 and 13)
- ``instants``: ET from report policies and watermarks (Definition 23)
- ``dataset``: SDS at an instant (Definition 14)
- ``events``: event patterns over occurrences (docs/model.md, "Event patterns")
- ``timestamps``: ``timestamp(?v)`` (docs/language.md, "Time in queries")
- ``r2s``: RStream, IStream, DStream (Definitions 20 to 22)
- ``evaluation``: the answers (Definitions 17 and 24)
- ``reading``, ``window_text``: a query's text; ``player``, ``messages``, ``stream_settings``: a case's requests

Entry point: ``answers(query, streams, graphs, start, horizon) -> {instant: OracleAnswer}``. ``streams`` by the names
that windows use; ``graphs`` a ``Graphs``, or a function from the instant to one; ``start``: evaluations are after it
(None: from the beginning; a window LANDMARK without a time wants ``window.started(start)``); ``horizon``: the first
and the last instant to be looked at, in ms.
"""

from __future__ import annotations

from conformance.rsp.oracle.dataset import Graphs
from conformance.rsp.oracle.elements import Element, OracleStream, Triple
from conformance.rsp.oracle.evaluation import OracleAnswer, OracleQuery, answers
from conformance.rsp.oracle.instants import evaluation_instants
from conformance.rsp.oracle.r2s import Solution
from conformance.rsp.oracle.windows import (
    CHANGE,
    CLOSE,
    NON_EMPTY,
    PERIODIC,
    CountWindow,
    LandmarkWindow,
    NowWindow,
    SessionWindow,
    TimeWindow,
    Window,
)

__all__ = [
    "CHANGE",
    "CLOSE",
    "NON_EMPTY",
    "PERIODIC",
    "CountWindow",
    "Element",
    "Graphs",
    "LandmarkWindow",
    "NowWindow",
    "OracleAnswer",
    "OracleQuery",
    "OracleStream",
    "SessionWindow",
    "Solution",
    "TimeWindow",
    "Triple",
    "Window",
    "answers",
    "evaluation_instants",
]
