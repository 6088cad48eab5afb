"""Messages that do not conform to the shapes of their stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protocol.errors import InvalidMessage
from protocol.shapes.report import as_json, in_words
from protocol.shapes.shape import Results


class ShapeViolation(InvalidMessage):
    """A message with the ``results`` that its validation had; the problem document has them as ``report``.

    ``alone`` gives what would be said of each wrong message by itself, by its number (from 0) among so many
    ``messages`` that were validated together.
    """

    title = "The message does not conform to the stream's shape"

    def __init__(self, detail: str, *, results: Results, **place: Any) -> None:
        super().__init__(f"{detail}{in_words(results)}", **place)
        self.results = results
        self.extra["report"] = as_json(results)
        self.messages = 0
        self.alone: Callable[[], Mapping[int, ShapeViolation]] = dict
