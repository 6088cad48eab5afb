"""One listener's way through a query's answers: what is past from the log, then live
(docs/http.md, "Resuming and replaying").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio

from endpoint.backend import Ended, Evaluation, Failed, Outcome, Progress, QueryDescription
from endpoint.live.channel import Channel, Entry
from endpoint.live.replay import History, Replay
from endpoint.readers.errors import EndpointStopping
from protocol.errors import HeldNoMore, NotFound
from protocol.formats.sse import ResumeToken
from protocol.language.model import R2S
from protocol.time import BEFORE_ALL, Instant, format_instant

_BATCH_BYTES = 128 * 1024
"""Entries are handed out together up to this size; sending each by itself costs more than making it."""

_KEPT_BACK_SECONDS = 1.0
"""What is past and comes slowly goes out after so long, though it may yet be put into the channel for all."""


@dataclass(frozen=True)
class StartingPoint:
    """Where a listener begins: with the evaluations after ``after``; None: with the next.

    ``incarnation``: of which streams it had the answer of ``after``; None where it had none. ``landmark``: that of the
    query whose answer it was (see QueryDescription), None where that is not known.
    """

    after: Instant | None = None
    incarnation: int | None = None
    landmark: Instant | None = None


NOW = StartingPoint()
BEGINNING = StartingPoint(BEFORE_ALL)


@dataclass(frozen=True)
class RequestedSpan:
    """What a client asks a result stream for: what is after an event it had, or after a time, or (neither) from now on.
    ``until``: the last instant that is wanted, None for no end.
    """

    token: ResumeToken | None = None
    since: Instant | None = None
    until: Instant | None = None

    @property
    def point(self) -> StartingPoint:
        """The event the client had last decides: a reconnecting EventSource sends its first URL again."""
        return StartingPoint(self.since) if self.token is None else StartingPoint(*self.token)

    def is_of_others(self, query: QueryDescription) -> bool:
        """Whether the event that the client had last is an answer of streams that are gone."""
        return self.token is not None and self.token.incarnation != query.incarnation


@dataclass(frozen=True)
class Reset:
    """The starting point is no longer held: what follows is after ``time``."""

    time: Instant


@dataclass(frozen=True)
class ResumePoint:
    """The listener has everything up to ``instant``, and of that instant itself there is nothing to tell it."""

    instant: Instant


@dataclass(frozen=True)
class CutOff:
    """The listener was too slow; it has had everything up to ``position``, of streams of that ``incarnation`` and a
    query with that ``landmark``.
    """

    position: Instant
    incarnation: int = 0
    landmark: Instant | None = None


SubscriptionItem = Entry | Reset | ResumePoint | CutOff | Ended


@dataclass
class _Past:
    """What is past for a listener: how much was gathered of it, where more comes from, and up to which instant."""

    gathered: list[Outcome] = field(default_factory=list)
    replay: Replay | None = None
    upto: Instant | None = None


class Subscription:
    """An iterator over what a listener gets; it ends after CutOff or Ended.

    ``position`` is the instant up to which the listener has everything, None until that is known. It reads the
    channel while the channel holds what comes after the position, and the query's history when not. There is no queue
    of its own: the bounds of the channel are how far a listener may fall behind. ``warnings`` say why nothing may come.
    Before it is read, may be set: ``until``, the last instant that is wanted; ``first``, whether it waits for no
    other's turn.
    """

    def __init__(self, channel: Channel, history: History, description: QueryDescription, start: StartingPoint) -> None:
        self.channel = channel
        channel.readers.add(self)
        self._history = history
        self._evaluated, self._progressed = description.evaluated, description.progressed
        self._watermark = description.watermark if description.watermark is not None else BEFORE_ALL
        # Who asked for the beginning asked for what is held; everybody else must be told of a gap.
        self._exact = start.after != BEFORE_ALL
        self._last_words: str | None = None
        self.until: Instant | None = None
        self.first = False
        self._incarnation = description.incarnation
        # What it had is of streams that are gone. All that there is now is new to it.
        self._foreign = start.incarnation not in (None, self._incarnation)
        if self._foreign:
            start, self._exact = BEGINNING, False
        self._landmark = description.landmark
        self._compares = description.query.operator is not R2S.RSTREAM
        # What it had is of windows that began elsewhere: what follows does not go on from that.
        self._moved = start.incarnation is not None and self._landmark not in (None, start.landmark)
        if self._moved:
            self._exact = False
        self._before_start = self._is_before_start(start, description)
        self.warnings = _warnings(start, description)
        if start.after is None:
            live = channel.live
            self.position = live if live is not None else description.evaluated
            self._cursor = channel.sequence
            self._live_from = BEFORE_ALL
        else:
            self.position = start.after
            self._cursor = BEFORE_ALL
            if self._evaluated is None:
                # Nothing was evaluated yet, and nothing at or before its start will be: that is for the replay.
                self._evaluated = description.start
            # Who asked for the past is not slow before having had it.
            self._live_from = max(self._watermark, self._evaluated if self._evaluated is not None else BEFORE_ALL)
        if description.state == "ended" and self._all_delivered():
            self._last_words = "all streams of the query have ended, and every evaluation is out"
        elif description.state == "failed":
            self._last_words = description.last_error

    @property
    def floor(self) -> Instant | None:
        """Evaluations up to here are in the log alone, or nowhere any more; None: there are none."""
        return self.channel.floor if self.channel.floor is not None else self._evaluated

    def _is_before_start(self, point: StartingPoint, description: QueryDescription) -> bool:
        """Whether the first evaluation after the query's start is not for this listener what it is in the channel.

        There it was compared with none; who has what was before is to have it compared with that, from the log.
        """
        start = self.channel.start
        if point.after is None or start is None or description.query.operator is R2S.RSTREAM:
            return False
        return point.after < start or (point.after == start and point.incarnation is not None)

    async def items(self) -> AsyncGenerator[SubscriptionItem, None]:
        """What the listener gets, one after the other; see ``batches``."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for item in batch:
                    yield item

    async def batches(self) -> AsyncGenerator[list[SubscriptionItem], None]:
        """What the listener gets, as it comes: as much at once as is there, and not much more than ``_BATCH_BYTES``.

        Raises what a replay raises, with everything before it delivered.
        """
        self.channel.listeners += 1
        try:
            if self._foreign:
                retained = await self._history.retained_from()
                yield [Reset(BEFORE_ALL if retained is None else retained)]
            elif self._moved:
                retained, after = await self._history.retained_from(), self.position
                yield [Reset(max(one for one in (retained, after, BEFORE_ALL) if one is not None))]
            while not self.channel.closed:
                if self.position is None:
                    self.position = self.channel.origin
                if self._has_all(self.position):
                    yield [self._until_reached()]
                    return
                if self._behind() and not self.channel.gone:
                    try:
                        async with aclosing(self._past()) as past:
                            async for item in past:
                                if self._is_later(item):
                                    yield [self._until_reached()]
                                    return
                                yield [item]
                    except EndpointStopping:
                        # Nobody is told, as of any other answer that is still to come: who resumes has it.
                        return
                    except HeldNoMore:
                        # What is left begins later, which is told.
                        continue
                    except NotFound:
                        # Removed meanwhile: the channel says so, and there is nothing else to tell.
                        if not self.channel.gone:
                            raise
                    continue
                batch = self._held()
                if batch is None:
                    # What was out when it began, and where no more was at its end: that is told once, before or since.
                    if self._has_all(self._evaluated) or self._has_all(self._progressed):
                        yield [self._until_reached()]
                        return
                    reason = self.channel.ended or self._last_words
                    if reason is not None:
                        yield [Ended(self.channel.name, reason)]
                        return
                    await self.channel.changed(first=self.first)
                    continue
                wanted = [item for item in batch if not self._is_later(item)]
                if len(wanted) < len(batch):
                    yield [*wanted, self._until_reached()]
                    return
                if not batch:
                    continue
                yield batch
                # Behind after sending, not after waiting: the listener itself was too slow to take the next.
                if self._missed() and self.position is not None and self.position >= self._live_from:
                    yield [CutOff(self.position, self._incarnation, self._landmark)]
                    return
        finally:
            self.channel.listeners -= 1

    def _held(self) -> list[SubscriptionItem] | None:
        """The next entries of the channel that are wanted here; None if it holds nothing more."""
        entry = self.channel.next(self._cursor)
        if entry is None:
            return None
        batch: list[SubscriptionItem] = []
        size = 0
        while entry is not None and size < _BATCH_BYTES:
            if self._is_for_the_log(entry):
                if self.position is not None and self.channel.start is not None:
                    self.position = max(self.position, self.channel.start)
                break
            self._cursor = entry.sequence
            if self._wanted(entry):
                if not isinstance(entry.notice, Progress):
                    self.position = entry.notice.instant
                batch.append(entry)
                size += entry.size
            entry = self.channel.next(self._cursor)
        return batch

    def _has_all(self, position: Instant | None) -> bool:
        """Whether nothing that is wanted comes after an instant."""
        return self.until is not None and position is not None and position >= self.until

    def _is_later(self, item: SubscriptionItem) -> bool:
        """Whether an item is later than all that is wanted, or says that what follows is."""
        if self.until is None or not isinstance(item, Entry):
            return False
        match item.notice:
            case Evaluation(instant=time) | Failed(instant=time):
                return time > self.until
            case Progress(time=time):
                return time >= self.until

    def _until_reached(self) -> Ended:
        assert self.until is not None
        return Ended(self.channel.name, f"every evaluation up to {format_instant(self.until)} is out")

    def _all_delivered(self) -> bool:
        return self.channel.last is None or self._evaluated is None or self.channel.last >= self._evaluated

    def _is_for_the_log(self, entry: Entry) -> bool:
        """Whether an entry that is wanted is not for this listener what it is in the channel, or may not be."""
        if not self._before_start or self.channel.gone or isinstance(entry.notice, Progress):
            return False
        return self.channel.is_after_start(entry.notice.instant) and self._wanted(entry)

    def _is_gone(self, retained: Instant) -> bool:
        """Whether what follows the position is not all held, or is compared with an answer there that is not."""
        return self.position is not None and (
            self.position < retained or (self.position == retained and self._compares)
        )

    def _behind(self) -> bool:
        """Whether evaluations after the position are to come from the log."""
        upto = self._upto
        return self.position is not None and upto is not None and self.position < upto

    def _missed(self) -> bool:
        """Whether evaluations after the position are in the log and not (or no longer) in the channel."""
        return self.position is not None and self.floor is not None and self.position < self.floor

    @property
    def _upto(self) -> Instant | None:
        """Evaluations up to here are to come from the log; None: there are none."""
        start, last, position = self.channel.start, self.channel.last, self.position
        if not self._before_start or start is None or last is None or position is None or position < start:
            return self.floor
        return last if self.floor is None else max(self.floor, last)

    def _wanted(self, entry: Entry) -> bool:
        match entry.notice:
            case Evaluation(instant=instant) | Failed(instant=instant):
                return self.position is None or instant > self.position
            case Progress(time=time):
                return self.position is None or time >= self.position

    async def _past(self) -> AsyncGenerator[SubscriptionItem, None]:
        """What came of the instants between the position and what the channel holds, from the log.

        A replay that fits the channel is put there, for all: after a restart a thousand listeners come at once.
        """
        channel = self.channel
        retained = await self._history.retained_from(self.position)
        if retained is not None and channel.is_after_start(retained):
            self._before_start = False  # what was before is held no more
        if retained is not None and self._is_gone(retained) and self._missed():
            self.position = retained
            if self._exact:
                yield Reset(retained)
        self._exact = True
        past = _Past()
        gathering, told = asyncio.ensure_future(self._gather(past, retained)), 0
        try:
            while not gathering.done():
                await asyncio.wait([gathering], timeout=_KEPT_BACK_SECONDS)
                while not gathering.done() and told < len(past.gathered) and not channel.gone:
                    yield self._told(past.gathered[told])
                    told += 1
            complete = gathering.result()
            if past.replay is None or (complete and not self._behind()):
                return
            chunk = past.gathered[told:]
            while chunk and not channel.gone:
                for outcome in chunk:
                    yield self._told(outcome)
                chunk = [] if complete else await past.replay.chunk()
            self.position = past.upto
        finally:
            gathering.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(gathering, return_exceptions=True)
            if past.replay is not None:
                await past.replay.close()

    def _told(self, outcome: Outcome) -> Entry:
        """What came of an instant, up to which the listener then has everything."""
        self.position = outcome.instant
        if isinstance(outcome, Evaluation) and self.channel.is_after_start(outcome.instant):
            self._before_start = False  # those after it are the same for all
        return Entry(self._cursor, outcome, self._watermark)

    async def _gather(self, past: _Past, retained: Instant | None) -> bool:
        """Gather as much of what is past as a channel has room for, and put it there if that is all; whether it is."""
        channel = self.channel
        async with channel.replaying:
            after, upto = self.position, self._upto
            if not self._behind() or after is None or upto is None:
                return False
            before_start = self._before_start
            past.upto = upto
            past.replay = self._history.replay(after, upto, before_start=before_start)
            complete = await self._gather_from(past.replay, past.gathered)
            if (before_start and channel.is_after_start(upto)) or (self._compares and after == retained):
                # For this listener alone: others are to have what was told live, or to be told of the reset.
                complete = False
            if complete and not channel.gone:
                channel.fill(past.gathered, after=after, upto=upto, watermark=self._watermark)
            return complete

    async def _gather_from(self, replay: Replay, gathered: list[Outcome]) -> bool:
        """As much of a replay as a channel has room for, or as came before it failed; whether that is all of it."""
        size, bounds = 0, self.channel.bounds
        while True:
            try:
                chunk = await replay.chunk()
            except Exception:
                if not gathered:
                    raise
                return False  # it goes out before the next attempt, which fails again or goes on
            if not chunk:
                return True
            gathered += chunk
            size += sum(outcome.size for outcome in chunk)
            if len(gathered) >= bounds.entries // 2 or size >= bounds.bytes // 4:
                return False


def _warnings(start: StartingPoint, description: QueryDescription) -> tuple[str, ...]:
    """That a listener had an answer which these streams cannot have given: those of a data directory that is older."""
    watermark = description.watermark
    if start.incarnation is None or start.after is None or watermark is None:
        return ()
    # Of what was just answered the watermark may be known a moment later.
    if start.after <= max(watermark, BEFORE_ALL if description.evaluated is None else description.evaluated):
        return ()
    warning = (
        f"Last-Event-ID is of the answer at {format_instant(start.after)}, and the query's streams are complete up to "
        f"{format_instant(watermark)} only, as they were before it: what is answered up to then is not told; without "
        "Last-Event-ID, ?since=TIME tells it"
    )
    return (warning,)
