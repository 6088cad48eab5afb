"""What SERVICE in continuous queries asks other endpoints by: SPARQL 1.1 Protocol section 2.1, with limits.

One-shot queries are not asked by it: there Oxigraph asks, in a process that can be ended.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from endpoint.graphs.fetching import Fetching, LoadFailed
from protocol.errors import ServiceFailed, size_text
from protocol.formats.solution_rows import solution_rows

_JSON = "application/sparql-results+json"
_READ_AS_JSON = frozenset({_JSON, "application/json"})
_CACHED_BYTES = 64 * 2**20

_Rows = list[tuple[str | None, ...]]


@dataclass
class RequestCounts:
    """How many requests were made to other endpoints, and how many of these failed."""

    requests: int = 0
    failures: int = 0


@dataclass(frozen=True)
class _Answer:
    """What a request gave, until when (seconds) it may be given again."""

    rows: _Rows
    size: int
    until: float


@dataclass
class ServiceClient:
    """Asks other endpoints by ``fetching``, whose limits hold for all requests of a session together. Thread-safe.

    What a request gave is given again for ``cache_seconds``, to whoever asks the same; a failure is not. With the texts
    of the requests it is ``cached_bytes``, up to 64 MiB. Who asks the same meanwhile waits for it.
    """

    fetching: Fetching
    cache_seconds: float = 0.0
    clock: Callable[[], float] = time.monotonic
    counts: RequestCounts = field(default_factory=RequestCounts)
    cached_bytes: int = 0
    _cache: OrderedDict[tuple[str, str], _Answer] = field(default_factory=OrderedDict)
    _asked: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Condition = field(default_factory=threading.Condition)

    @property
    def limits(self) -> Sequence[str]:
        """What bounds a request, and what is kept of it, for a person."""
        cached = f"is given again for {self.cache_seconds:g} s" if self.cache_seconds else "is not given again"
        seconds, size = f"{self.fetching.seconds:g} s", size_text(self.fetching.maximum_bytes)
        return (
            f"all its requests at an instant: at most {seconds} (--service-timeout) and {size} (--service-size)",
            f"what a request gave {cached} to another evaluation (--service-cache)",
        )

    def permits(self, iri: str) -> bool:
        """Whether the address is on the list of those that may be fetched."""
        return self.fetching.allowed.permits(iri)

    def session(self) -> ServiceSession:
        return ServiceSession(self, self.clock() + self.fetching.seconds, self.fetching.maximum_bytes)

    def cached(self, iri: str, query: str, deadline: float) -> _Rows | None:
        """What the request gave, or is about to give another session; None: it is to be made, and then ``made``.

        Not waited for past the ``deadline`` (seconds).
        """
        with self._lock:
            while True:
                found = self._cache.get((iri, query))
                if found is not None and found.until > self.clock():
                    return found.rows
                left = deadline - self.clock()
                if not self.cache_seconds or (iri, query) not in self._asked or left <= 0:
                    self._asked.add((iri, query))
                    return None
                self._lock.wait(left)

    def made(self, iri: str, query: str, *, failed: bool) -> None:
        """Count a request that has been made; who waits for what it gave goes on."""
        with self._lock:
            self.counts.requests += 1
            self.counts.failures += failed
            self._asked.discard((iri, query))
            self._lock.notify_all()

    def keep(self, iri: str, query: str, rows: _Rows, size: int) -> None:
        """Let what a request gave be given again."""
        if not self.cache_seconds:
            return
        with self._lock:
            now = self.clock()
            if (former := self._cache.pop((iri, query), None)) is not None:
                self.cached_bytes -= former.size
            answer = self._cache[iri, query] = _Answer(rows, size + len(query), now + self.cache_seconds)
            self.cached_bytes += answer.size
            # All are kept for equally long: what is first is the oldest.
            while self._cache:
                oldest = next(iter(self._cache.values()))
                if oldest.until > now and self.cached_bytes <= _CACHED_BYTES:
                    return
                self._cache.popitem(last=False)
                self.cached_bytes -= oldest.size


@dataclass
class ServiceSession:
    """Requests that have until ``deadline`` (seconds) together, and give ``left`` bytes more at most."""

    client: ServiceClient
    deadline: float
    left: int

    def solutions(self, iri: str, query: str, variables: Sequence[str]) -> _Rows:
        """The solutions of a SELECT at an endpoint, as rows of canonical terms. Raises ServiceFailed."""
        known = self.client.cached(iri, query, self.deadline)
        if known is not None:
            return known
        rows = None
        try:
            rows, size = self._asked(iri, query, variables)
            self.left -= size
            self.client.keep(iri, query, rows, size)
        finally:
            self.client.made(iri, query, failed=rows is None)
        return rows

    def _asked(self, iri: str, query: str, variables: Sequence[str]) -> tuple[_Rows, int]:
        limits = self.client.fetching
        seconds = self.deadline - self.client.clock()
        if seconds <= 0:
            raise ServiceFailed(f"its requests took more than {limits.seconds:g} s together (--service-timeout)")
        if self.left <= 0:
            raise ServiceFailed(f"its answers are larger than {size_text(limits.maximum_bytes)} (--service-size)")
        try:
            _, media_type, body = replace(limits, seconds=seconds, maximum_bytes=self.left).document(
                iri, _JSON, {"query": query}
            )
        except LoadFailed as error:
            raise ServiceFailed(error.detail) from error
        except (OSError, ValueError) as error:
            raise ServiceFailed(f"<{iri}> cannot be asked: {error}") from error
        if media_type not in _READ_AS_JSON:
            raise ServiceFailed(f"<{iri}> answers with {media_type or 'no content type'}, not with {_JSON}")
        try:
            return solution_rows(body, variables), len(body)
        except SyntaxError as error:
            raise ServiceFailed(f"what <{iri}> gives is no answer to a SELECT in {_JSON}: {error}") from error
