"""What the server and a reader say to each other (``endpoint.processes.frames``), one question at a time.

The server sends ``QUESTION``; the reader ``READY`` once, and for each question a ``HEADER`` (JSON: the media type), any
number of ``DATA``, and at the end exactly one of ``LAST`` (the last of the data), ``PROBLEM`` (JSON: a problem
document) and ``FAILED`` (text for the log; the reader then ends itself). An answer that is short, or quickly there, is
a ``LAST`` without ``DATA`` before it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from endpoint.processes.frames import Frame, Kind, json_frame


@dataclass(frozen=True)
class QueryQuestion:
    """A one-shot query, answered in a media type that its form has; ``allow_fetch`` are entries of an ``AllowList``."""

    text: str
    media_type: str
    base: str | None = None
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    allow_fetch: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinesQuestion:
    """A query that is asked again and again, answered so that two answers can be compared (``endpoint.readers.lines``).

    ``ordered``: it says in which order its solutions are; ``draws_nodes``: it makes blank nodes. It asks no service.
    """

    text: str
    base: str | None = None
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()
    ordered: bool = False
    draws_nodes: bool = False


@dataclass(frozen=True)
class GraphQuestion:
    """All triples of a graph in a media type of RDF, ``iri`` None the default graph."""

    iri: str | None
    media_type: str


@dataclass(frozen=True)
class Release:
    """Let go of the snapshot. Answered with an empty ``LAST``."""


COPIED = b"copied"


@dataclass(frozen=True)
class Copy:
    """Copy the snapshot into memory. Answered with ``COPIED``, or nothing if it has more quads than ``most_quads``."""

    most_quads: int


Question = QueryQuestion | LinesQuestion | GraphQuestion | Release | Copy
_KINDS: dict[str, type[Question]] = {
    "query": QueryQuestion,
    "lines": LinesQuestion,
    "graph": GraphQuestion,
    "release": Release,
    "copy": Copy,
}


@dataclass(frozen=True)
class Asked:
    """A question with where it is to be answered: the snapshot's directory, and at most so many seconds and bytes."""

    question: Question
    snapshot: str
    seconds: float
    most_bytes: int

    def encoded(self) -> bytes:
        kind = next(name for name, one in _KINDS.items() if isinstance(self.question, one))
        return json_frame(
            Kind.QUESTION,
            {
                "kind": kind,
                "question": asdict(self.question),
                "snapshot": self.snapshot,
                "seconds": self.seconds,
                "bytes": self.most_bytes,
            },
        )

    @classmethod
    def decoded(cls, received: Frame) -> Asked:
        document = received.json()
        values: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in document["question"].items()
        }
        question = _KINDS[document["kind"]](**values)
        return cls(question, document["snapshot"], document["seconds"], document["bytes"])
