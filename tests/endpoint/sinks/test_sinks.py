from __future__ import annotations

import asyncio
import errno
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from endpoint.backend import Ended, QueryDescription
from endpoint.live.registration import put_query, register_query, remove_query
from endpoint.sinks import delivery
from endpoint.sinks import sinks as sinks_module
from endpoint.sinks.delivery import Delivery
from endpoint.sinks.sink_files import KeptSink, SinkFiles
from endpoint.sinks.sinks import MadeSink, Sinks, TooManySinks
from endpoint.sinks.targets import SinkRefused, target_of
from protocol.errors import NotFound, Unavailable
from protocol.formats.allow_list import NOTHING
from protocol.formats.sse import resume_token
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.sinks.body import Body, NotSendable, body_of
from protocol.sinks.settings import SinkSettings, SinkType
from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL
from tests.endpoint.cancelling import MOMENTS, cancelled
from tests.endpoint.live.live_side import STREAM, answer, continuous, run, until
from tests.endpoint.sinks.receivers import FakeTarget
from tests.endpoint.sinks.world import ALLOWED, OTHER, WEBHOOK, World
from tests.endpoint.store_queries.store_side import LiveSide, MemoryStore, live


class Panicking(BaseException):
    """As pyoxigraph's is."""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_sink_begins_with_the_first_evaluation_after_it_was_made(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            world.evaluate(1000, 2000)
            assert (await sinks.put("q", "a", WEBHOOK, None)).new
            world.evaluate(3000, 4000)
            target = world.targets[WEBHOOK.url]
            await until(lambda: target.instants == [3000, 4000])
            assert [one.identifier for one in target.taken] == [resume_token(3000), resume_token(4000)]
            assert [one.body.content for one in target.taken] == [answer(3000), answer(4000)]
            assert sinks.sink("q", "a").state.delivered == 2

    run(check())


def test_a_sink_begins_where_it_was_asked_to(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            world.evaluate(1000, 2000, 3000)
            await sinks.put("q", "a", WEBHOOK, 1000)
            await sinks.put("q", "b", OTHER, BEFORE_ALL)
            await until(lambda: world.targets[WEBHOOK.url].instants == [2000, 3000])
            await until(lambda: world.targets[OTHER.url].instants == [1000, 2000, 3000])
            assert sinks.sink("q", "b").state.resets == 0

    run(check())


def test_a_sink_has_its_position_as_soon_as_it_is_made(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            world.evaluate(1000, 2000)
            await sinks.put("q", "a", WEBHOOK, None)
            assert sinks.sink("q", "a").state.position == 2000
            await sinks.put("q", "a", OTHER, None)
            assert sinks.sink("q", "a").state.position == 2000
            await sinks.put("q", "a", OTHER, 1000)
            assert sinks.sink("q", "a").state.position == 1000

    run(check())


def test_a_sink_resumes_where_it_was_when_the_server_starts_again(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
        world.evaluate(2000, 3000)
        async with world.at_work() as sinks:
            await until(lambda: world.targets[WEBHOOK.url].instants == [1000, 2000, 3000])
            assert sinks.sink("q", "a").sink.settings == WEBHOOK

    run(check())


def test_a_sink_whose_address_is_no_longer_allowed_sends_nothing_until_it_is_again(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
        world.evaluate(2000)
        now_refused = partial(target_of, write_kafka=world.backend.write_kafka, allowed=NOTHING)
        async with world.at_work(NOTHING, now_refused) as sinks:
            state = sinks.sink("q", "a").state
            await until(lambda: state.failing_since is not None)
            assert state.error == (
                f"this server may not send to {WEBHOOK.url}: --allow-fetch names the addresses that sinks may have"
            )
        async with world.at_work():
            await until(lambda: world.targets[WEBHOOK.url].instants == [1000, 2000])

    run(check())


def test_a_sink_that_had_nothing_yet_loses_nothing_in_a_crash(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
        world.evaluate(1000)
        async with world.at_work():
            await until(lambda: world.targets[WEBHOOK.url].instants == [1000])

    run(check())


def test_a_sink_that_had_nothing_of_a_live_query_yet_gets_what_was_removed_meanwhile(tmp_path: Path) -> None:
    async def check() -> None:
        side = await LiveSide(MemoryStore(), tmp_path).start()
        side.store.update("INSERT DATA { <http://e/s> <http://e/p> 1 }")
        await put_query(side.hub, "gone", live("SELECT DSTREAM ?o { ?s ?p ?o }"), None)
        target = FakeTarget()
        sinks = Sinks(side.hub, tmp_path, ALLOWED, connect=lambda settings: target)
        await sinks.put("gone", "a", WEBHOOK, None)
        await until(lambda: sinks.sink("gone", "a").state.position not in (None, BEFORE_ALL))
        await sinks.stop()
        side.store.update("DELETE DATA { <http://e/s> <http://e/p> 1 }")
        sinks = Sinks(side.hub, tmp_path, ALLOWED, connect=lambda settings: target)
        sinks.bind()
        while not target.taken:
            await side.quiet()
        assert b'"value":"1"' in target.taken[0].body.content
        await sinks.stop()
        await side.stop()

    run(check())


def test_a_sink_that_is_replaced_goes_on_where_it_was(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            world.targets[WEBHOOK.url].failing = "it is away"
            world.evaluate(1000)
            await until(lambda: world.targets[WEBHOOK.url].attempts)
            assert not (await sinks.put("q", "a", OTHER, None)).new
            await until(lambda: world.targets[OTHER.url].instants == [1000])
            assert world.targets[WEBHOOK.url].closed == 1
            assert not (await sinks.put("q", "a", OTHER, None)).new
            assert world.targets[OTHER.url].closed == 0

    run(check())


def test_a_sink_that_is_replaced_as_the_server_starts_is_at_work_as_what_it_is_now(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
        begun, write = threading.Event(), SinkFiles.write

        def written_late(*asked: Any) -> None:
            assert begun.wait(10)
            write(*asked)

        monkeypatch.setattr(SinkFiles, "write", written_late)
        world.waits.clear()
        async with world.at_work() as sinks:
            putting = asyncio.ensure_future(sinks.put("q", "a", OTHER, None))
            await until(lambda: world.waits)  # all sinks there are were started before
            begun.set()
            await putting
            world.evaluate(1000)
            await until(lambda: world.targets[OTHER.url].instants == [1000])
            assert world.targets[WEBHOOK.url].taken == []

    run(check())


def test_sinks_go_with_their_query(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            await remove_query(world.hub, "q", forget=sinks.forget)
            assert sinks.of("q") == []
            assert list((world.data / "sinks").iterdir()) == []
            with pytest.raises(NotFound):
                await sinks.put("q", "a", WEBHOOK, None)

    run(check())


def test_sinks_of_a_query_that_nobody_knows_are_set_aside(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
        world.backend.remove("q")
        async with world.at_work() as sinks:
            await until(lambda: not sinks.of("q"))
            await until(lambda: (world.data / "sinks.unknown-1" / "q" / "a.json").exists())

    run(check())


class Killed(BaseException):
    """The server's process."""


async def _killed(query: str) -> None:
    raise Killed


@pytest.mark.parametrize("register", [False, True])
def test_a_query_that_is_made_right_after_a_crash_has_no_sinks_of_one_that_was_just_being_removed(
    world: World, monkeypatch: pytest.MonkeyPatch, register: bool
) -> None:
    async def long(seconds: float) -> None:
        slept.set()
        await asyncio.Event().wait()

    def starting() -> list[QueryDescription]:
        raise Unavailable("it is being started")

    slept = asyncio.Event()
    text = f"SELECT * FROM STREAM <{STREAM}> [RANGE 2] WHERE {{ ?s ?p ?o }}"
    named, plain = parse(f"REGISTER QUERY q AS {text}"), parse(text)
    assert isinstance(named, ContinuousQuery)
    assert isinstance(plain, ContinuousQuery)

    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            with pytest.raises(Killed):
                await remove_query(world.hub, "q", forget=_killed)
        assert SinkFiles(world.data).kept() != []
        # Sinks look for their queries again some time after Spark is there; requests do not wait for that.
        monkeypatch.setattr(world, "sleep", long)
        queries = world.backend.queries
        monkeypatch.setattr(world.backend, "queries", starting)
        async with world.at_work() as sinks:
            await slept.wait()
            monkeypatch.setattr(world.backend, "queries", queries)
            if register:
                await register_query(world.hub, named, None, clear=sinks.set_aside)
            else:
                await put_query(world.hub, "q", plain, None, clear=sinks.set_aside)
            assert sinks.all() == []
            world.evaluate(2000)
            assert (await sinks.put("q", "b", OTHER, BEFORE_ALL)).new
            await until(lambda: world.targets[OTHER.url].instants == [2000])
        assert target.instants == [1000]
        assert [one.name for one in SinkFiles(world.data).kept()] == ["b"]
        assert (world.data / "sinks.unknown-1" / "q" / "a.json").exists()

    run(check())


def test_sinks_of_a_query_that_cannot_be_evaluated_are_its_successors(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
        world.backend.fall_asleep("q")
        async with world.at_work() as sinks:
            await put_query(world.hub, "q", continuous("SELECT another"), None, clear=sinks.set_aside)
            world.evaluate(2000)
            await until(lambda: 2000 in target.instants)

    run(check())


def test_sinks_of_a_query_that_cannot_be_evaluated_wait_for_it(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
        world.backend.fall_asleep("q")
        async with world.at_work() as sinks:
            waited = len(world.waits)
            await until(lambda: len(world.waits) > waited + 2)
            assert sinks.of("q") != []
        assert (world.data / "sinks" / "q" / "a.json").exists()
        world.backend.wake("q")
        world.evaluate(2000)
        async with world.at_work():
            await until(lambda: target.instants == [1000, 2000])

    run(check())


def test_sinks_that_cannot_be_set_aside_yet_hold_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    set_aside, attempts = SinkFiles.set_aside, 0
    writable = threading.Event()

    def refused(files: SinkFiles, query: str) -> Path | None:
        nonlocal attempts
        attempts += 1
        if not writable.is_set():
            raise OSError(errno.EROFS, "Read-only file system")
        return set_aside(files, query)

    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
        SinkFiles(world.data).write(KeptSink("gone", "b", OTHER, "…"), 1000)
        monkeypatch.setattr(SinkFiles, "set_aside", refused)
        async with world.at_work() as sinks:
            world.evaluate(1000)
            await until(lambda: world.targets[WEBHOOK.url].instants == [1000])
            await until(lambda: attempts > 1)
            assert "Read-only file system" in caplog.text
            assert sinks.of("gone") != []
            writable.set()
            await until(lambda: not sinks.of("gone"))
            assert (world.data / "sinks.unknown-1" / "gone" / "b.json").exists()
            assert sinks.of("q") != []

    run(check())


def test_a_position_that_cannot_be_synced_keeps_no_other_from_the_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[str] = set()

    def sync(one: Delivery) -> None:
        if one.sink.name == "a":
            raise OSError(errno.EIO, "Input/output error")
        synced.add(one.sink.name)

    async def check() -> None:
        monkeypatch.setattr(Delivery, "sync", sync)
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            await sinks.put("q", "b", OTHER, None)
            await until(lambda: synced == {"b"})

    run(check())


def test_positions_are_brought_to_the_disk_also_after_there_was_no_thread_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def sync(deliveries: list[Delivery]) -> None:
        looks.append(len(deliveries))
        if len(looks) == 1:
            raise RuntimeError("can't start new thread")

    async def check() -> None:
        monkeypatch.setattr(Sinks, "_sync", staticmethod(sync))
        async with world.at_work():
            await until(lambda: len(looks) > 1)

    run(check())


def test_sinks_of_a_query_that_is_made_while_they_are_looked_at_stay(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, made = world.backend.queries, threading.Event()

    def queries() -> list[QueryDescription]:
        found = listed()
        if not made.is_set():
            world.backend.register("late", continuous(), standing=True)
            made.set()
        return found

    async def check() -> None:
        SinkFiles(world.data).write(KeptSink("late", "a", WEBHOOK, "…"), 1000)
        monkeypatch.setattr(world.backend, "queries", queries)
        async with world.at_work() as sinks:
            await until(made.is_set)
            world.backend.evaluate("late", 2000, answer(2))
            await until(lambda: world.targets[WEBHOOK.url].instants)
            assert [one.sink.name for one in sinks.of("late")] == ["a"]

    run(check())


def test_what_is_refused_changes_nothing(world: World) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            for settings, error in (
                (SinkSettings(SinkType.WEBHOOK, "http://elsewhere.example/", "json"), SinkRefused),
                (SinkSettings(SinkType.WEBHOOK, WEBHOOK.url, "text/turtle"), NotSendable),
            ):
                with pytest.raises(error):
                    await sinks.put("q", "a", settings, None)
            with pytest.raises(NotFound):
                sinks.sink("q", "a")
            with pytest.raises(NotFound):
                await sinks.remove("q", "a")
            assert not (world.data / "sinks").exists()

    run(check())


def test_there_is_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks_module, "MOST_SINKS", 3)

    async def check() -> None:
        async with world.at_work() as sinks:
            for number in range(3):
                await sinks.put("q", f"sink-{number}", WEBHOOK, None)
            with pytest.raises(TooManySinks):
                await sinks.put("q", "one-more", WEBHOOK, None)
            await sinks.remove("q", "sink-0")
            assert (await sinks.put("q", "one-more", WEBHOOK, None)).new

    run(check())


def test_the_limit_holds_for_sinks_that_are_made_at_the_same_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks_module, "MOST_SINKS", 3)

    async def check() -> None:
        queries = [f"q{number}" for number in range(8)]
        for query in queries:
            world.backend.register(query, continuous(f"SELECT {query}"), standing=True)
        async with world.at_work() as sinks:
            made = await asyncio.gather(
                *(sinks.put(query, "a", WEBHOOK, None) for query in queries), return_exceptions=True
            )
            assert sum(isinstance(one, MadeSink) and one.new for one in made) == len(sinks.all()) == 3
            assert sum(isinstance(one, TooManySinks) for one in made) == 5
            await sinks.remove(sinks.all()[0].sink.query, "a")
            assert (await sinks.put("q", "a", WEBHOOK, None)).new

    run(check())


def test_a_sink_that_could_not_be_removed_is_there_and_at_work(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            with monkeypatch.context() as failing:
                failing.setattr(SinkFiles, "remove", broken)
                with pytest.raises(OSError, match="Input/output error"):
                    await sinks.remove("q", "a")
            assert sinks.sink("q", "a").sink.settings == WEBHOOK
            world.evaluate(2000)
            await until(lambda: target.instants == [1000, 2000])
            await sinks.remove("q", "a")
            assert sinks.all() == []
        async with world.at_work() as sinks:
            assert sinks.all() == []

    run(check())


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_sink_goes_on_after_a_panic_while_an_answer_is_brought_into_its_format(
    world: World, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    panics = iter([Panicking("out of bounds")])

    def panicking(*arguments: Any) -> Body | None:
        if (panic := next(panics, None)) is not None:
            raise panic
        return body_of(*arguments)

    monkeypatch.setattr(delivery, "body_of", panicking)

    async def check() -> None:
        async with world.at_work() as sinks:
            await sinks.put("q", "a", WEBHOOK, None)
            world.backend.evaluate("q", 1000, answer(1000) + b" " * size)
            await until(lambda: world.targets[WEBHOOK.url].instants == [1000])
            assert "out of bounds" in str(sinks.sink("q", "a").state.error)

    run(check())


@pytest.mark.parametrize("broken", [{"remove_all"}, {"remove_all", "set_aside"}])
def test_a_query_is_removed_also_where_its_sinks_cannot_be_deleted(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: set[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
            with monkeypatch.context() as failing:
                for name in broken:
                    failing.setattr(SinkFiles, name, fail)
                await remove_query(world.hub, "q", forget=sinks.forget)
            assert sinks.all() == []
            assert bool(SinkFiles(world.data).kept()) is ("set_aside" in broken)
            assert caplog.text.count("Permission denied") == len(broken)

    run(check())


def test_sinks_begin_also_where_the_queries_could_not_be_looked_at_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
        failures, queries = iter([OSError("Too many open files"), MemoryError()]), world.backend.queries

        def failing() -> list[QueryDescription]:
            if (failure := next(failures, None)) is not None:
                raise failure
            return queries()

        monkeypatch.setattr(world.backend, "queries", failing)
        async with world.at_work():
            world.evaluate(2000)
            await until(lambda: target.instants == [1000, 2000])
        assert next(failures, None) is None

    run(check())


def test_that_positions_are_not_on_the_disk_is_logged_once_until_they_are(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    synced: list[bool] = []

    def sync(deliveries: list[Delivery]) -> None:
        synced.append(len(synced) % 4 == 3)
        if not synced[-1]:
            raise OSError("No space left on device")

    monkeypatch.setattr(Sinks, "_sync", staticmethod(sync))

    async def check() -> None:
        async with world.at_work():
            await until(lambda: len(synced) >= 8)

    run(check())
    warned = caplog.text.count("positions of sinks are not on the disk yet: No space left on device")
    assert warned == (len(synced) + 3) // 4


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_sink_whose_replacement_is_cancelled_is_the_one_on_the_disk_and_at_work(
    world: World, moment: tuple[int, bool]
) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await world.begun(sinks)
            await cancelled(world.hub, moment, sinks.put("q", "a", OTHER, None))
            there = sinks.sink("q", "a").sink
            assert SinkFiles(world.data).kept() == [there]
            world.evaluate(2000)
            target = world.targets[there.settings.url]
            await until(lambda: target.instants[-1:] == [2000])
            assert [one for url in world.targets for one in world.targets[url].instants] == [1000, 2000]

    run(check())


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_sink_whose_making_is_cancelled_is_there_whole_or_not_at_all(world: World, moment: tuple[int, bool]) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            await cancelled(world.hub, moment, sinks.put("q", "a", WEBHOOK, None))
            kept = SinkFiles(world.data).kept()
            assert [one.sink for one in sinks.all()] == kept
            world.evaluate(1000)
            if kept:
                await until(lambda: world.targets[WEBHOOK.url].instants == [1000])

    run(check())


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_sink_whose_removal_is_cancelled_is_at_work_or_gone(world: World, moment: tuple[int, bool]) -> None:
    async def check() -> None:
        async with world.at_work() as sinks:
            target = await world.begun(sinks)
            await cancelled(world.hub, moment, sinks.remove("q", "a"))
            kept = SinkFiles(world.data).kept()
            assert [one.sink for one in sinks.all()] == kept
            world.evaluate(2000)
            if kept:
                await until(lambda: target.instants == [1000, 2000])

    run(check())


@pytest.mark.parametrize("live_query", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_query_whose_removal_is_cancelled_is_there_with_its_sinks_or_gone_with_them(
    tmp_path: Path, moment: tuple[int, bool], live_query: bool
) -> None:
    async def check() -> None:
        side = await LiveSide(MemoryStore(), tmp_path).start()
        side.hub.backend.create_stream("s", StreamSettings(STREAM))
        query = live("ASK {}") if live_query else continuous()
        await put_query(side.hub, "q", query, None)
        sinks = Sinks(side.hub, tmp_path, ALLOWED, connect=lambda _: FakeTarget())
        sinks.bind()
        await sinks.put("q", "a", WEBHOOK, None)
        listener = side.listen("q")
        await until(lambda: listener.there)
        await cancelled(side.hub, moment, remove_query(side.hub, "q", forget=sinks.forget))
        there = [one.name for one in side.hub.queries.queries()] == ["q"]
        assert bool(sinks.all()) is bool(SinkFiles(tmp_path).kept()) is there
        if not there:
            await until(lambda: any(isinstance(one, Ended) for one in listener.items))
        await sinks.stop()
        await side.stop()

    run(check())
