"""Idempotency keys of a log's requests: one that is sent again is answered as it was, and appended once.

A key lives in the log, in the frame of its request (``format.keys``), and in the memory of the log's writer: 64
bytes each (docs/http.md, "Sending once").
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from protocol.errors import KeyReused
from protocol.streams import AppendReceipt
from protocol.time import BEFORE_ALL, Instant, Milliseconds
from spark_backend.log.format.keys import KeyedRequest

LONGEST: Milliseconds = 24 * 60 * 60 * 1000
"""A key is known for as long as its stream's retention, and no longer than this."""

_RECENT = 65_536
"""So many are held as they come; more are packed, and looked up by halving."""
_NUMBERS = ("at", "elements", "triples", "watermark")
_PACKED = np.dtype(
    [(name, "<u8") for name in ("first", "second", "body_first", "body_second")] + [(name, "<i8") for name in _NUMBERS]
)


class RequestKey(NamedTuple):
    """A request by digests (16 bytes) of its key and of all else that it says."""

    key: bytes
    body: bytes

    @classmethod
    def of(
        cls, key: str, body: bytes, content_type: str, at: Instant | None, partition: str | None = None
    ) -> RequestKey:
        of = "" if partition is None else f" {partition}"
        said = hashlib.blake2b(f"{content_type}\n{at}{of}\n".encode(), digest_size=16)
        said.update(body)
        return cls(hashlib.blake2b(key.encode(), digest_size=16).digest(), said.digest())


class _Packed(NamedTuple):
    """Requests in the order of their keys, and when the last of them came."""

    rows: np.ndarray[tuple[int], np.dtype[np.void]]
    latest: Instant


class RequestKeys:
    """The keys of one log, for ``lifetime`` (ms by the log's clock). Thread-safe.

    Who writes the log asks, notes what is new, and says whether it was stored; others see what was stored.
    """

    def __init__(self, lifetime: Milliseconds, stored: Iterable[KeyedRequest]) -> None:
        self._lifetime = lifetime
        self._lock = threading.Lock()
        self._recent: dict[bytes, KeyedRequest] = {}
        self._packed: list[_Packed] = []
        self._pending: dict[bytes, KeyedRequest] = {}
        for request in stored:
            self._keep(request)

    def answer(self, wanted: RequestKey, now: Instant, *, pending: bool = False) -> AppendReceipt | None:
        """What the first request with this key was answered; None if there was none.

        ``pending``: or is about to be. Raises KeyReused if that was another request.
        """
        found = self.request(wanted, now, pending=pending)
        if found is None:
            return None
        watermark = None if found.watermark == BEFORE_ALL else found.watermark
        return AppendReceipt(found.elements, found.triples, watermark)

    def request(self, wanted: RequestKey, now: Instant, *, pending: bool = False) -> KeyedRequest | None:
        """The first request with this key, as ``answer``."""
        with self._lock:
            # What is pending is younger: what was stored under the same key before is known no more.
            found = self._pending.get(wanted.key) if pending else None
            found = found or self._recent.get(wanted.key) or self._in_packed(wanted.key)
        if found is None or found.at < now - self._lifetime:
            return None
        if found.body != wanted.body:
            raise KeyReused("this Idempotency-Key came with another request before: send a new one with a new request")
        return found

    def note(self, request: KeyedRequest) -> None:
        """A request that is about to be stored."""
        self._pending[request.key] = request

    def note_stored(self, now: Instant) -> None:
        """What was noted is in the log."""
        with self._lock:
            for request in self._pending.values():
                self._keep(request)
            self._pending.clear()
            oldest = now - self._lifetime
            self._packed = [packed for packed in self._packed if packed.latest >= oldest]

    def lost(self) -> None:
        """What was noted did not get into the log."""
        self._pending.clear()

    def _keep(self, request: KeyedRequest) -> None:
        self._recent[request.key] = request
        if len(self._recent) > _RECENT:
            rows = [(*_halves(one.key), *_halves(one.body), *one[2:]) for one in self._recent.values()]
            latest = max(one.at for one in self._recent.values())
            self._packed.append(_Packed(np.sort(np.array(rows, _PACKED), order="first"), latest))
            self._recent.clear()

    def _in_packed(self, key: bytes) -> KeyedRequest | None:
        first, second = _halves(key)
        for packed in reversed(self._packed):
            begin = int(np.searchsorted(packed.rows["first"], np.uint64(first)))
            for row in packed.rows[begin:]:
                if int(row["first"]) != first:
                    break
                if int(row["second"]) == second:
                    body = b"".join(int(row[name]).to_bytes(8, "little") for name in ("body_first", "body_second"))
                    return KeyedRequest(key, body, *(int(row[name]) for name in _NUMBERS))
        return None


def _halves(digest: bytes) -> tuple[int, int]:
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
