"""When the pages of a feed are to be read again."""

from __future__ import annotations

from endpoint.back_off import BackOff
from protocol.sources import SourceFailed


class Schedule:
    """It outlives connections: one that fails has no page asked for any sooner.

    Times are seconds of one clock. What a page had and was not stored, it has not been read for.
    """

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._read: dict[str, float] = {}
        self._found: dict[str, float] = {}
        self._failing: dict[str, tuple[BackOff, SourceFailed]] = {}

    @property
    def failure(self) -> SourceFailed | None:
        """Why a page cannot be read again, while there is one."""
        return next((failure for _, failure in self._failing.values()), None)

    def due(self, address: str, now: float) -> float:
        """When the page is to be read: now, if nothing is known of it."""
        return self._due.get(address, now)

    def stored(self, address: str, due: float, now: float) -> None:
        """All that the page had is stored; it is to be read again when it is due."""
        self._due[address], self._read[address] = due, now

    def found(self, address: str, now: float) -> None:
        """Another page leads to this one."""
        self._found.setdefault(address, now)

    def may_have_more(self, address: str, found: str) -> bool:
        """Whether the page was read before the other one was found, so that it may have got more until then.

        One that cannot be read is not waited for.
        """
        read = self._read.get(address)
        return address not in self._failing and (read is None or read < self._found.get(found, read))

    def succeeded(self, address: str) -> None:
        """The page was read."""
        self._failing.pop(address, None)

    def failed(self, address: str, failure: SourceFailed, now: float) -> float:
        """The page could not be read; when it is to be tried again."""
        back_off, _ = self._failing.get(address, (BackOff(), failure))
        self._failing[address] = back_off, failure
        self._due[address] = now + back_off.pause(failure.retry_after, None)
        return self._due[address]
