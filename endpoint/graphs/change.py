"""A change of the store, as the server hands it to the process that does it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from endpoint.processes.frames import Frame
from protocol.sparql.reach import Place, Reach, reach


@dataclass(frozen=True)
class Change:
    """An update, all of it or nothing; it loads nothing and asks no service.

    ``graph``: whether this named graph was there before is part of the answer; ``required``: if not, nothing is done.
    ``there``: nothing is done either unless it was, or (False) if it was. ``seconds``: its client gives it no more.
    ``within``: it changes nothing but this graph ("" is the default graph), however long its text; None: as that says.
    """

    text: str
    base: str | None = None
    graph: str | None = None
    required: bool = False
    there: bool | None = None
    seconds: float | None = None
    within: str | None = None

    @property
    def reach(self) -> Reach:
        """Where it may change something."""
        return reach(self.text, self.base) if self.within is None else frozenset({Place(self.within, None)})

    def encoded(self) -> bytes:
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def decoded(cls, received: Frame) -> Change:
        return cls(**received.json())
