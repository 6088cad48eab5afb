"""A Linked Data Event Stream as a source: its pages are read again as their caching headers say."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from urllib.parse import urlsplit

import httpx

from endpoint.sources.connection import MOST_BYTES, MOST_MESSAGES, Surroundings
from endpoint.sources.ldes.page import Member, Page, read_page
from endpoint.sources.ldes.schedule import Schedule
from endpoint.sources.web import AddressRefused, Opened, open_address
from protocol.formats.media_types import RDF_EXTENSIONS, RDF_TYPES, RdfSyntax
from protocol.formats.negotiation import media_type_of
from protocol.sources import SourceBatch, SourceFailed, SourceMessage
from protocol.time import FIRST_INSTANT, Instant

POLL_SECONDS = 60.0
"""How long a page without caching headers is taken for unchanged."""

_SHORTEST, _LONGEST = 1.0, 3600.0
_SILENCE_SECONDS = 30.0
_MOST_PAGES = 10_000
_MOST_SEEN = 20_000
_MOST_KNOWN = 1_000_000
"""Members of all pages, of which each takes some hundred bytes: beyond that, pages that are over forget theirs."""

_DIGEST = 8
_MOST_FAILURES = 3
"""After so many in a row it is not a page that cannot be had, but all of them."""

_GONE = (httpx.codes.NOT_FOUND, httpx.codes.GONE)
_MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)
_IMMUTABLE = re.compile(r"(?:^|,)\s*immutable\s*(?:,|$)", re.IGNORECASE)
_ACCEPT = (
    b"application/trig, application/n-quads, text/turtle, application/n-triples, application/ld+json;q=0.5, */*;q=0.1"
)


@dataclass(frozen=True)
class PageState:
    """What is known of a page. ``pages``: where it leads. ``begins``: where each of these begins in the order of
    values; empty: all at its very beginning. ``over``: it is not to be read any more. ``partly``: not all of its
    members were taken yet. ``path``: the property that has the times of the feed's members, if it said so.

    ``seen``: digests of the members that were taken, in hexadecimal, one behind the other. ``tag``, ``modified``: what
    its answer was known by, once all of its members were taken.
    """

    pages: list[str] = field(default_factory=list)
    seen: str = ""
    tag: str = ""
    modified: str = ""
    over: bool = False
    partly: bool = False
    path: str = ""
    begins: list[Instant] = field(default_factory=list)

    def encode(self) -> bytes:
        """The state as bytes."""
        return json.dumps({name: value for name, value in asdict(self).items() if value}).encode()

    @classmethod
    def decode(cls, position: bytes) -> PageState:
        """The state that was encoded so."""
        return cls(**json.loads(position))


class LdesConnection:
    """A message is a member of a page. The position is what was taken of each page, and which are over."""

    is_kept = False

    def __init__(self, surroundings: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
        self.notice: str | None = None
        self._surroundings = surroundings
        self._clock = clock
        self._first = surroundings.settings.url.partition("#")[0]
        self._known = {address: PageState.decode(one) for address, one in surroundings.positions.items()}
        self._path = next((state.path for state in self._known.values() if state.path), "")
        """What a page has said that leads to others: these need not say it again."""
        self._due: dict[str, float] = {}
        """When each page that is not over is to be read: seconds of the clock. Those of one time in their order."""
        self._begins: dict[str, Instant] = {}
        """Of pages that do not begin at the very beginning: which comes first."""
        self._led_from: dict[str, dict[str, None]] = {}
        """Which pages lead to each."""
        self._failures = 0
        """In a row."""
        self._schedule: Schedule = surroundings.memory.setdefault("schedule", Schedule())
        self._waiting: deque[SourceBatch] = deque()
        self._taken = {digest for state in self._known.values() for digest in _digests(state.seen)}
        """Members of whatever page: one may be on several, or move from one to another."""
        self._find([self._first])
        for address, state in self._known.items():
            self._find(state.pages, state.begins, address)
        self._find(list(self._known))

    def take(self, seconds: float) -> SourceBatch | None:
        """As ``Connection.take``. A page is read whole before its first members are given."""
        while not self._waiting:
            now = self._clock()
            address = self._next(now)
            if address is None:
                until = min((at for at in self._due.values() if at > now), default=math.inf) - now
                if (failure := self._schedule.failure) is not None:
                    raise SourceFailed(failure.detail, retry_in=until)
                self._surroundings.wait(min(seconds, until))
                return None
            self._look(address)
            if not self._failures:
                break  # else nobody knows yet whether any page can be had
        return self._waiting.popleft() if self._waiting else None

    def stored(self, batch: SourceBatch) -> None:
        """Who serves pages awaits no word, and is not asked again for what it has said."""
        for address in batch.positions:
            self._keep(address)

    def close(self) -> None:
        """Every page has a connection of its own."""

    def forget(self) -> None:
        """Who serves pages knows of nobody."""

    def _look(self, address: str) -> None:
        """Read a page. Raises SourceFailed, but for one that was read before: others are read before that is said."""
        was_read = self._is_read(address)
        try:
            batches = list(self._read(address))
        except SourceFailed as failure:
            self._failures += 1
            if was_read:
                self._due[address] = self._schedule.failed(address, failure, self._clock())
            if not was_read or self._failures > _MOST_FAILURES:
                raise
        else:
            self._failures = 0
            self._schedule.succeeded(address)
            self._waiting.extend(batches)
            if not batches:
                self._keep(address)

    def _keep(self, address: str) -> None:
        """The connection after this one reads the page when this one would."""
        if address in self._due and self._is_read(address):
            self._schedule.stored(address, self._due[address], self._clock())

    def _is_read(self, address: str) -> bool:
        known = self._known.get(address)
        return known is not None and not known.partly

    def _next(self, now: float) -> str | None:
        """The page that is to be read now, if one is."""
        due = [address for address, at in self._due.items() if at <= now]
        if not due:
            return None
        first = self._before(min(due, key=self._turn))
        if self._due[first] <= now or not self._schedule.is_failing(first):
            return first
        # All that was not read yet waits for it.
        return min(filter(self._is_read, due), key=self._turn, default=None)

    def _turn(self, address: str) -> tuple[bool, Instant, float]:
        """What was not read yet goes first: reading the others again each time would take ever longer.

        Of that, what begins first does, wherever it was found: a page may lead to others that come before its siblings.
        """
        is_read = self._is_read(address)
        return is_read, FIRST_INSTANT if is_read else self._begin_of(address), self._due[address]

    def _before(self, address: str) -> str:
        """What is to be read first where a page is next: itself, or what comes right before it, or leads there.

        Those may have got more since they were read, and what the page has would move time on.
        """
        if self._is_read(address):
            return address
        begin = self._begin_of(address)
        earlier = [one for one in self._due if self._is_read(one) and self._begin_of(one) < begin]
        last = max(map(self._begin_of, earlier), default=begin)
        first, passed = address, {address}
        candidates: Iterable[str] = [one for one in earlier if self._begin_of(one) == last]
        while True:
            waiting = (one for one in candidates if one not in passed and one in self._due and self._is_read(one))
            found = next((one for one in waiting if self._schedule.may_have_more(one, address)), None)
            if found is None:
                return first
            passed.add(found)
            first, candidates = found, self._led_from.get(found, ())

    def _begin_of(self, address: str) -> Instant:
        return self._begins.get(address, FIRST_INSTANT)

    def _find(self, addresses: list[str], begins: Sequence[Instant] = (), leading: str = "") -> None:
        for address, begin in zip(addresses, begins, strict=False):
            self._begins[address] = min(begin, self._begins.get(address, begin))
        for address in addresses:
            known = self._known.get(address)
            if address not in self._due and (known is None or not known.over):
                now = self._clock()
                self._due[address] = self._schedule.due(address, now) if self._is_read(address) else now
                self._schedule.found(address, now)
            self._led_from.setdefault(address, {})[leading] = None
        if len(self._due.keys() | self._known.keys()) > _MOST_PAGES:
            raise SourceFailed(f"{self._first} has more than {_MOST_PAGES} pages")

    def _read(self, address: str) -> Iterator[SourceBatch]:
        """What is new on a page."""
        state = self._known.get(address, PageState())
        headers = {b"Accept": _ACCEPT}
        if state.tag:
            headers[b"If-None-Match"] = state.tag.encode()
        elif state.modified:
            headers[b"If-Modified-Since"] = state.modified.encode()
        also = {httpx.codes.NOT_MODIFIED, *(_GONE if address != self._first else ())}
        try:
            opened = open_address(self._surroundings, address, headers, _SILENCE_SECONDS, also)
        except AddressRefused as error:
            if address == self._first:
                raise
            # Nothing is stored: the server may be started with other addresses, and the page lead elsewhere.
            self._due[address] = self._clock() + _LONGEST
            self.notice = f"a page is left out: {error.detail}"
            return
        try:
            told = opened.response.headers
            status = opened.response.status_code
            if status in _GONE:
                self.notice = f"{address} is gone: what it had and was not read is lost"
                yield self._moved(address, self._over(state))
                return
            self._due[address] = self._clock() + _fresh_seconds(told)
            if status == httpx.codes.NOT_MODIFIED:
                return
            body = opened.body(self._surroundings)
            page = read_page(body, self._syntax(opened), opened.address, self._path)
            self._path = page.path or self._path
        finally:
            opened.close()
        yield from self._new(address, state, page, told)

    def _new(self, address: str, state: PageState, page: Page, told: httpx.Headers) -> Iterator[SourceBatch]:
        if page.nameless:
            self.notice = f"{address} has members without an IRI, which cannot be told apart: they are left out"
        fresh = [(member, digest) for member in page.members if (digest := _digest(member)) not in self._taken]
        if len(state.seen) // (2 * _DIGEST) + len(fresh) > _MOST_SEEN:
            raise SourceFailed(f"{address} has more than {_MOST_SEEN} members: no page should")
        # A page of which nothing is said begins where the one does that leads to it.
        begins = [page.values.get(one, self._begin_of(address)) for one in page.pages]
        begins = begins if any(begin != FIRST_INSTANT for begin in begins) else []
        left = deque(fresh)
        while left:
            messages: list[SourceMessage] = []
            size = 0
            while left and len(messages) < MOST_MESSAGES and size < MOST_BYTES:
                member, digest = left.popleft()
                messages.append(SourceMessage(member.quads, RdfSyntax.N_QUADS.value, address, digest.hex().encode()))
                size += len(member.quads)
                self._taken.add(digest)
                state = replace(state, seen=state.seen + digest.hex())
            if left:
                yield self._moved(address, replace(state, partly=True), messages)
            else:
                yield self._moved(address, self._whole(state, page, begins, told), messages)
        # Without new members there may be new pages, or another tag.
        if not fresh and (whole := self._whole(state, page, begins, told)) != state:
            yield self._moved(address, whole)

    def _moved(self, address: str, state: PageState, messages: list[SourceMessage] | None = None) -> SourceBatch:
        self._known[address] = state
        if state.over:
            self._due.pop(address, None)
        self._find(state.pages, state.begins, address)
        return SourceBatch(messages or [], {address: state.encode()})

    def _whole(self, state: PageState, page: Page, begins: list[Instant], told: httpx.Headers) -> PageState:
        """The state of a page all of whose members were taken."""
        whole = replace(
            state,
            pages=page.pages,
            tag=told.get("etag", ""),
            modified=told.get("last-modified", ""),
            partly=False,
            path=page.path,
            begins=begins,
        )
        return self._over(whole) if _IMMUTABLE.search(told.get("cache-control", "")) else whole

    def _over(self, state: PageState) -> PageState:
        """The state of a page that is not to be read any more."""
        seen = state.seen if len(self._taken) <= _MOST_KNOWN else ""
        return PageState(state.pages, seen, over=True, path=state.path, begins=state.begins)

    def _syntax(self, opened: Opened) -> RdfSyntax:
        told = media_type_of(opened.response.headers.get("content-type"))
        given = media_type_of(self._surroundings.settings.content_type)
        ending = urlsplit(opened.address).path.rpartition("/")[2].rpartition(".")[2].lower()
        found = RDF_TYPES.get(told) or RDF_TYPES.get(given) or RDF_EXTENSIONS.get(ending)
        if found is None:
            raise SourceFailed(f"{opened.address} is {told or 'of no type'}, which is no syntax of RDF")
        return found


def _digest(member: Member) -> bytes:
    return hashlib.blake2b(member.iri.encode(), digest_size=_DIGEST).digest()


def _digests(seen: str) -> Iterator[bytes]:
    digests = bytes.fromhex(seen)
    return (digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST))


def _fresh_seconds(told: httpx.Headers) -> float:
    """How long a page is to be taken for unchanged (RFC 9111 section 4.2)."""
    age = _MAX_AGE.search(told.get("cache-control", ""))
    if age is None:
        return POLL_SECONDS
    spent = told.get("age", "0").strip()
    return min(max(float(age[1]) - (float(spent) if spent.isdecimal() else 0.0), _SHORTEST), _LONGEST)
