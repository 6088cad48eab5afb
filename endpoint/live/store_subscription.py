"""One listener's way through the answers of a live query: always to the newest (docs/http.md, "Live queries")."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from endpoint.backend import Ended, Evaluation, Failed, Outcome
from endpoint.live.channel import Channel, Entry
from endpoint.live.subscription import Reset, ResumePoint, StartingPoint, SubscriptionItem
from endpoint.store_queries.answers import StoreAnswer
from endpoint.store_queries.store_queries import StoreQueries
from endpoint.store_queries.store_query import StoreQuery
from protocol.language.model import R2S
from protocol.time import BEFORE_ALL, Instant, format_instant


class StoreSubscription:
    """An iterator over what a listener gets, as ``Subscription`` is; it ends after Ended.

    ``position`` names the answer that the listener has, None where it has none. It is given what the newest one is, or
    has beyond that: who is slow, or was away, misses what was in between, and holds up nobody. ``until`` and ``first``
    are as in ``Subscription``; ``now`` is the time in seconds since the epoch.
    """

    warnings: tuple[str, ...] = ()

    def __init__(
        self,
        channel: Channel,
        queries: StoreQueries,
        query: StoreQuery,
        start: StartingPoint,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.channel = channel
        self.until: Instant | None = None
        self.first = False
        after = start.after
        self.position: Instant | None = None if after is None or after <= BEFORE_ALL else after
        self._queries = queries
        self._query = query
        self._now = now
        self._cursor = channel.sequence
        # What was acknowledged before is part of the first answer.
        self._least = queries.state
        self._told_of_failure = False

    async def items(self) -> AsyncGenerator[SubscriptionItem, None]:
        """What the listener gets, one after the other; see ``batches``."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for item in batch:
                    yield item

    async def batches(self) -> AsyncGenerator[list[SubscriptionItem], None]:
        """What the listener gets, as it comes."""
        self.channel.listeners += 1
        try:
            with self._queries.listening(self._query):
                self._queries.look(self._query)
                while not self.channel.closed:
                    batch = self._new()
                    if batch:
                        yield batch
                        continue
                    if self.channel.ended is not None:
                        yield [Ended(self.channel.name, self.channel.ended)]
                        return
                    if self.until is not None and self._now() * 1000 > self.until:
                        yield [Ended(self.channel.name, f"every answer up to {format_instant(self.until)} is out")]
                        return
                    await self._something()
        finally:
            self.channel.listeners -= 1

    def nothing(self) -> Evaluation:
        """What a ``ResumePoint`` is to whoever asked for one answer: that it is empty now."""
        return self._query.nothing()

    async def _something(self) -> None:
        """Wait for what is new, or for the end."""
        if self.until is None:
            await self.channel.changed(first=self.first)
            return
        try:
            async with asyncio.timeout(max(0.0, self.until / 1000 - self._now()) + 0.01):
                await self.channel.changed(first=self.first)
        except TimeoutError:
            return

    def _new(self) -> list[SubscriptionItem]:
        """What there is to say since it was asked last."""
        found: list[SubscriptionItem] = []
        shared: Entry | None = None
        while (entry := self.channel.next(self._cursor)) is not None:
            self._cursor = entry.sequence
            if isinstance(entry.notice, Evaluation):
                shared = entry
            elif isinstance(entry.notice, Failed):
                found.append(entry)
                self._told_of_failure = True
        query, newest = self._query, self._query.newest
        if query.tried is None or query.tried < self._least:
            return found
        if query.failure is not None and not self._told_of_failure:
            # It has failed before this listener came, and is not tried again before the store changes.
            self._told_of_failure = True
            found.append(self._entry(Failed(query.name, query.tried, query.failure.detail, query.failure.status)))
        if query.failure is None and newest is not None and newest.instant != self.position:
            if self.until is None or newest.instant <= self.until:
                found += self._answer(newest, shared)
            self.position = newest.instant
        return found

    def _answer(self, newest: StoreAnswer, shared: Entry | None) -> list[SubscriptionItem]:
        """What the newest answer is to this listener: what all others get too, where that is the same."""
        query, had = self._query, self.position
        if shared is None or not isinstance(shared.notice, Evaluation) or shared.notice.instant != newest.instant:
            shared = self.channel.held(newest.instant)
        if query.query.operator is R2S.RSTREAM:
            return [self._entry(query.since(None)) if shared is None else shared]
        former = query.former
        if shared is not None and former is not None and former.instant == had:
            return [shared]
        lost = had is not None and not query.holds(had)
        given = query.since(None if lost else had)
        found: list[SubscriptionItem] = [Reset(newest.instant - 1)] if lost else []
        # Without a word the client would resume from an older answer, or from none, and miss what has gone since.
        return [*found, ResumePoint(newest.instant) if given is None else self._entry(given)]

    def _entry(self, notice: Outcome | None) -> Entry:
        assert notice is not None, "all of an answer is always something"
        return Entry(self._cursor, notice, BEFORE_ALL)
