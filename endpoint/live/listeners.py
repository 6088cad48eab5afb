"""How many may listen to an application at once: open result streams, and clients that wait for a next answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from protocol.errors import Unavailable


class TooManyListeners(Unavailable):
    """As many listen as the endpoint takes; ``Retry-After`` is in seconds."""

    title = "Too many listeners"
    refusal = "listeners"
    retry_after = 10


class Listeners:
    """Counts those who listen, up to ``maximum``. Belongs to the event loop."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.count = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """A listener, from here to the end of the block. Raises TooManyListeners."""
        if self.count >= self.maximum:
            raise TooManyListeners(
                f"{self.maximum} are listening already, which is as many as this endpoint takes (max_listeners): "
                "try again later"
            )
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
