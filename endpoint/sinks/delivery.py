"""One sink at work: it listens to its query as anybody does, and resumes after what it delivered last."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

import anyio

from endpoint.back_off import SPARK_SECONDS, BackOff
from endpoint.backend import Ended, Evaluation, QueryDescription
from endpoint.live.channel import Channel, Entry
from endpoint.live.hub import AnySubscription, Hub
from endpoint.live.subscription import Reset, ResumePoint, StartingPoint, Subscription, SubscriptionItem
from endpoint.sinks.sink_files import KeptSink, Position, SinkFiles
from endpoint.sinks.target import Answer, DeliveryFailed, Target
from protocol.entailment.regimes import Regime
from protocol.errors import NotFound, ProtocolError, Unavailable
from protocol.formats.sse import resume_token, show_instant
from protocol.sinks.body import NotSendable, body_of
from protocol.time import BEFORE_ALL, Instant

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 60.0
"""Between two attempts."""

_HOLD_SECONDS = 5.0
"""While a receiver fails for longer, nothing of the query's past is held open for it."""


@dataclass
class SinkState:
    """How a sink is; counts are since the server started, times in milliseconds since the epoch by the server's clock.

    ``failing_since`` is None while it is running. ``error``: what failed last, also after it is over, and ``error_at``
    when. ``reset``: evaluations up to this instant were no longer held, where that was so.
    """

    position: Instant | None = None
    delivered: int = 0
    failures: int = 0
    failing_since: Instant | None = None
    error: str | None = None
    error_at: Instant | None = None
    resets: int = 0
    reset: Instant | None = None


def _starting_point(position: Position, description: QueryDescription) -> StartingPoint:
    """Whoever has had the answer of an instant has the next one compared with that, also where it is the query's first
    after its start.
    """
    incarnation = description.incarnation if position.delivered else None
    return StartingPoint(position.instant, incarnation, description.landmark)


def digest_of(description: QueryDescription) -> str:
    """What tells a query from another one that took its name: its text, and what was asked for it beside that."""
    query = description.query
    asked = query.text.strip()
    if query.requested or query.entailment is not Regime.NONE:
        beside = [query.entailment.value, list(query.requested.default), list(query.requested.named)]
        asked = f"{json.dumps(beside)}\n{asked}"
    return hashlib.sha256(asked.encode()).hexdigest()


class Delivery:
    """Brings a query's answers to the target, in order, one sink's.

    ``former`` is the ``subscription`` of the one whose place it takes. ``clock`` gives seconds that never step back,
    ``now`` the time, ``sleep`` waits; ``chance`` gives numbers from 0 to 1.
    """

    def __init__(
        self,
        hub: Hub,
        files: SinkFiles,
        sink: KeptSink,
        target: Target,
        *,
        former: AnySubscription | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.sink = sink
        self.state = SinkState()
        self.sending = False
        self.subscription = former
        self._hub = hub
        self._files = files
        self._target = target
        self._clock = clock
        self._now = now
        self._sleep = sleep
        self._new_back_off = partial(BackOff, LONGEST_SECONDS, chance)
        self._position: Position | None = None
        self._pause = 0.0
        """Seconds before the next attempt."""
        self._template = sink.settings.lines

    async def run(self) -> None:
        """Deliver until the query is removed, the server stops, or it is cancelled."""
        back_off = self._new_back_off()
        try:
            while not self._hub.stopping.is_set():
                before = self.state.delivered
                try:
                    if self._position is None:
                        await self._hub.threads.run(self._open)
                    assert self._position is not None, "it was opened"
                    await self._follow(self._position)
                except (ProtocolError, OSError) as error:
                    _require_not_cancelled()
                    if isinstance(error, NotFound) and not await self._has_query():
                        return  # Whoever removed the query removes its sinks.
                    if self.state.delivered > before:
                        back_off.succeeded()
                    self._failed(error)
                    # The server's own answers, not the receiver: it is there as soon as Spark is.
                    await self._sleep(back_off.pause(0, SPARK_SECONDS if isinstance(error, Unavailable) else None))
                except Exception as error:
                    _require_not_cancelled()
                    # One sink's mishap is nobody else's, and the next attempt may be better.
                    logger.exception("the sink %s of %s failed", self.sink.name, self.sink.query)
                    self._failed(error)
                    await self._sleep(LONGEST_SECONDS)
        finally:
            with anyio.CancelScope(shield=True):
                await self._target.close()
                position, self._position = self._position, None
                if position is not None:
                    await self._hub.threads.run(self._closed, position)

    async def _has_query(self) -> bool:
        """Whether there is a query of this name. One that is replaced by one of another kind is missed in between."""
        try:
            await self._hub.threads.run(self._hub.queries.query, self.sink.query)
        except NotFound:
            return False
        except ProtocolError:
            pass  # it cannot be said now
        return True

    def sync(self) -> None:
        """Bring the position to the disk, if it has moved; from any thread. Raises OSError."""
        position = self._position
        if position is not None and position.unsynced:
            position.sync()

    def abandon(self) -> None:
        """Let go of the position where the event loop in which this ran is gone."""
        position, self._position = self._position, None
        if position is not None:
            self._closed(position)

    def _open(self) -> None:
        self._position = self._files.position(self.sink.query, self.sink.name)
        self.state.position = self._position.instant

    @staticmethod
    def _closed(position: Position) -> None:
        if position.unsynced:
            position.sync()
        position.close()

    async def _follow(self, position: Position) -> None:
        """Deliver what one subscription gives; afterwards there may be more for another one."""
        if position.instant is None:
            raise DeliveryFailed(
                "it is not known how far this sink was, for its position on the disk is damaged: "
                "PUT it again with ?since= (beginning, a time, or now)"
            )
        # While a query is being replaced, it is neither.
        async with self._hub.lock(self.sink.query):
            description = await self._hub.threads.run(self._hub.queries.query, self.sink.query)
            subscription = None
            if digest_of(description) == self.sink.digest:
                subscription = await self._hub.subscribe(self.sink.query, _starting_point(position, description))
        if subscription is None:
            await self._change_over(position, description)
            return
        try:
            self.sink.settings.require_answers_of(description.query)
        except ProtocolError as error:
            # Its query was replaced: trying again would help nothing before it, or the sink, is another.
            self._failed(error)
            await _replaced(subscription.channel)
            return
        self.subscription = subscription
        # However many listen: a sink's receiver is not to wait for them.
        subscription.first = True
        rest: Sequence[Evaluation] = ()
        async with aclosing(subscription.batches()) as batches:
            async for batch in batches:
                if isinstance(subscription, Subscription) and subscription.channel.gone:
                    return  # Between what was delivered and this may be a gap: the change-over tells of it.
                ended = self._told(batch)
                rest = await self._deliver_all(position, batch)
                if rest:
                    break
                if ended:
                    await _replaced(subscription.channel)
                    return
        # The subscription is over: for as long as these are not taken, nothing else is held for the sink.
        await self._deliver(position, rest, patience=None)

    async def _change_over(self, position: Position, description: QueryDescription) -> None:
        """The query was replaced: deliver what it had answered, then begin with what the new one says from its start,
        also where that is before the position: over other streams the time is another.

        Its answers cannot be computed again, but its channel has the last of them. Those it has not are a reset.
        """
        live = description.query.one_shot is not None
        start = None if live else description.start
        await self._deliver_held(position, self.subscription, start)
        begin = BEFORE_ALL if start is None else start
        await self._hub.threads.run(self._changed_over, position, digest_of(description), begin)

    def _changed_over(self, position: Position, digest: str, begin: Instant) -> None:
        """Write down that it is a sink of the query with this digest, from ``begin`` on; all of it, or (OSError) what
        has it change over again.
        """
        sink = replace(self.sink, digest=digest)
        position.begin(begin)
        self._files.write(sink, None)
        self.sink = sink
        self.state.position = begin
        self.subscription = None

    async def _deliver_held(self, position: Position, former: AnySubscription | None, start: Instant | None) -> None:
        """Deliver what the query that ``former`` listened to had answered up to the ``start`` of the one in its place.

        Without a ``former`` (the server was started anew) it is not known what that was. Of a live query nothing is
        owed but the newest answer, which is the new one's.
        """
        assert position.instant is not None, "it was looked at before"
        gap, held = start, list[Evaluation]()
        if former is not None:
            if not isinstance(former, Subscription):
                return
            gap = former.floor
            if gap is not None and start is not None:
                gap = min(gap, start)
            held = [one for one in former.channel.after(position.instant) if start is None or one.instant <= start]
        if gap is not None and position.instant < gap:
            self._reset(gap, "its query was replaced before they were delivered")
            position.move(gap)
        for part in _parts(held, self._target.at_once):
            await self._deliver(position, part, patience=None)
        successor = None if former is None else former.channel.successor
        if successor is not None and start is not None and successor < start and position.instant < start:
            self._reset(start, "a query that was there meanwhile was replaced before they were delivered")

    def _told(self, batch: Sequence[SubscriptionItem]) -> bool:
        """Note what a batch says besides answers; whether the query has nothing more."""
        for item in batch:
            if isinstance(item, Reset):
                self._reset(item.time, "its position is no longer within retention")
        return any(isinstance(item, Ended) for item in batch)

    def _reset(self, instant: Instant, why: str) -> None:
        self.state.resets += 1
        self.state.reset = instant
        logger.warning(
            "the sink %s of %s lacks evaluations up to %s: %s",
            self.sink.name,
            self.sink.query,
            show_instant(instant),
            why,
        )

    async def _deliver_all(self, position: Position, batch: Sequence[SubscriptionItem]) -> Sequence[Evaluation]:
        """Deliver a batch's answers, and note where to resume; those left when the receiver has failed for too long."""
        answers = [item.notice for item in batch if isinstance(item, Entry) and isinstance(item.notice, Evaluation)]
        for part in _parts(answers, self._target.at_once):
            rest = await self._deliver(position, part, patience=_HOLD_SECONDS)
            if rest:
                return rest
        for item in batch:
            if isinstance(item, ResumePoint):
                position.move(item.instant)
                self.state.position = position.instant
        return ()

    async def _deliver(
        self, position: Position, evaluations: Sequence[Evaluation], *, patience: float | None
    ) -> Sequence[Evaluation]:
        """Deliver these together, or one by one once that has failed, again and again for so many seconds; what will
        not be taken by then.

        Raises what ``_answer`` raises, with everything before it delivered.
        """
        sendable: list[tuple[Instant, Answer | None]] = []
        unsendable: ProtocolError | None = None
        for one in evaluations:
            try:
                sendable.append((one.instant, await self._answer(one)))
            except ProtocolError as error:
                unsendable = error
                break
        began, back_off = self._clock(), self._new_back_off()
        done, together = 0, len(sendable)
        while done < len(sendable):
            part = sendable[done : done + together]
            answers = [answer for _, answer in part if answer is not None]
            try:
                await self._send(answers)
            except DeliveryFailed as error:
                self._failed(error)
                # Else those before one that is never taken would come again with each attempt.
                together = 1
                self._pause = back_off.pause(error.retry_after, error.retry_in)
                if patience is not None and self._clock() - began + self._pause >= patience:
                    return evaluations[done:]
                continue
            done += len(part)
            position.move(part[-1][0])
            self.state.position = position.instant
            self.state.delivered += len(answers)
            self.state.failing_since = None
        if unsendable is not None:
            raise unsendable
        return ()

    async def _send(self, answers: Sequence[Answer]) -> None:
        """Send these once, when it is time for the next attempt. Raises DeliveryFailed."""
        if not answers:
            return
        if self._pause:
            await self._sleep(self._pause)
            self._pause = 0.0
        try:
            self.sending = True
            await self._target.deliver(answers)
        finally:
            self.sending = False

    async def _answer(self, evaluation: Evaluation) -> Answer | None:
        settings, data = self.sink.settings, evaluation.data
        try:
            body = await self._hub.threads.run_if_long(len(data), body_of, data, settings.format, self._template)
        except ProtocolError as error:
            if not isinstance(self.subscription, Subscription):
                raise  # Of a live query the next answer is the newest one, and none waits.
            raise NotSendable(
                f"{error.detail}. All later answers wait for this one: PUT the sink with another format, "
                f"or with ?since={show_instant(evaluation.instant)} to leave this one out"
            ) from error
        if body is None:
            return None
        identifier = resume_token(evaluation.instant, evaluation.incarnation)
        return Answer(self.sink.query, evaluation.instant, identifier, body)

    def _failed(self, error: Exception) -> None:
        now = int(self._now() * 1000)
        state = self.state
        state.error = error.detail if isinstance(error, ProtocolError) else f"{type(error).__name__}: {error}"
        state.error_at = now
        state.failures += 1
        if state.failing_since is None:
            state.failing_since = now
            logger.warning("the sink %s of %s is failing: %s", self.sink.name, self.sink.query, state.error)


def _parts(answers: Sequence[Evaluation], size: int) -> Iterator[Sequence[Evaluation]]:
    for start in range(0, len(answers), size):
        yield answers[start : start + size]


async def _replaced(channel: Channel) -> None:
    """Wait until the query that has ended is removed, or started again."""
    while not channel.gone and not channel.closed:
        await channel.changed()


def _require_not_cancelled() -> None:
    """Raises CancelledError where an error came in its place, while what was cancelled was being let go of."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
