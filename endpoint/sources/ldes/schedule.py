"""When the pages of a feed are to be read again."""

from __future__ import annotations

from endpoint.back_off import BackOff
from protocol.sources import SourceFailed


class Schedule:
    """Of pages that were read. It outlives connections: one that fails has no page asked for any sooner.

    Times are seconds of one clock. A page whose members may not be stored is not in it.
    """

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._failing: dict[str, tuple[BackOff, SourceFailed]] = {}

    @property
    def failure(self) -> SourceFailed | None:
        """Why a page cannot be read again, while there is one."""
        return next((failure for _, failure in self._failing.values()), None)

    def due(self, address: str, now: float) -> float:
        """When the page is to be read: now, if nothing is known of it."""
        return self._due.get(address, now)

    def stored(self, address: str, due: float) -> None:
        """All that the page had is stored; it is to be read then."""
        self._due[address] = due

    def succeeded(self, address: str) -> None:
        """The page was read."""
        self._failing.pop(address, None)

    def failed(self, address: str, failure: SourceFailed, now: float) -> float:
        """The page could not be read; when it is to be tried again."""
        back_off, _ = self._failing.get(address, (BackOff(), failure))
        self._failing[address] = back_off, failure
        self._due[address] = now + back_off.pause(failure.retry_after, None)
        return self._due[address]
