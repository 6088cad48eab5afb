"""When the pages of a feed are to be read again."""

from __future__ import annotations

from typing import NamedTuple

from endpoint.back_off import BackOff
from protocol.sources import SourceFailed

_WAITED_SECONDS = 30.0
"""For so long what comes behind a page that cannot be read again waits for it."""


class _Failing(NamedTuple):
    back_off: BackOff
    failure: SourceFailed
    since: float


class Schedule:
    """It outlives connections: one that fails has no page asked for any sooner.

    Times are seconds of one clock. What a page had and was not stored, it has not been read for.
    """

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._read: dict[str, float] = {}
        self._found: dict[str, float] = {}
        self._failing: dict[str, _Failing] = {}

    @property
    def failure(self) -> SourceFailed | None:
        """Why a page cannot be read again, while there is one."""
        return next((one.failure for one in self._failing.values()), None)

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

        One that cannot be read is not waited for any longer once that takes much more than a moment.
        """
        failing = self._failing.get(address)
        if failing is not None and self._due[address] > failing.since + _WAITED_SECONDS:
            return False
        read = self._read.get(address)
        return read is None or read < self._found.get(found, read)

    def is_failing(self, address: str) -> bool:
        """Whether the page could not be read when it was tried last."""
        return address in self._failing

    def succeeded(self, address: str) -> None:
        """The page was read."""
        self._failing.pop(address, None)

    def failed(self, address: str, failure: SourceFailed, now: float) -> float:
        """The page could not be read; when it is to be tried again."""
        back_off, _, since = self._failing.get(address, _Failing(BackOff(), failure, now))
        self._failing[address] = _Failing(back_off, failure, since)
        self._due[address] = now + back_off.pause(failure.retry_after, None)
        return self._due[address]
