"""One query of a name, whichever kind takes the place of the other, also where there is no room, or a crash between."""

from __future__ import annotations

import asyncio
import errno
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from endpoint.backend import Ended, Evaluation, QueryDescription
from endpoint.live.all_queries import AllQueries
from endpoint.live.registration import put_query, remove_query
from endpoint.live.subscription import BEGINNING, Subscription
from endpoint.readers.limits import QueryLimits
from endpoint.store_queries import kept
from endpoint.store_queries.kept import KeptQueries
from endpoint.store_queries.store_queries import StoreQueries
from protocol.errors import Conflict, NotFound, StorageFull, Unavailable
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, answer, continuous, run, settle, until
from tests.endpoint.store_queries.store_side import LiveSide, MemoryStore, live

ASK = live("ASK {}")
OTHER = live("ASK { ?s ?p ?o }")


class CrashedError(Exception):
    """The process is no more."""


def _crash(*arguments: Any, **named: Any) -> None:
    raise CrashedError


@pytest.fixture
def backend() -> FakeBackend:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    return backend


def of_store(data: Path) -> StoreQueries:
    store = MemoryStore()
    return StoreQueries(store, store.ask, KeptQueries(data), QueryLimits())


def forms(queries: AllQueries) -> list[tuple[str, bool]]:
    """Name of each query, and whether it is of the store."""
    return [(one.name, one.query.one_shot is not None) for one in queries.queries()]


def test_a_query_of_one_kind_takes_the_place_of_one_of_the_other(backend: FakeBackend, tmp_path: Path) -> None:
    queries = AllQueries(backend, of_store(tmp_path))
    for query in (continuous(), ASK, continuous(), ASK):
        queries.register("q", query, standing=True)
        assert forms(queries) == [("q", query is ASK)]
    assert backend.queries() == []
    queries.remove("q")
    assert forms(queries) == []


KINDS = {"streams": continuous(), "the store": ASK, "the store, another": OTHER}


@pytest.mark.parametrize(("before", "then"), [(one, other) for one in KINDS for other in KINDS if one != other])
def test_who_comes_while_a_query_takes_the_place_of_another_listens_to_the_new_one(
    backend: FakeBackend, tmp_path: Path, before: str, then: str
) -> None:
    async def check() -> None:
        side = await LiveSide(MemoryStore(), tmp_path, backend).start()
        hub, there, go_on = side.hub, threading.Event(), threading.Event()
        await put_query(hub, "q", KINDS[before], None)
        old = await hub.subscribe("q", BEGINNING)
        if before == "streams":
            backend.evaluate("q", 5000, answer(1))
        else:
            hub.tell("q", [Evaluation("q", 5000, answer(1))])
        ask = hub.queries.query

        def described_late(name: str) -> QueryDescription:
            hub.queries.query = ask  # type: ignore[method-assign]  # of this one object
            there.set()
            assert go_on.wait(10)
            return ask(name)

        register = hub.queries.register

        def registered(*asked: Any, **named: Any) -> None:
            register(*asked, **named)
            hub.queries.query = described_late  # type: ignore[method-assign]  # of this one object

        hub.queries.register = registered  # type: ignore[method-assign]  # of this one object
        putting = asyncio.ensure_future(put_query(hub, "q", KINDS[then], None))
        await until(there.is_set)
        new = await hub.subscribe("q", BEGINNING)
        go_on.set()
        await putting
        assert old.channel.ended == "the query was replaced"
        assert (new.channel.ended, new.channel.latest) == (None, None)
        assert new.channel is not old.channel
        await side.stop()

    run(check())


@pytest.mark.parametrize("replaced", [True, False])
def test_a_query_of_the_store_that_is_gone_as_it_was_described_is_listened_to_as_what_has_its_name(
    backend: FakeBackend, tmp_path: Path, replaced: bool
) -> None:
    async def check() -> None:
        side = await LiveSide(MemoryStore(), tmp_path, backend).start()
        hub, described = side.hub, side.hub.queries.query
        await put_query(hub, "q", ASK, None)
        hub.end("q", "nobody has listened yet")
        asked: list[str] = []

        def gone_then(name: str) -> QueryDescription:
            found = described(name)
            asked.append(name)
            if len(asked) == 2:
                hub.queries.remove(name)
                if replaced:
                    backend.register(name, continuous(), standing=True)
            return found

        hub.queries.query = gone_then  # type: ignore[method-assign]  # of this one object
        with nullcontext() if replaced else pytest.raises(NotFound):
            assert isinstance(await hub.subscribe("q", BEGINNING), Subscription)
        await side.stop()

    run(check())


def test_a_query_stays_where_there_is_no_room_for_the_one_in_its_place(
    backend: FakeBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = AllQueries(backend, of_store(tmp_path))
    queries.register("q", continuous(), standing=True)
    queries.register("r", ASK, standing=True)
    KeptQueries(tmp_path).note_answer("r", 10**15, "digest", None)

    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept, "_write", full)
    for name in ("q", "r"):
        with pytest.raises(StorageFull):
            queries.register(name, OTHER, standing=True)
    assert forms(queries) == [("q", False), ("r", True)]
    assert queries.query("r").query == ASK
    assert KeptQueries(tmp_path).answer("r") is not None


class Panicking(BaseException):
    """As pyoxigraph's is."""


@pytest.mark.parametrize("failure", [Conflict("the stream of q is read"), Panicking("out of bounds")])
def test_a_query_that_cannot_be_removed_for_another_stays(
    backend: FakeBackend, tmp_path: Path, failure: BaseException
) -> None:
    queries = AllQueries(backend, of_store(tmp_path))
    queries.register("q", continuous(), standing=True)
    backend.failures["remove"] = failure
    with pytest.raises(type(failure)):
        queries.register("q", ASK, standing=True)
    assert forms(queries) == [("q", False)]
    assert KeptQueries(tmp_path).queries() == []


@pytest.mark.parametrize("live_is_new", [True, False])
@pytest.mark.parametrize("is_read", [False, True])
def test_a_crash_between_the_two_leaves_one(
    backend: FakeBackend, tmp_path: Path, live_is_new: bool, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = AllQueries(backend, of_store(tmp_path))
    with monkeypatch.context() as patch:
        if live_is_new:
            before.register("q", continuous(), standing=True)
            patch.setattr(backend, "remove", _crash)
            patch.setattr(before.of_store, "remove", _crash)
            new = ASK
        else:
            before.register("q", ASK, standing=True)
            patch.setattr(before.of_store, "remove", _crash)
            new = continuous()
        with pytest.raises(CrashedError):
            before.register("q", new, standing=True)
    if is_read:
        backend.failures["remove"] = Conflict("the stream of q is read")

    async def started_again() -> None:
        side = LiveSide(MemoryStore(), tmp_path, backend)
        # Of one name is what is shown from the first moment.
        assert forms(side.hub.queries) == [("q", True)]
        await side.start()
        listener = side.listen("q")
        await until(lambda: listener.there)
        side.hub.keep_one_of_each()
        await settle(1)
        await until(lambda: not side.hub.lock("q").locked())
        await side.quiet()
        assert forms(side.hub.queries) == [("q", not is_read)]
        assert [one.name for one in backend.queries()] == ["q"] * is_read
        assert [one.name for one in KeptQueries(tmp_path).queries()] == ["q"] * (not is_read)
        # The listener of the one that stays is not told that the other has gone.
        assert any(isinstance(one, Ended) for one in listener.items) is is_read
        backend.failures.clear()
        await remove_query(side.hub, "q", forget=_nothing)
        assert forms(side.hub.queries) == []
        await side.stop()

    run(started_again())


@pytest.mark.parametrize("failure", [Unavailable("the backend is not running"), OSError(errno.EIO, "broken")])
def test_live_queries_go_on_where_the_backend_cannot_be_asked(
    backend: FakeBackend, tmp_path: Path, failure: Exception
) -> None:
    AllQueries(backend, of_store(tmp_path)).register("q", ASK, standing=True)
    backend.failures["remove"] = failure

    async def started_again() -> None:
        side = await LiveSide(MemoryStore(), tmp_path, backend).start()
        side.hub.keep_one_of_each()
        await settle()
        await remove_query(side.hub, "q", forget=_nothing)
        await side.stop()

    run(started_again())
    with pytest.raises(NotFound):
        AllQueries(backend, of_store(tmp_path)).query("q")


def test_one_of_each_is_kept_as_soon_as_a_backend_that_could_not_be_built_is_there(
    backend: FakeBackend, tmp_path: Path
) -> None:
    before = AllQueries(backend, of_store(tmp_path))
    for name in ("q", "r"):
        before.register(name, ASK, standing=True)
    backend.register("q", continuous(), standing=True)
    backend.failures["remove"] = Unavailable("the backend is not running")

    async def started_again() -> None:
        side = await LiveSide(MemoryStore(), tmp_path, backend).start()
        waits, again = asyncio.Event(), asyncio.Event()

        async def sleep(seconds: float) -> None:
            waits.set()
            await again.wait()

        side.hub.sleep = sleep
        side.hub.keep_one_of_each()
        await asyncio.wait_for(waits.wait(), 10)
        assert not side.hub.lock("q").locked(), "whoever asks for it now is answered"
        backend.failures.clear()
        # Meanwhile another query has the name, which is the only one.
        await remove_query(side.hub, "r", forget=_nothing)
        backend.register("r", continuous(), standing=True)
        again.set()
        await until(lambda: side.hub._sorting is not None and side.hub._sorting.done())
        assert forms(side.hub.queries) == [("r", False), ("q", True)]
        assert [one.name for one in backend.queries()] == ["r"]
        await side.stop()

    run(started_again())


async def _nothing(name: str) -> None:
    pass
