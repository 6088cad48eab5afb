"""The streams of a data directory, without the rest of the backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from protocol.streams import StreamElement
from protocol.time import Instant
from spark_backend.layout import Layout
from spark_backend.log.follower import LogFollower
from spark_backend.streams.catalogue import Catalogue
from spark_backend.streams.streams import Streams


@contextmanager
def opened(root: Path, clock: Callable[[], Instant] = lambda: 0) -> Iterator[Streams]:
    """The streams as they are found there; closed at the end."""
    layout = Layout(root)
    layout.make()
    streams = Streams(Catalogue.open(layout.catalogue), layout, "http://endpoint.example", clock, steady=clock)
    try:
        yield streams
    finally:
        streams.close()


def elements(root: Path, streams: Streams, name: str) -> list[tuple[Instant, str]]:
    """The elements of a stream, with their times."""
    follower = LogFollower(Layout(root).streams / streams.read(name), -1)
    try:
        found: list[tuple[Instant, str]] = []
        while taken := follower.take():
            found += [(one.time, one.data.decode()) for one in taken if isinstance(one, StreamElement)]
        return found
    finally:
        follower.close()
