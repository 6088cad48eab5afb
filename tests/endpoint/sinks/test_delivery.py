from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from endpoint.backend import Evaluation, Failed
from endpoint.live.channel import Bounds
from endpoint.live.hub import AnySubscription, Hub
from endpoint.live.registration import put_query
from endpoint.live.subscription import NOW, StartingPoint
from endpoint.sinks import delivery
from endpoint.sinks.sink_files import KeptSink, Position, SinkFiles
from endpoint.sinks.sinks import Sinks
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.entailment.regimes import Regime
from protocol.errors import NotFound
from protocol.language.model import ContinuousQuery
from protocol.sinks.settings import SinkSettings, SinkType
from protocol.sparql.dataset import RequestedGraphs
from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL, Instant
from tests.endpoint.live.live_side import STREAM, answer, continuous, run, settle, until
from tests.endpoint.sinks.receivers import FakeTarget
from tests.endpoint.sinks.world import ALLOWED, OTHER, WEBHOOK, World
from tests.endpoint.store_queries.store_side import LiveSide, MemoryStore, live


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_failing_sink_delays_nobody_and_skips_nothing(tmp_path: Path) -> None:
    # A channel that holds four answers: what the failing one lacks is computed again.
    world = World(tmp_path, Bounds(entries=4))

    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            await sinks.put("q", "b", OTHER, None)
            failing, other = world.targets[WEBHOOK.url], world.targets[OTHER.url]
            failing.failing = "it is away"
            every = list(range(1000, 101_000, 1000))
            for instant in every:
                world.evaluate(instant)
                await until(lambda instant=instant: other.instants[-1:] == [instant])  # type: ignore[misc]
            assert other.instants == every
            await until(lambda: failing.attempts > 2)
            state = sinks.sink("q", "a").state
            assert (state.error, state.failing_since is not None, state.delivered) == ("it is away", True, 0)
            failing.failing = ""
            await until(lambda: failing.instants == every)
            assert state.failing_since is None
            assert state.error == "it is away"
            assert state.failures == failing.attempts - len(every)

    run(check())


def test_a_sink_does_not_wait_for_those_who_listen(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            told = 0

            async def listen(subscription: AnySubscription) -> None:
                nonlocal told
                async for _ in subscription.batches():
                    told += 1

            # The sink has come before them, and waits after them once it was woken.
            tasks = [asyncio.create_task(listen(await world.hub.subscribe("q", NOW))) for _ in range(500)]
            await settle()
            for instant in (2000, 3000):
                before = told
                world.evaluate(instant)
                while target.instants[-1] < instant:
                    await asyncio.sleep(0)
                assert told - before < 100
                await until(lambda before=before: told == before + 500)  # type: ignore[misc]
            for task in tasks:
                task.cancel()

    run(check())


@pytest.mark.parametrize("restarted", [False, True])
def test_who_has_had_the_last_answer_before_the_querys_start_has_the_next_one_compared_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    starts: list[StartingPoint] = []
    subscribe = Hub.subscribe

    async def subscribed(hub: Hub, name: str, start: StartingPoint) -> AnySubscription:
        starts.append(start)
        return await subscribe(hub, name, start)

    monkeypatch.setattr(Hub, "subscribe", subscribed)

    async def check() -> None:
        world.evaluate(500, 1000)
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, 500)
            target = world.targets[WEBHOOK.url]
            await until(lambda: target.instants == [1000])
            if not restarted:
                # So long that it has no subscription any more.
                target.failing, target.retry_in = "it is away", 60
                world.evaluate(2000)
                await until(lambda: target.attempts > 1)
                target.failing = ""
                await until(lambda: target.instants == [1000, 2000])
        world.evaluate(3000)
        async with world.at_work():
            await until(lambda: target.instants[-1] == 3000)
        assert [start for start in starts if start.after == 500] == [StartingPoint(500)]
        assert all(start.incarnation == 0 for start in starts if start.after != 500)
        assert len(starts) > 1

    run(check())


def test_for_what_is_the_servers_own_it_does_not_wait_longer_each_time(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            target.failing, target.retry_in = "Spark is starting", 0.25
            world.evaluate(2000)
            await until(lambda: target.attempts > 6)
            target.failing = ""
            await until(lambda: target.instants == [1000, 2000])
            # Positions are synced each second beside it.
            assert set(world.waits) <= {0.25, 1}
            assert sinks.sink("q", "a").state.failures == world.waits.count(0.25) > 5

    run(check())


def test_it_goes_on_as_soon_as_answers_can_be_computed_again(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
        world.evaluate(2000)
        world.backend.state = "failed"
        async with world.at_work() as sinks:
            state = sinks.sink("q", "a").state
            await until(lambda: state.failures > 10)
            assert state.failing_since is not None
            world.backend.state = "running"
            target = world.targets[WEBHOOK.url]
            await until(lambda: target.instants == [1000, 2000])
            assert max(world.waits) == 1

    run(check())


def test_nothing_is_held_open_for_one_that_is_to_come_back_later(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            target.failing, target.retry_after = "it is too busy", 600
            world.evaluate(2000)
            # All of this while it is not time yet to deliver again.
            world.come_back = asyncio.Event()
            await until(lambda: 600 in world.waits and world.hub.listeners() == {})
            assert target.attempts == 2
            target.failing = ""
            world.come_back.set()
            await until(lambda: target.instants == [1000, 2000])
            assert (target.attempts, world.waits.count(600)) == (3, 1)

    run(check())


def test_what_is_no_longer_held_is_told(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
        world.evaluate(2000, 3000, 4000)
        world.backend.forget_before("q", 2000)
        async with world.at_work() as sinks:
            await until(lambda: world.targets[WEBHOOK.url].instants == [1000, 3000, 4000])
            state = sinks.sink("q", "a").state
            assert (state.resets, state.reset) == (1, 2000)

    run(check())


@pytest.mark.parametrize("since", [None, BEFORE_ALL])
def test_what_is_no_longer_held_is_told_where_nothing_was_delivered_yet(world: World, since: int | None) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, since)
        world.evaluate(1000, 2000, 3000)
        world.backend.forget_before("q", 2000)
        async with world.at_work() as sinks:
            await until(lambda: world.targets[WEBHOOK.url].instants == [3000])
            state = sinks.sink("q", "a").state
            assert (state.resets, state.reset) == (1, 2000)

    run(check())


def test_who_begins_with_what_is_held_lacks_nothing(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            world.evaluate(1000, 2000, 3000)
            world.backend.forget_before("q", 2000)
            await sinks.put("q", "a", WEBHOOK, BEFORE_ALL)
            await until(lambda: world.targets[WEBHOOK.url].instants == [3000])
            assert sinks.sink("q", "a").state.resets == 0

    run(check())


def test_a_query_that_is_missed_while_another_takes_its_place_is_found_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    retained_from, missed = world.backend.retained_from, [True]

    def missing(name: str, after: Instant | None = None) -> Instant | None:
        if missed:
            missed.pop()
            raise NotFound(f"there is no query {name}")
        return retained_from(name, after)

    async def check() -> None:
        world.evaluate(1000, 2000)
        async with world.at_work() as sinks:
            monkeypatch.setattr(world.backend, "retained_from", missing)
            await sinks.put("q", "a", WEBHOOK, 1000)
            await until(lambda: world.targets[WEBHOOK.url].instants == [2000])
            assert not missed

    run(check())


def test_evaluations_that_failed_are_passed_over(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            world.backend.push(Failed("q", 1000, "too much"))
            world.evaluate(2000)
            await until(lambda: world.targets[WEBHOOK.url].instants == [2000])

    run(check())


def test_what_a_format_cannot_say_holds_up_the_rest_until_it_is_left_out_as_the_error_says(world: World) -> None:
    xml = SinkSettings(SinkType.WEBHOOK, WEBHOOK.url, "application/sparql-results+xml")

    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", xml, None)
            world.backend.evaluate("q", 1000, answer(1).replace(b'"1"', b'"\\u0000"'))
            world.evaluate(2000)
            await until(lambda: sinks.sink("q", "a").state.error)
            error = sinks.sink("q", "a").state.error or ""
            assert "U+0000" in error
            assert "All later answers wait" in error
            assert "?since=1970-01-01T00:00:01Z" in error
            await sinks.put("q", "a", xml, 1000)
            await until(lambda: world.targets[WEBHOOK.url].instants == [2000])

    run(check())


@pytest.mark.parametrize("at_once", [1, 10])
def test_what_comes_before_an_answer_that_the_format_cannot_say_is_delivered(world: World, at_once: int) -> None:
    xml = SinkSettings(SinkType.WEBHOOK, WEBHOOK.url, "application/sparql-results+xml")

    async def check() -> None:
        target = world.targets[WEBHOOK.url] = FakeTarget(at_once=at_once)
        world.evaluate(1000, 2000)
        world.backend.evaluate("q", 3000, answer(3).replace(b'"3"', b'"\\u0001"'))
        world.evaluate(4000)
        async with world.at_work() as sinks:
            await sinks.put("q", "a", xml, BEFORE_ALL)
            state = sinks.sink("q", "a").state
            await until(lambda: state.failures > 2)
            assert target.instants == [1000, 2000]
            assert (state.position, state.delivered) == (2000, 2)
            assert state.failing_since is not None
            assert "?since=1970-01-01T00:00:03Z" in (state.error or "")
            await sinks.put("q", "a", xml, 3000)
            await until(lambda: target.instants == [1000, 2000, 4000])

    run(check())


def test_many_answers_are_sent_together_where_the_target_takes_them(world: World) -> None:
    async def check() -> None:
        world.targets[WEBHOOK.url] = FakeTarget(at_once=10)
        world.evaluate(*range(1000, 26_000, 1000))
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, BEFORE_ALL)
            await until(lambda: len(world.targets[WEBHOOK.url].taken) == 25)
            assert world.targets[WEBHOOK.url].instants == list(range(1000, 26_000, 1000))

    run(check())


def test_what_was_taken_does_not_come_with_each_attempt_for_one_that_is_not(world: World) -> None:
    class Choosy(FakeTarget):
        async def deliver(self, answers: Sequence[Answer]) -> None:
            """One after the other, up to one that is too large."""
            self.attempts += 1
            for one in answers:
                if one.instant == 3000 and self.failing:
                    raise DeliveryFailed(self.failing)
                self.taken.append(one)

    async def check() -> None:
        target = world.targets[WEBHOOK.url] = Choosy(at_once=10, failing="it is too large")
        world.evaluate(*range(1000, 6000, 1000))
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, BEFORE_ALL)
            await until(lambda: target.attempts > 10)
            assert target.instants == [1000, 2000] * 2
            state = sinks.sink("q", "a").state
            assert (state.position, state.delivered) == (2000, 2)
            target.failing = ""
            await until(lambda: target.instants == [1000, 2000, *range(1000, 6000, 1000)])

    run(check())


@pytest.mark.parametrize(
    "other",
    [
        continuous("SELECT another"),
        replace(continuous(), entailment=Regime.RDFS),
        replace(continuous(), requested=RequestedGraphs(("http://e/g",))),
    ],
)
def test_a_query_that_is_replaced_keeps_its_sinks_and_nothing_of_the_old_one_comes_again(
    world: World, other: ContinuousQuery
) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            await put_query(world.hub, "q", other, 5000)
            world.evaluate(2000, 6000)
            await until(lambda: target.instants == [1000, 6000])
            assert sinks.sink("q", "a").state.position == 6000
        world.evaluate(7000)
        async with world.at_work():
            await until(lambda: target.instants == [1000, 6000, 7000])

    run(check())


@pytest.mark.parametrize("start", [None, 2000])
def test_a_query_whose_time_is_behind_that_of_the_one_it_replaces_has_its_answers_delivered(
    world: World, start: Instant | None
) -> None:
    # Over other streams, say, of the past, or that have nothing yet.
    async def check() -> None:
        async with world.at_work() as sinks:
            target, state = await world.begun(sinks), sinks.sink("q", "a").state
            world.evaluate(8000)
            await until(lambda: state.position == 8000)
            await put_query(world.hub, "q", continuous("SELECT another"), start)
            world.evaluate(3000)
            await until(lambda: target.instants == [1000, 8000, 3000])
            assert (state.position, state.resets) == (3000, 0)
        world.evaluate(4000)
        async with world.at_work():
            await until(lambda: target.instants == [1000, 8000, 3000, 4000])

    run(check())


def test_a_query_over_streams_of_the_past_that_replaces_a_live_one_has_its_answers_delivered(tmp_path: Path) -> None:
    async def check() -> None:
        side = await LiveSide(MemoryStore(), tmp_path).start()
        side.backend.create_stream("s", StreamSettings(STREAM))
        side.backend.listen(side.hub.receive)
        await put_query(side.hub, "q", live("SELECT * { ?s ?p ?o }"), None)
        target = FakeTarget()
        sinks = Sinks(side.hub, tmp_path, ALLOWED, connect=lambda settings: target)
        await sinks.put("q", "a", WEBHOOK, None)
        while not target.taken:
            await side.quiet()
        # The time of a live query's answer is the clock's.
        assert target.taken[0].instant > 500
        await put_query(side.hub, "q", continuous(), None)
        side.backend.evaluate("q", 500, answer(1))
        await until(lambda: target.instants[1:] == [500])
        await sinks.stop()
        await side.stop()

    run(check())


@pytest.mark.parametrize("hold_seconds", [0, 5])
def test_a_query_that_is_replaced_while_its_sink_fails_has_its_answers_delivered(
    world: World, monkeypatch: pytest.MonkeyPatch, hold_seconds: float
) -> None:
    monkeypatch.setattr(delivery, "_HOLD_SECONDS", hold_seconds)

    async def check() -> None:
        async with world.at_work() as sinks:
            target, state = await world.begun(sinks), sinks.sink("q", "a").state
            target.failing = "it is away"
            world.evaluate(2000, 3000, 4000)
            await until(lambda: target.attempts > 3)
            await put_query(world.hub, "q", continuous("SELECT another"), 4000)
            world.evaluate(5000)
            target.failing = ""
            await until(lambda: target.instants[-1] == 5000)
            assert target.instants == [1000, 2000, 3000, 4000, 5000]
            assert (state.resets, state.position) == (0, 5000)

    run(check())


@pytest.mark.parametrize(("start", "resets"), [(3000, 1), (2000, 0)])
def test_what_a_query_answered_that_came_and_went_while_the_sink_failed_is_told(
    world: World, start: Instant, resets: int
) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target, state = await world.begun(sinks), sinks.sink("q", "a").state
            target.failing = "it is away"
            world.evaluate(2000)
            await until(lambda: target.attempts > 3)
            await put_query(world.hub, "q", continuous("SELECT another"), 2000)
            if resets:
                world.evaluate(3000)
            await put_query(world.hub, "q", continuous("SELECT the last"), start)
            world.evaluate(4000)
            target.failing = ""
            await until(lambda: target.instants[-1] == 4000)
            assert target.instants == [1000, 2000, 4000]
            assert (state.resets, state.reset) == (resets, 3000 if resets else None)

    run(check())


@pytest.mark.parametrize("hold_seconds", [0, 5])
def test_a_sink_that_is_replaced_after_its_query_delivers_what_that_had_answered(
    world: World, monkeypatch: pytest.MonkeyPatch, hold_seconds: float
) -> None:
    monkeypatch.setattr(delivery, "_HOLD_SECONDS", hold_seconds)

    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            target.failing = "it has moved"
            world.evaluate(2000, 3000, 4000)
            await until(lambda: target.attempts > 3)
            await put_query(world.hub, "q", continuous("SELECT another"), 4000)
            assert not (await sinks.put("q", "a", OTHER, None)).new
            world.evaluate(5000)
            other = world.targets[OTHER.url]
            await until(lambda: other.instants[-1:] == [5000])
            assert other.instants == [2000, 3000, 4000, 5000]
            assert sinks.sink("q", "a").state.resets == 0

    run(check())


@pytest.mark.parametrize(("where", "method"), [(Position, "begin"), (SinkFiles, "write")])
def test_what_a_full_disk_keeps_from_being_written_of_a_replaced_query_is_written_later(
    world: World, monkeypatch: pytest.MonkeyPatch, where: type, method: str
) -> None:
    real, full = getattr(where, method), [True]

    def write(*arguments: object) -> None:
        if full:
            full.pop()
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*arguments)

    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            monkeypatch.setattr(where, method, write)
            # The new one would say this again, of an instant before its start.
            world.backend.history["q"].append(Evaluation("q", 3000, answer(3)))
            await put_query(world.hub, "q", continuous("SELECT another"), 5000)
            world.evaluate(6000)
            await until(lambda: target.instants[-1] == 6000)
            assert target.instants == [1000, 6000]
            assert sinks.sink("q", "a").state.failures == 1
            assert SinkFiles(world.data).kept() == [sinks.sink("q", "a").sink]

    run(check())


def test_what_is_no_longer_held_of_a_query_that_was_replaced_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(delivery, "_HOLD_SECONDS", 0)
    world = World(tmp_path, Bounds(entries=4))

    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            target, state = world.targets[WEBHOOK.url], sinks.sink("q", "a").state
            target.failing = "it is away"
            world.evaluate(1000)
            await until(lambda: target.attempts > 3)
            every = list(range(2000, 21_000, 1000))
            world.evaluate(*every)
            await put_query(world.hub, "q", continuous("SELECT another"), 20_000)
            world.evaluate(21_000)
            target.failing = ""
            await until(lambda: target.instants[-1:] == [21_000])
            assert state.resets == 1
            assert state.reset is not None
            assert target.instants == [1000, *(one for one in every if one > state.reset), 21_000]
            assert "lacks evaluations up to" in caplog.text

    run(check())


def test_a_query_that_was_replaced_before_a_restart_and_what_its_sink_lacks_is_told(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, 1000)
        world.evaluate(2000)
        world.backend.register("q", continuous("SELECT another"), standing=True, since=5000)
        world.evaluate(6000)
        async with world.at_work() as sinks:
            await until(lambda: world.targets[WEBHOOK.url].instants == [6000])
            state = sinks.sink("q", "a").state
            assert (state.resets, state.reset) == (1, 5000)

    run(check())


def test_a_sink_is_replaced_when_it_has_written_down_that_its_query_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, begun, go_on = SinkFiles.write, threading.Event(), threading.Event()
    written: list[str] = []

    def slowly(files: SinkFiles, sink: KeptSink, begin: Instant | None) -> None:
        if sink.settings == WEBHOOK:
            begun.set()
            assert go_on.wait(10)
        write(files, sink, begin)
        written.append(sink.settings.url)

    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
            monkeypatch.setattr(SinkFiles, "write", slowly)
            await put_query(world.hub, "q", continuous("SELECT another"), 5000)
            await until(begun.is_set)
            replacing = asyncio.create_task(sinks.put("q", "a", OTHER, None))
            await asyncio.sleep(0.01)
            assert written == []
            go_on.set()
            assert not (await replacing).new
            assert written == [WEBHOOK.url, OTHER.url]
            assert [one.settings for one in SinkFiles(world.data).kept()] == [OTHER]

    run(check())


@pytest.mark.parametrize("damage", [lambda whole: b"", lambda whole: b"x" + whole[1:32] + b"x" + whole[33:]])
def test_a_damaged_position_is_told_and_nothing_is_guessed(world: World, damage: Callable[[bytes], bytes]) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
        file = world.data / "sinks" / "q" / "a.position"
        file.write_bytes(damage(file.read_bytes()))
        async with world.at_work() as sinks:
            await until(lambda: sinks.sink("q", "a").state.error)
            assert "damaged" in (sinks.sink("q", "a").state.error or "")
            await sinks.put("q", "a", WEBHOOK, 1000)
            world.evaluate(2000)
            await until(lambda: world.targets[WEBHOOK.url].instants == [2000])

    run(check())
