from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sse_starlette.sse import AppStatus

from endpoint.backend import Ended, Evaluation, Failed, Outcome, Progress
from endpoint.live.channel import Bounds, Entry
from endpoint.live.hub import Hub
from endpoint.live.subscription import BEGINNING, NOW, CutOff, Reset, ResumePoint, StartingPoint, SubscriptionItem
from protocol.errors import HeldNoMore, NotFound, QuerySemanticError, Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.language.model import R2S, ContinuousQuery
from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL, Instant
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, answer, continuous, run, settle, until
from tests.endpoint.store_queries.store_side import no_store_queries


def backend_with_query(operator: R2S | None = None, *, since: int | None = None) -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    query = continuous() if operator is None else replace(continuous(), operator=operator)
    backend.register("q", query, standing=True, since=since)
    return backend


def hub_for(backend: FakeBackend, bounds: Bounds | None = None) -> Hub:
    async def no_sleep(seconds: float) -> None:
        backend.calls.append("sleep")

    hub = Hub(backend, no_store_queries(), bounds=bounds, sleep=no_sleep)
    hub.bind()
    backend.listen(hub.receive)
    return hub


class Listener:
    """Reads a subscription in a task of its own, as a client that is fast enough."""

    def __init__(self, items: AsyncGenerator[SubscriptionItem, None]) -> None:
        self.got: list[SubscriptionItem] = []
        self.items = items
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for item in self.items:
            self.got.append(item)

    @property
    def instants(self) -> list[int]:
        return [one.notice.instant for one in self.got if hasattr(one, "notice") and isinstance(one.notice, Evaluation)]

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.items.aclose()


async def listen(hub: Hub, start: StartingPoint = NOW, name: str = "q", *, until: int | None = None) -> Listener:
    subscription = await hub.subscribe(name, start)
    subscription.until = until
    return Listener(subscription.items())


def test_what_else_there_is_to_do_does_not_wait_for_all_listeners() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listeners = [await listen(hub) for _ in range(500)]
        await settle()
        backend.evaluate("q", 1000, answer(1))
        told = [0]
        while told[-1] < 500:
            await asyncio.sleep(0)
            told.append(sum(one.instants == [1000] for one in listeners))
        assert max(later - before for before, later in pairwise(told)) < 100
        for one in listeners:
            await one.leave()

    run(check())


def test_a_thousand_listeners_get_the_same_bytes_object() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listeners = [await listen(hub) for _ in range(1000)]
        await settle()
        backend.evaluate("q", 1000, answer(1))
        await until(lambda: all(listener.instants == [1000] for listener in listeners))
        entries = [listener.got[0] for listener in listeners]
        assert (
            len({id(entry.event) for entry in entries if not isinstance(entry, Reset | ResumePoint | CutOff | Ended)})
            == 1
        )
        for listener in listeners:
            await listener.leave()
        assert hub.listeners() == {}

    run(check())


def test_notices_are_handed_over_from_another_thread_without_waiting_for_anybody() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)

        def evaluate() -> None:
            for n in range(500):
                backend.evaluate("q", n, answer(n))

        thread = threading.Thread(target=evaluate)
        thread.start()
        thread.join()  # the loop does not turn meanwhile: nothing in receive may need it
        await until(lambda: listener.instants == list(range(500)))
        await listener.leave()

    run(check())


def test_an_evaluation_given_out_again_is_dropped() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)
        for instant in (1000, 2000, 1000, 2000, 3000, 3000):
            hub.receive([Evaluation("q", instant, answer(instant)), Progress("q", instant, instant)])
        await settle()
        assert listener.instants == [1000, 2000, 3000]
        times = [one.notice.time for one in listener.got if hasattr(one, "notice") and isinstance(one.notice, Progress)]
        assert times == sorted(set(times))
        await listener.leave()

    run(check())


def test_who_joins_later_gets_what_comes_from_then_on() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        first = await listen(hub)
        backend.evaluate("q", 1000, answer(1))
        await settle()
        second = await listen(hub)
        backend.evaluate("q", 2000, answer(2))
        await settle()
        assert (first.instants, second.instants) == ([1000, 2000], [2000])
        await first.leave()
        await second.leave()

    run(check())


def test_a_resuming_listener_gets_exactly_what_it_has_not_had() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        first = await listen(hub)
        for n in range(1, 6):
            backend.evaluate("q", n * 1000, answer(n))
        await settle()
        for after in range(0, 7000, 500):
            again = await listen(hub, StartingPoint(after))
            await until(lambda again=again, after=after: again.instants == [n for n in first.instants if n > after])  # type: ignore[misc]
            await again.leave()
        await first.leave()

    run(check())


@pytest.mark.parametrize("after", [1500, 99_000])
def test_who_had_an_answer_of_streams_that_are_gone_is_told_and_gets_all_there_is(after: int) -> None:
    async def check() -> None:
        backend = FakeBackend(incarnation=2)
        backend.create_stream("s", StreamSettings(STREAM))
        backend.register("q", continuous(), standing=True)
        hub = hub_for(backend)
        early = await listen(hub, StartingPoint(after, 1))
        for n in range(1, 4):
            backend.evaluate("q", n * 1000, answer(n))
        late, same = await listen(hub, StartingPoint(after, 1)), await listen(hub, StartingPoint(1500, 2))
        backend.evaluate("q", 4000, answer(4))
        for listener in (early, late):
            await until(lambda listener=listener: listener.instants == [1000, 2000, 3000, 4000])  # type: ignore[misc]
            assert listener.got[0] == Reset(BEFORE_ALL)
            assert sum(isinstance(one, Reset) for one in listener.got) == 1
        await until(lambda: same.instants == [2000, 3000, 4000])
        assert not any(isinstance(one, Reset) for one in same.got)
        backend.forget_before("q", 2000)
        again = await listen(hub_for(backend), StartingPoint(after, 1))
        await until(lambda: again.instants == [3000, 4000])
        assert [one for one in again.got if isinstance(one, Reset)] == [Reset(2000)]
        for listener in (early, late, same, again):
            await listener.leave()

    run(check())


def test_after_a_restart_the_past_comes_from_the_log_once_for_all_and_then_live() -> None:
    async def check() -> None:
        backend = backend_with_query()
        for n in range(1, 6):
            backend.evaluate("q", n * 1000, answer(n))
        hub = hub_for(backend)  # nothing of that reached this hub
        listeners = [await listen(hub, StartingPoint(2000)) for _ in range(20)]
        await until(lambda: all(one.instants == [3000, 4000, 5000] for one in listeners))
        assert backend.calls.count("replay") == 1
        hub.receive([Evaluation("q", 5000, answer(5))])  # Spark gives out its last micro-batch again
        backend.evaluate("q", 6000, answer(6))
        await until(lambda: all(one.instants == [3000, 4000, 5000, 6000] for one in listeners))
        for listener in listeners:
            await listener.leave()

    run(check())


def test_who_waits_for_spark_to_start_is_let_go_when_the_server_stops() -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.evaluate("q", 1, answer(1))
        stops = asyncio.Event()
        asleep = asyncio.Event()

        async def sleep(seconds: float) -> None:
            asleep.set()
            await asyncio.sleep(0)

        async def server_stops() -> None:
            await stops.wait()

        hub = Hub(backend, no_store_queries(), sleep=sleep, server_stops=server_stops)
        hub.bind()
        backend.state = "starting"
        listener = await listen(hub, BEGINNING)
        await asleep.wait()
        stops.set()
        await until(listener.task.done)
        assert (listener.got, listener.task.exception()) == ([], None)

    run(check())


def test_evaluations_that_come_while_the_past_is_replayed_follow_it() -> None:
    async def check() -> None:
        backend = backend_with_query()
        for n in range(1, 4):
            backend.evaluate("q", n, answer(n))
        hub = hub_for(backend)
        replaying, go_on = threading.Event(), threading.Event()
        replay = backend.replay

        def slow(name: str, after: int | None, upto: int, *, before_start: bool = False) -> Iterator[Outcome]:
            past = list(replay(name, after, upto))
            replaying.set()
            go_on.wait(10)
            return iter(past)

        backend.replay = slow  # type: ignore[method-assign]  # of this one object
        listener = await listen(hub, BEGINNING)
        await until(replaying.is_set)
        for n in range(4, 7):
            backend.evaluate("q", n, answer(n))
        await settle()
        assert listener.instants == []
        go_on.set()
        await until(lambda: listener.instants == [1, 2, 3, 4, 5, 6])
        await listener.leave()

    run(check())


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_whatever_is_held_where_a_listener_gets_everything_after_its_start_once(data: st.DataObject) -> None:
    instants = sorted(data.draw(st.sets(st.integers(0, 60), max_size=25)))
    before = data.draw(st.integers(0, len(instants)))
    bounds = Bounds(entries=data.draw(st.integers(1, 12)))
    after = data.draw(st.integers(-1, 60) | st.just(BEFORE_ALL))
    batches = data.draw(st.lists(st.integers(1, 5), min_size=30, max_size=30))
    joins_at = data.draw(st.integers(0, len(instants)))

    async def check() -> None:
        backend = backend_with_query()
        for instant in instants[:before]:
            backend.evaluate("q", instant, answer(instant))
        hub = hub_for(backend, bounds)
        waiting, sizes, listener = instants[before:], iter(batches), None
        witness = await listen(hub)
        while waiting:
            if listener is None and joins_at <= len(instants) - len(waiting):
                listener = await listen(hub, StartingPoint(after))
            size = next(sizes)
            backend.push(*(Evaluation("q", instant, answer(instant)) for instant in waiting[:size]))
            waiting = waiting[size:]
            await settle(data.draw(st.integers(0, 3)))
        if listener is None:
            listener = await listen(hub, StartingPoint(after))
        wanted = [instant for instant in instants if instant > after]
        reader = listener
        await until(lambda: len(reader.instants) >= len(wanted))
        await settle()
        assert reader.instants == wanted
        await until(lambda: len(witness.instants) >= len(instants) - before)
        assert witness.instants == instants[before:]
        await reader.leave()
        await witness.leave()

    run(check())


def test_a_resume_point_before_what_is_retained_is_a_reset_then_what_is_held() -> None:
    async def check() -> None:
        backend = backend_with_query()
        for n in range(1, 6):
            backend.evaluate("q", n, answer(n))
        backend.forget_before("q", 3)
        hub = hub_for(backend)
        resumed, from_the_beginning = await listen(hub, StartingPoint(1)), await listen(hub, BEGINNING)
        await until(lambda: resumed.instants == from_the_beginning.instants == [4, 5])
        assert resumed.got[0] == Reset(3)
        assert not any(isinstance(one, Reset) for one in from_the_beginning.got)
        await resumed.leave()
        await from_the_beginning.leave()

    run(check())


@pytest.mark.parametrize("told", [0, 2])
def test_what_retention_takes_while_it_is_replayed_is_a_reset_then_what_is_held(told: int) -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.push(*(Evaluation("q", n * 1000, answer(n)) for n in range(1, 7)))
        hub, replay = hub_for(backend), backend.replay

        def taken_meanwhile(name: str, after: Instant, upto: Instant, **since: Any) -> Iterator[Outcome]:
            if after >= 4000:
                yield from replay(name, after, upto, **since)
                return
            if "q" not in backend.retained:
                yield from list(replay(name, after, upto, **since))[:told]
            backend.forget_before("q", 4000)
            raise HeldNoMore("what q was evaluated over is held no more")

        backend.replay = taken_meanwhile  # type: ignore[method-assign, assignment]  # of this one object
        listener = await listen(hub, StartingPoint(1000))
        had = [(n + 2) * 1000 for n in range(told)]
        await until(lambda: listener.instants == [*had, 5000, 6000])
        assert listener.got[told] == Reset(4000)
        await listener.leave()

    run(check())


@pytest.mark.parametrize(
    ("operator", "reset"), [(R2S.RSTREAM, []), (R2S.ISTREAM, [Reset(3)]), (R2S.DSTREAM, [Reset(3)])]
)
def test_resuming_from_an_answer_that_is_held_no_more_is_a_reset_where_the_next_is_compared_with_it(
    operator: R2S, reset: list[Reset]
) -> None:
    async def check() -> None:
        backend = backend_with_query(operator)
        for n in range(1, 6):
            backend.evaluate("q", n, answer(n))
        backend.forget_before("q", 3)
        hub = hub_for(backend)
        from_the_beginning = await listen(hub, BEGINNING)
        await until(lambda: from_the_beginning.instants == [4, 5])
        await from_the_beginning.leave()
        listeners = [await listen(hub, StartingPoint(after, 0)) for after in (3, 4)]
        await until(lambda: [one.instants for one in listeners] == [[4, 5], [5]])
        assert [[item for item in one.got if isinstance(item, Reset)] for one in listeners] == [reset, []]
        for one in listeners:
            await one.leave()

    run(check())


@pytest.mark.parametrize(
    ("operator", "reset"), [(R2S.RSTREAM, []), (R2S.ISTREAM, [Reset(30)]), (R2S.DSTREAM, [Reset(30)])]
)
def test_to_begin_behind_an_answer_that_is_held_no_more_is_a_reset_where_the_next_is_compared_with_it(
    operator: R2S, reset: list[Reset]
) -> None:
    async def check() -> None:
        backend = backend_with_query(operator)
        for n in (10, 40, 50):
            backend.evaluate("q", n, answer(n))
        backend.forget_before("q", 20)
        hub = hub_for(backend)
        listeners = [await listen(hub, StartingPoint(after)) for after in (30, 45)]
        await until(lambda: [one.instants for one in listeners] == [[40, 50], [50]])
        assert [[item for item in one.got if isinstance(item, Reset)] for one in listeners] == [reset, []]
        for one in listeners:
            await one.leave()

    run(check())


def test_what_the_channel_holds_needs_no_reset_however_short_retention_is() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        first = await listen(hub)
        for n in range(1, 6):
            backend.evaluate("q", n, answer(n))
        await settle()
        backend.forget_before("q", 4)
        again = await listen(hub, StartingPoint(1))
        await until(lambda: again.instants == [2, 3, 4, 5])
        assert "replay" not in backend.calls
        await first.leave()
        await again.leave()

    run(check())


def test_a_listener_that_does_not_keep_up_is_cut_off_and_resumes_without_loss() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend, Bounds(entries=4))
        fast = await listen(hub)
        slow = (await hub.subscribe("q", NOW)).items()
        backend.evaluate("q", 1, answer(1), progress=False)
        await until(lambda: fast.instants == [1])
        first = await anext(slow)
        for n in range(2, 12):
            backend.evaluate("q", n, answer(n), progress=False)
            await settle()
        assert fast.instants == list(range(1, 12))
        rest = [item async for item in slow]
        assert [type(item) for item in [first, *rest]][-1] is CutOff
        position = rest[-1].position if isinstance(rest[-1], CutOff) else None
        assert position == 1
        again = await listen(hub, StartingPoint(position))
        await until(lambda: again.instants == list(range(2, 12)))
        await fast.leave()
        await again.leave()

    run(check())


def test_a_burst_larger_than_the_channel_cuts_off_nobody_who_was_waiting() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend, Bounds(entries=4))
        listener = await listen(hub)
        backend.evaluate("q", 0, answer(0))
        await settle()
        backend.push(*(Evaluation("q", n, answer(n)) for n in range(1, 100)))
        await until(lambda: listener.instants == list(range(100)))
        assert not any(isinstance(item, CutOff) for item in listener.got)
        await listener.leave()

    run(check())


def test_who_reads_the_past_is_not_cut_off_for_the_present_going_on() -> None:
    async def check() -> None:
        backend = backend_with_query()
        for n in range(1, 50):
            backend.evaluate("q", n, answer(n))
        hub = hub_for(backend, Bounds(entries=4))
        items = (await hub.subscribe("q", BEGINNING)).items()
        got: list[SubscriptionItem] = []
        for n in range(50, 80):
            got.append(await anext(items))
            backend.evaluate("q", n, answer(n))
        while len(got) < 49:
            got.append(await anext(items))
        assert [
            one.notice.instant for one in got if isinstance(one, Entry) and isinstance(one.notice, Evaluation)
        ] == list(range(1, 50))
        await items.aclose()

    run(check())


def test_big_answers_are_bounded_by_their_bytes_and_the_latest_is_kept() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend, Bounds(bytes=10_000))
        listener = await listen(hub)
        await settle()
        for n in range(1, 10):
            hub.receive([Evaluation("q", n, b"{" + b" " * 9_000)])
            await settle()
        assert listener.instants == list(range(1, 10))
        _, latest = await hub.latest("q")
        assert latest is not None
        assert latest.instant == 9
        assert "replay" not in backend.calls
        await listener.leave()

    run(check())


def test_progress_is_the_latest_only_for_who_lags() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend, Bounds(entries=4))
        items = (await hub.subscribe("q", NOW)).items()
        backend.push(*(Progress("q", n, n) for n in range(100)))
        await settle()
        item = await anext(items)
        assert getattr(item, "notice", None) == Progress("q", 99, 99)
        await items.aclose()

    run(check())


def test_a_failure_is_told_and_the_stream_goes_on() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)
        backend.push(Failed("q", 1, "division"), Evaluation("q", 2, answer(2)))
        await settle()
        assert [getattr(item, "notice", item) for item in listener.got] == [
            Failed("q", 1, "division"), Evaluation("q", 2, answer(2)),
        ]  # fmt: skip
        await listener.leave()

    run(check())


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("bounds", [Bounds(), Bounds(entries=2)])
def test_a_failure_is_told_to_those_who_come_later(bounds: Bounds, restarted: bool) -> None:
    outcomes: list[Outcome] = [
        Failed("q", 1, "away"), Evaluation("q", 2, answer(2)), Failed("q", 3, "away"), Evaluation("q", 4, answer(4)),
        Failed("q", 5, "still away"),
    ]  # fmt: skip

    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend, bounds)
        backend.push(*outcomes)
        await settle()
        if restarted:
            hub = hub_for(backend, bounds)
        for after in range(6):
            late = await listen(hub, StartingPoint(after), until=5)
            await asyncio.wait_for(late.task, 5)
            told = [item.notice for item in late.got if isinstance(item, Entry)]
            assert [one for one in told if not isinstance(one, Progress)] == outcomes[after:]

    run(check())


def test_a_stream_ends_at_the_time_it_was_asked_for_where_nothing_is_evaluated_then() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listeners = [await listen(hub, start, until=5) for start in (NOW, BEGINNING)]
        backend.push(Evaluation("q", 1, answer(1)), Evaluation("q", 2, answer(2)), Progress("q", 5, 5))
        await asyncio.wait_for(asyncio.gather(*(listener.task for listener in listeners)), 5)
        for listener in listeners:
            assert listener.instants == [1, 2]
            assert isinstance(listener.got[-1], Ended)
        # As after a restart: that everything up to 5 is out was told before anybody listened.
        hub = hub_for(backend)
        late = [await listen(hub, start, until=5) for start in (NOW, BEGINNING, StartingPoint(1))]
        await asyncio.wait_for(asyncio.gather(*(listener.task for listener in late)), 5)
        assert [listener.instants for listener in late] == [[], [1, 2], [2]]
        waiting = await listen(hub, BEGINNING, until=6)
        await until(lambda: waiting.instants == [1, 2])
        assert not waiting.task.done()
        await waiting.leave()

    run(check())


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(entries=2)])
def test_the_past_of_a_query_that_began_later_than_asked_for_ends(bounds: Bounds) -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.push(*(Evaluation("q", n, answer(n)) for n in (1, 2, 3)))
        await settle()
        backend._queries["q"] = replace(backend.query("q"), start=9, evaluated=None)
        listener = await listen(hub_for(backend, bounds), BEGINNING, until=7)
        await asyncio.wait_for(listener.task, 5)
        assert listener.instants == [1, 2, 3]
        assert isinstance(listener.got[-1], Ended)

    run(check())


def test_the_end_comes_after_everything_else_and_ends_the_stream() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)
        backend.push(Evaluation("q", 1, answer(1)), Ended("q", "all streams have ended"))
        await asyncio.wait_for(listener.task, 5)
        assert listener.instants == [1]
        assert listener.got[-1] == Ended("q", "all streams have ended")
        late = await listen(hub, BEGINNING)
        await asyncio.wait_for(late.task, 5)
        assert late.instants == [1]
        assert isinstance(late.got[-1], Ended)

    run(check())


def test_a_query_that_ended_before_the_restart_is_replayed_and_ends() -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.push(Evaluation("q", 1, answer(1)), Evaluation("q", 2, answer(2)), Ended("q", "over"))
        hub = hub_for(backend)
        past, now = await listen(hub, BEGINNING), await listen(hub)
        await asyncio.wait_for(asyncio.gather(past.task, now.task), 5)
        assert past.instants == [1, 2]
        assert now.instants == []
        assert isinstance(past.got[-1], Ended)
        assert isinstance(now.got[-1], Ended)

    run(check())


def test_listeners_of_a_removed_query_are_told_and_those_of_its_successor_hear_nothing_of_it() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        old = await listen(hub)
        backend.evaluate("q", 5000, answer(1))
        await settle()
        previous = backend.query("q")
        await hub.register("q", continuous("other"), standing=True, since=0, previous=previous)
        new = await listen(hub)
        backend.evaluate("q", 1000, answer(2))  # the new query starts earlier
        await asyncio.wait_for(old.task, 5)
        await settle()
        assert old.got[-1] == Ended("q", "the query was replaced")
        assert new.instants == [1000]
        await new.leave()

    run(check())


def when_registered(backend: FakeBackend, done: Callable[[], None]) -> None:
    """Have that done between a registration and what is told of it."""
    register = backend.register

    def anew(name: str, query: ContinuousQuery, **asked: Any) -> bool:
        new = register(name, query, **asked)
        done()
        return new

    backend.register = anew  # type: ignore[method-assign]  # of this one object


def test_who_listens_to_a_query_gets_nothing_of_the_one_that_replaces_it_at_once() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        old = await listen(hub)
        when_registered(backend, lambda: backend.evaluate("q", 1000, answer(2)))
        await hub.register("q", continuous("other"), standing=True, since=0, previous=backend.query("q"))
        await asyncio.wait_for(old.task, 5)
        assert old.got == [Ended("q", "the query was replaced")]

    run(check())


def test_who_comes_while_a_query_is_replaced_listens_to_the_new_one() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        old, replaced, there = await listen(hub), threading.Event(), threading.Event()

        def wait_for_them() -> None:
            replaced.set()
            assert there.wait(10)

        when_registered(backend, wait_for_them)
        previous = backend.query("q")
        registering = asyncio.ensure_future(
            hub.register("q", continuous("other"), standing=True, since=0, previous=previous)
        )
        await until(replaced.is_set)
        new = await listen(hub)
        there.set()
        await registering
        backend.evaluate("q", 1000, answer(2))
        await until(lambda: new.instants == [1000])
        await asyncio.wait_for(old.task, 5)
        assert old.got == [Ended("q", "the query was replaced")]
        await new.leave()

    run(check())


@pytest.mark.parametrize("how", ["replaced", "removed and registered"])
def test_who_reads_the_past_of_a_query_gets_nothing_of_the_one_that_has_its_name_then(how: str) -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.push(*(Evaluation("q", n * 1000, answer(n)) for n in range(1, 4)))
        hub = hub_for(backend)
        replay = backend.replay

        def another_one(*asked: Any, **since: Any) -> Iterator[Outcome]:
            if how != "replaced":
                backend.remove("q")
            backend.register("q", continuous("other"), standing=True, since=0)
            backend.push(Evaluation("q", 2000, answer(12)))
            return replay(*asked, **since)

        backend.replay = another_one  # type: ignore[method-assign]  # of this one object
        old = await listen(hub, BEGINNING)
        await asyncio.wait_for(old.task, 5)
        assert old.got == [Ended("q", f"the query was {how.split()[0]}")]

    run(check())


def test_who_listens_is_told_of_the_end_of_a_query_that_is_removed_while_its_start_is_moved_back() -> None:
    async def check() -> None:
        backend = FakeBackend()
        backend.create_stream("s", StreamSettings(STREAM))
        hub = hub_for(backend)
        await hub.register("q", continuous(), standing=False, since=2000, previous=None)
        listener = await listen(hub)
        when_registered(backend, lambda: backend.remove("q"))  # as where its stream is deleted
        with pytest.raises(NotFound):
            await hub.register("q", continuous(), standing=False, since=0, previous=backend.query("q"), same=True)
        await asyncio.wait_for(listener.task, 5)
        assert listener.got == [Ended("q", "the query was removed")]

    run(check())


def test_a_query_that_ends_while_it_is_not_replaced_has_ended_for_its_listeners() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)

        def refused(*_: object, **__: object) -> bool:
            backend.push(Ended("q", "all streams of the query have ended"))
            raise QuerySemanticError("there is no such stream")

        backend.register = refused  # type: ignore[method-assign]  # of this one object
        with pytest.raises(QuerySemanticError):
            await hub.register("q", continuous("other"), standing=True, since=None, previous=backend.query("q"))
        await asyncio.wait_for(listener.task, 5)
        assert listener.got == [Ended("q", "all streams of the query have ended")]

    run(check())


def test_a_query_that_cannot_be_replaced_goes_on_for_its_listeners() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)
        with pytest.raises(QuerySemanticError):
            await hub.register(
                "q", continuous(stream="http://e/x"), standing=True, since=None, previous=backend.query("q")
            )
        backend.evaluate("q", 1000, answer(1))
        await until(lambda: listener.instants == [1000])
        await listener.leave()

    run(check())


def test_moving_the_start_back_ends_nobody_s_stream_and_repeats_nothing() -> None:
    async def check() -> None:
        backend = FakeBackend()
        backend.create_stream("s", StreamSettings(STREAM))
        hub = hub_for(backend)
        await hub.register("q", continuous(), standing=False, since=2000, previous=None)
        first = await listen(hub)
        backend.evaluate("q", 3000, answer(3))
        await until(lambda: first.instants == [3000])
        register = backend.register

        def anew(
            name: str,
            query: ContinuousQuery,
            *,
            standing: bool,
            since: int | None = None,
            landmark: int | None = None,
            limits: EvaluationLimits = NO_LIMITS,
        ) -> bool:
            new = register(name, query, standing=standing, since=since, landmark=landmark, limits=limits)
            backend.push(*(Evaluation(name, n * 1000, answer(n)) for n in range(1, 4)))
            return new

        backend.register = anew  # type: ignore[method-assign]  # of this one object
        await hub.register("q", continuous(), standing=False, since=0, previous=backend.query("q"), same=True)
        second = await listen(hub, StartingPoint(0))
        backend.push(Evaluation("q", 4000, answer(4)))
        await until(lambda: second.instants == [1000, 2000, 3000, 4000])
        assert first.instants == [3000, 4000]
        await first.leave()
        await second.leave()

    run(check())


def test_what_was_before_a_query_was_registered_comes_from_the_log_for_who_asks() -> None:
    async def check() -> None:
        backend = FakeBackend()
        backend.create_stream("s", StreamSettings(STREAM))
        hub = hub_for(backend)
        await hub.register("q", continuous(), standing=True, since=2000, previous=None)
        backend.history["q"] = [Evaluation("q", n * 1000, answer(n)) for n in (1, 2)]
        now, past = await listen(hub), await listen(hub, BEGINNING)
        backend.evaluate("q", 3000, answer(3))
        await until(lambda: past.instants == [1000, 2000, 3000])
        assert now.instants == [3000]
        await now.leave()
        await past.leave()

    run(check())


COMPARED = 1000
"""What a ``Compared`` answer has more than what was told live."""


class Compared(FakeBackend):
    """The first answer after 3, where the query started, is another for who has what was before, as ISTREAM's is."""

    def replay(
        self, name: str, after: Instant | None, upto: Instant, *, before_start: bool = False
    ) -> Iterator[Outcome]:
        start = 3
        compared = before_start or after is None or after < start
        for one in super().replay(name, after, upto, before_start=before_start):
            if isinstance(one, Evaluation) and one.instant > start:
                yield replace(one, data=answer(COMPARED + one.instant)) if compared else one
                compared = False
            else:
                yield one


async def compared_hub(operator: R2S = R2S.ISTREAM) -> tuple[Compared, Hub]:
    """A query that starts at 3; there was something at 1, 2 and 3."""
    backend = Compared()
    backend.create_stream("s", StreamSettings(STREAM))
    hub = hub_for(backend)
    query = replace(continuous(), operator=operator)
    await hub.register("q", query, standing=True, since=3, previous=None)
    backend.history["q"] = [Evaluation("q", instant, answer(instant)) for instant in (1, 2, 3)]
    return backend, hub


async def had(listener: Listener, instant: Instant) -> None:
    """Wait until something came of this instant."""

    def came() -> bool:
        notices = [item.notice for item in listener.got if isinstance(item, Entry)]
        return any(one.instant == instant for one in notices if not isinstance(one, Progress))

    await until(came)


def told(listener: Listener) -> list[int]:
    """The numbers that the answers have."""
    notices = [item.notice for item in listener.got if isinstance(item, Entry)]
    numbers = [one.data for one in notices if isinstance(one, Evaluation)]
    return [int(json.loads(data)["results"]["bindings"][0]["n"]["value"]) for data in numbers]


@pytest.mark.parametrize("joining", ["before", "between", "after", "restarted"])
def test_who_asks_from_before_the_start_has_the_first_answer_after_it_from_the_log_whenever(joining: str) -> None:
    async def check() -> None:
        backend, hub = await compared_hub()
        live = await listen(hub)
        starts = {
            BEGINNING: [1, 2, 3, 1004, 5, 6], StartingPoint(1): [2, 3, 1004, 5, 6],
            StartingPoint(3, 0): [1004, 5, 6],  # an event that it had: it was there before the start
            StartingPoint(3): [4, 5, 6], StartingPoint(4, 0): [5, 6],
        }  # fmt: skip
        listeners: list[Listener] = []
        for instant, moment in ((4, "before"), (5, "between"), (6, "after")):
            if joining == moment:
                listeners = [await listen(hub, start) for start in starts]
                await settle()
            backend.evaluate("q", instant, answer(instant))
            await had(live, instant)
        if joining == "restarted":
            hub = hub_for(backend)
            listeners = [await listen(hub, start) for start in starts]
        await until(lambda: all(one.instants[-1:] == [6] for one in listeners))
        assert [told(one) for one in listeners] == list(starts.values())
        assert told(live) == [4, 5, 6]
        assert not any(isinstance(item, CutOff | Reset) for one in listeners for item in one.got)
        for one in (live, *listeners):
            await one.leave()

    run(check())


def test_whoever_was_before_the_start_has_the_first_answer_from_the_log_also_after_a_failure() -> None:
    async def check() -> None:
        backend, hub = await compared_hub()
        past = await listen(hub, BEGINNING)
        notices: list[Outcome] = [Failed("q", 4, "away"), *(Evaluation("q", n, answer(n)) for n in (5, 6))]
        for notice in notices:
            backend.push(notice)
            await had(past, notice.instant)
        assert told(past) == [1, 2, 3, 1005, 6]
        await past.leave()

    run(check())


def test_of_an_operator_that_compares_nothing_everybody_has_what_was_told_live() -> None:
    async def check() -> None:
        backend, hub = await compared_hub(R2S.RSTREAM)
        past = await listen(hub, BEGINNING)
        await until(lambda: past.instants == [1, 2, 3])
        calls = backend.calls.count("replay")
        backend.evaluate("q", 4, answer(4))
        await until(lambda: past.instants == [1, 2, 3, 4])
        assert (told(past), backend.calls.count("replay")) == ([1, 2, 3, 4], calls)
        await past.leave()

    run(check())


def test_who_asks_from_before_the_start_when_that_is_held_no_more_has_what_was_told_live() -> None:
    async def check() -> None:
        backend, hub = await compared_hub()
        backend.evaluate("q", 4, answer(4))
        backend.evaluate("q", 5, answer(5))
        await settle()
        backend.forget_before("q", 4)
        past = await listen(hub, BEGINNING)
        await until(lambda: past.instants == [5])
        backend.evaluate("q", 6, answer(6))
        await until(lambda: past.instants == [5, 6])
        assert told(past) == [5, 6]
        await past.leave()

    run(check())


def test_who_was_before_the_start_of_a_query_that_is_removed_is_told_its_end() -> None:
    async def check() -> None:
        backend, hub = await compared_hub()
        past = await listen(hub, BEGINNING)
        await until(lambda: past.instants == [1, 2, 3])
        backend.push(Evaluation("q", 4, answer(4)))
        backend.remove("q")
        hub.end("q", "the query was removed")
        await until(past.task.done)
        assert isinstance(past.got[-1], Ended)

    run(check())


def test_who_had_an_answer_before_the_start_has_the_first_from_the_log_also_where_the_start_was_moved_back() -> None:
    async def check() -> None:
        backend, hub = await compared_hub()
        query = backend.query("q")
        backend.evaluate("q", 4, answer(4))
        await settle()
        await hub.register("q", query.query, standing=True, since=1, previous=query, same=True)
        backend.history["q"] = [Evaluation("q", instant, answer(instant)) for instant in (2, 3, 4)]
        past = await listen(hub, StartingPoint(2, 0))
        await until(lambda: past.instants == [3, 4])
        assert told(past) == [3, 1004]
        await past.leave()

    run(check())


def test_who_joins_while_another_opens_the_channel_misses_nothing_between() -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.evaluate("q", 1, answer(1))
        hub = hub_for(backend)
        told, go_on, run_in_thread = asyncio.Event(), asyncio.Event(), hub.threads.run

        async def late(function: Callable[..., Any], *arguments: Any) -> Any:
            found = await run_in_thread(function, *arguments)
            told.set()
            await go_on.wait()
            return found

        hub.threads.run = late  # type: ignore[method-assign,assignment]  # of this one object
        joining = asyncio.create_task(listen(hub, StartingPoint(1)))
        await told.wait()
        backend.evaluate("q", 2, answer(2))
        hub.threads.run = run_in_thread  # type: ignore[method-assign]
        other = await listen(hub)
        go_on.set()
        listener = await joining
        await until(lambda: listener.instants == [2])
        await listener.leave()
        await other.leave()

    run(check())


def test_who_has_joined_listens_on_when_the_one_that_opened_the_channel_leaves_before_it_has_joined() -> None:
    async def check() -> None:
        backend = backend_with_query(since=0)
        hub = hub_for(backend)
        run_in_thread = hub.threads.run
        asked = 0

        async def ask_again_for_ever(function: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal asked
            asked += 1
            return await (run_in_thread(function, *arguments) if asked == 1 else asyncio.Event().wait())

        hub.threads.run = ask_again_for_ever  # type: ignore[method-assign,assignment]  # of this one object
        opening = asyncio.create_task(hub.subscribe("q", NOW))
        await until(lambda: asked == 2)
        hub.threads.run = run_in_thread  # type: ignore[method-assign]
        other = await listen(hub)
        opening.cancel()
        await asyncio.wait([opening])
        backend.evaluate("q", 1000, answer(1))
        await until(lambda: other.instants == [1000])
        subscription = await hub.subscribe("q", NOW)
        assert subscription.channel.start == 0
        assert hub.listeners() == {"q": 1}
        await other.leave()

    run(check())


def test_there_is_no_listening_to_a_query_that_is_not_there() -> None:
    async def check() -> None:
        hub = hub_for(backend_with_query())
        with pytest.raises(NotFound):
            await hub.subscribe("nothing", NOW)
        with pytest.raises(NotFound):
            await hub.latest("nothing")

    run(check())


def test_a_replay_waits_while_spark_is_starting() -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.evaluate("q", 1, answer(1))
        hub = hub_for(backend)
        backend.state = "starting"

        async def starts(seconds: float) -> None:
            backend.state = "running"

        hub.sleep = starts
        listener = await listen(hub, BEGINNING)
        await until(lambda: listener.instants == [1])
        await listener.leave()

    run(check())


def test_a_replay_fails_where_spark_has_failed() -> None:
    async def check() -> None:
        backend = backend_with_query()
        backend.evaluate("q", 1, answer(1))
        hub = hub_for(backend)
        backend.state = "failed"
        listener = await listen(hub, BEGINNING)
        with pytest.raises(Unavailable):
            await listener.task

    run(check())


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(entries=20)])
def test_what_was_computed_before_a_replay_fails_is_delivered_first(bounds: Bounds) -> None:
    async def check() -> None:
        backend = backend_with_query()
        for n in range(1, 200):
            backend.evaluate("q", n, answer(n))

        def breaks(name: str, after: int | None, upto: int, *, before_start: bool = False) -> Iterator[Outcome]:
            for past in backend.history["q"]:
                if past.instant == 150:
                    raise RuntimeError("disk")
                if after is None or past.instant > after:
                    yield past

        backend.replay = breaks  # type: ignore[method-assign]  # of this one object
        hub = hub_for(backend, bounds)
        listener = await listen(hub, BEGINNING)
        with pytest.raises(RuntimeError, match="disk"):
            await listener.task
        assert listener.instants == list(range(1, 150))

    run(check())


def test_a_listener_that_leaves_in_the_middle_of_a_replay_closes_it() -> None:
    async def check() -> None:
        backend = backend_with_query()
        for n in range(1, 1000):
            backend.evaluate("q", n, answer(n))
        closed = threading.Event()

        def watched(name: str, after: int | None, upto: int, *, before_start: bool = False) -> Iterator[Outcome]:
            try:
                yield from backend.history["q"]
            finally:
                closed.set()

        backend.replay = watched  # type: ignore[method-assign]  # of this one object
        hub = hub_for(backend, Bounds(entries=20))
        items = (await hub.subscribe("q", BEGINNING)).items()
        await anext(items)
        assert not closed.is_set()
        await items.aclose()
        assert closed.is_set()
        assert hub.listeners() == {}

    run(check())


def test_the_latest_answer_is_computed_again_after_a_restart_and_once() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        assert await hub.latest("q") == (backend.query("q"), None)
        backend.evaluate("q", 1, answer(1))
        backend.evaluate("q", 2, answer(2))
        restarted = Hub(backend, no_store_queries())
        restarted.bind()
        for _ in range(3):
            assert await restarted.latest("q") == (backend.query("q"), Evaluation("q", 2, answer(2)))
        assert backend.calls.count("replay") == 1

    run(check())


def test_the_server_stopping_closes_streams_without_an_end() -> None:
    async def check() -> None:
        backend = backend_with_query()
        hub = hub_for(backend)
        listener = await listen(hub)
        backend.evaluate("q", 1, answer(1))
        await settle()
        await hub.stop()
        await asyncio.wait_for(listener.task, 5)
        assert not any(isinstance(item, Ended) for item in listener.got)

    run(check())


def test_a_server_that_is_told_to_stop_lets_go_of_those_who_listen_and_of_those_who_still_come() -> None:
    async def check() -> None:
        backend = backend_with_query()
        told = asyncio.Event()

        async def server_stops() -> None:
            await told.wait()

        hub = Hub(backend, no_store_queries(), server_stops=server_stops)
        await hub.start()
        backend.listen(hub.receive)
        listener = await listen(hub)
        backend.register("r", continuous(), standing=True)
        assert not hub.stopping.is_set()
        told.set()
        await asyncio.wait_for(listener.task, 5)
        assert hub.stopping.is_set()
        for name in ("q", "r"):
            late = await hub.subscribe(name, NOW)
            assert [item async for item in late.items()] == []

    run(check())


def test_a_hub_outlives_the_event_loop_it_was_in() -> None:
    backend = backend_with_query()
    hub = Hub(backend, no_store_queries())
    backend.listen(hub.receive)
    backend.evaluate("q", 1, answer(1))  # before there is any loop

    async def once(instant: int) -> None:
        hub.bind()
        listener = await listen(hub)
        backend.evaluate("q", instant, answer(instant))
        await until(lambda: listener.instants == [instant])
        await listener.leave()

    run(once(2))
    backend.evaluate("q", 3, answer(3))  # while there is none any more
    run(once(4))


def test_a_hub_that_starts_after_another_server_was_stopped_in_the_process_ends_no_result_stream() -> None:
    async def started() -> bool:
        AppStatus.should_exit = True
        await Hub(FakeBackend(), no_store_queries()).start()
        return AppStatus.should_exit

    assert asyncio.run(started()) is False
