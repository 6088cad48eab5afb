from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from endpoint.backend import Ended, QueryDescription
from endpoint.live.channel import Entry
from endpoint.live.hub import Hub
from endpoint.live.subscription import RequestedSpan, Reset
from endpoint.live.unregistered_queries import TooManyUnregistered, UnregisteredQueries, unregistered_name
from protocol.errors import Conflict, QuerySemanticError, Unavailable
from protocol.evaluation_limits import EvaluationLimits
from protocol.formats.sse import ResumeToken
from protocol.streams import StreamSettings
from protocol.time import BEFORE_ALL, FIRST_INSTANT
from protocol.windows.spec import LandmarkWindow
from tests.endpoint.cancelling import MOMENTS, cancelled
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import STREAM, Clock, answer, continuous, run, settle, until
from tests.endpoint.store_queries.store_side import no_store_queries


def parts() -> tuple[FakeBackend, Hub, Clock, UnregisteredQueries]:
    backend = FakeBackend()
    backend.create_stream("s", StreamSettings(STREAM))
    hub, clock = Hub(backend, no_store_queries()), Clock()
    hub.bind()
    backend.listen(hub.receive)
    return backend, hub, clock, UnregisteredQueries(hub, clock=clock, resume_window=60)


def names(backend: FakeBackend) -> list[str]:
    return [query.name for query in backend.queries()]


def test_a_query_outlives_its_last_listener_by_the_resume_window() -> None:
    async def check() -> None:
        backend, _, clock, live = parts()
        query = continuous()
        async with live.listening(query, RequestedSpan()):
            async with live.listening(query, RequestedSpan()):
                clock.now = 100
            clock.now = 500
            await live.sweep()
            assert names(backend) == [unregistered_name(query, None)]
        clock.now = 559
        await live.sweep()
        assert names(backend) == [unregistered_name(query, None)]
        clock.now = 560
        await live.sweep()
        assert names(backend) == []

    run(check())


def test_a_listener_in_the_resume_window_keeps_the_query() -> None:
    async def check() -> None:
        backend, _, clock, live = parts()
        async with live.listening(continuous(), RequestedSpan()):
            pass
        clock.now = 59
        async with live.listening(continuous(), RequestedSpan()):
            clock.now = 1000
            await live.sweep()
            assert len(names(backend)) == 1
        assert backend.calls.count("register") == 1

    run(check())


def test_who_comes_while_the_query_is_removed_has_it_registered_again() -> None:
    async def check() -> None:
        backend, hub, clock, live = parts()
        async with live.listening(continuous(), RequestedSpan()):
            pass
        clock.now = 60
        removal = asyncio.create_task(live.sweep())
        await settle(2)
        async with live.listening(continuous(), RequestedSpan()) as subscription:
            await removal
            assert len(names(backend)) == 1
            items = subscription.items()
            backend.evaluate(names(backend)[0], 1000, answer(1))
            entry = await anext(items)
            assert getattr(entry, "notice").instant == 1000  # noqa: B009 - the item's type is a union
            await items.aclose()
        assert hub.listeners() == {}

    run(check())


def test_a_query_that_is_refused_leaves_nothing() -> None:
    async def check() -> None:
        backend, hub, clock, live = parts()
        for _ in range(2):
            with pytest.raises(QuerySemanticError):
                async with live.listening(continuous(stream="http://e/unknown"), RequestedSpan()):
                    pass
        clock.now = 60
        await live.sweep()
        assert names(backend) == []
        assert hub.listeners() == {}

    run(check())


@pytest.mark.parametrize("asked_before", [0, 1, 2, 3])
def test_a_query_whose_stream_is_deleted_while_it_is_begun_is_told_so(asked_before: int) -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        ask, asked = backend.query, [0]

        def query(name: str) -> QueryDescription:
            found = ask(name)
            asked[0] += 1
            if asked[0] > asked_before:
                backend.query = ask  # type: ignore[method-assign]  # of this one object
                backend.remove(name)  # as where its stream is deleted
            return found

        backend.query = query  # type: ignore[method-assign]  # of this one object
        with pytest.raises(Conflict, match="what the query reads was deleted"):
            async with live.listening(continuous(), RequestedSpan()):
                pass
        async with live.listening(continuous(), RequestedSpan()):
            assert len(names(backend)) == 1

    run(check())


def test_a_query_that_has_ended_is_registered_anew_for_who_asks_again() -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        async with live.listening(continuous(), RequestedSpan()):
            backend.push(Ended(names(backend)[0], "over"))
        async with live.listening(continuous(), RequestedSpan()):
            assert backend.queries()[0].state == "waiting"

    run(check())


def test_who_had_an_answer_of_streams_that_are_gone_has_it_started_at_the_beginning() -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        backend.incarnation = 3
        name = unregistered_name(continuous(), None)
        async with live.listening(continuous(), RequestedSpan(ResumeToken(5000, 3))):
            assert backend.since[name] == 4999
            async with live.listening(continuous(), RequestedSpan(ResumeToken(9000, 2))):
                assert backend.since[name] == FIRST_INSTANT

    run(check())


LANDMARK = continuous("all since the start", spec=LandmarkWindow(None, None, None))


async def resumed(backend: FakeBackend, live: UnregisteredQueries, asked: RequestedSpan) -> tuple[str, object]:
    """The query with which one goes on who asks for that, and what it gets first once there is an answer at 9000."""
    async with live.listening(LANDMARK, asked) as subscription:
        items = subscription.items()
        backend.evaluate(subscription.channel.name, 9000, answer(9))
        first = await anext(items)
        await items.aclose()
        return subscription.channel.name, first


def landmarks(backend: FakeBackend) -> dict[str, int | None]:
    return {query.name: query.landmark for query in backend.queries()}


def test_who_goes_on_has_windows_that_begin_where_those_of_the_answer_before_began() -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        name, first = await resumed(backend, live, RequestedSpan(ResumeToken(5000, 0, 100)))
        assert backend.since[name] == 4999  # and not all since 100 once more
        assert landmarks(backend) == {name: 100}
        assert isinstance(first, Entry)
        assert b"%d" % (2**52 + 100) in first.event.split(b"\n")[0]
        # One further behind moves its start back, and nothing else; another start is another query.
        again, _ = await resumed(backend, live, RequestedSpan(ResumeToken(3000, 0, 100)))
        assert (again, backend.since[again], landmarks(backend)) == (name, 2999, {name: 100})
        other, _ = await resumed(backend, live, RequestedSpan(ResumeToken(5000, 0, 200)))
        assert landmarks(backend) == {name: 100, other: 200}

    run(check())


def test_who_goes_on_joins_the_query_that_gave_the_answer_while_that_runs() -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        async with live.listening(LANDMARK, RequestedSpan(since=100)):
            asked = RequestedSpan(ResumeToken(5000, 0, 100), since=100)
            assert await resumed(backend, live, asked) == await resumed(backend, live, asked)
            assert landmarks(backend) == {unregistered_name(LANDMARK, 100): 100}
            # It is not moved for who comes from an earlier one.
            other, _ = await resumed(backend, live, RequestedSpan(ResumeToken(50, 0, 20), since=100))
            assert landmarks(backend) == {unregistered_name(LANDMARK, 100): 100, other: 20}

    run(check())


@pytest.mark.parametrize(
    ("asked", "landmark", "told"),
    [
        (RequestedSpan(ResumeToken(5000)), 5000, Reset(5000)),
        (RequestedSpan(ResumeToken(5000), since=100), 100, None),
        (RequestedSpan(ResumeToken(5000), since=BEFORE_ALL), FIRST_INSTANT, None),
    ],
)
def test_where_an_id_does_not_say_where_windows_began_the_url_does_or_reset_comes_first(
    asked: RequestedSpan, landmark: int, told: Reset | None
) -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        name, first = await resumed(backend, live, asked)
        assert landmarks(backend) == {name: landmark}
        assert first == told if told else isinstance(first, Entry)

    run(check())


@pytest.mark.parametrize("held", [700, 7000])
def test_where_windows_cannot_begin_any_more_where_they_began_reset_comes_first(held: int) -> None:
    async def check() -> None:
        backend, _, _, live = parts()
        name = unregistered_name(LANDMARK, (100, 0))
        backend.retained[name] = held
        again, first = await resumed(backend, live, RequestedSpan(ResumeToken(5000, 0, 100)))
        assert (again, first) == (name, Reset(max(held, 5000)))

    run(check())


def test_one_too_many_is_refused_until_another_is_let_go_of() -> None:
    async def check() -> None:
        backend, hub, clock, _ = parts()
        live = UnregisteredQueries(hub, maximum=2, clock=clock, resume_window=60)
        first, second, third = (continuous(text) for text in ("SELECT 1", "SELECT 2", "SELECT 3"))
        async with live.listening(first, RequestedSpan()):
            async with live.listening(second, RequestedSpan()):
                with pytest.raises(TooManyUnregistered, match="2 continuous queries") as caught:
                    async with live.listening(third, RequestedSpan()):
                        pass
                assert (caught.value.status, caught.value.retry_after) == (503, 10)
                async with live.listening(first, RequestedSpan()):
                    assert len(names(backend)) == 2
            # The second is kept for those who come back, as long as its place is not needed.
            assert unregistered_name(second, None) in names(backend)
            async with live.listening(third, RequestedSpan()):
                assert set(names(backend)) == {unregistered_name(first, None), unregistered_name(third, None)}

    run(check())


def test_of_those_nobody_listens_to_the_one_left_first_makes_room() -> None:
    async def check() -> None:
        backend, hub, clock, _ = parts()
        live = UnregisteredQueries(hub, maximum=2, clock=clock, resume_window=60)
        for text in ("SELECT 1", "SELECT 2"):
            clock.now += 1
            async with live.listening(continuous(text), RequestedSpan()):
                pass
        async with live.listening(continuous("SELECT 3"), RequestedSpan()):
            kept = {unregistered_name(continuous(text), None) for text in ("SELECT 2", "SELECT 3")}
            assert set(names(backend)) == kept

    run(check())


async def left_alone(hub: Hub, clock: Clock) -> list[tuple[float, Callable[[], None]]]:
    """A query whose only listener has come and gone: what is to be called, and after how many seconds."""
    timers: list[tuple[float, Callable[[], None]]] = []
    live = UnregisteredQueries(
        hub, clock=clock, resume_window=60, call_later=lambda seconds, call: timers.append((seconds, call))
    )
    async with live.listening(continuous(), RequestedSpan()):
        return timers


@pytest.mark.parametrize(("error", "told"), [(Unavailable("it was stopped"), False), (OSError("no disk"), True)])
def test_a_backend_that_has_stopped_is_no_error_of_the_sweep(
    error: Exception, told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        backend, hub, clock, _ = parts()
        timers = await left_alone(hub, clock)

        def remove(name: str) -> None:
            raise error

        monkeypatch.setattr(backend, "remove", remove)
        [(clock.now, sweep)] = timers
        assert clock.now > 60
        sweep()
        await until(lambda: caplog.records)

    caplog.set_level(logging.DEBUG, "endpoint.live.unregistered_queries")
    run(check())
    assert [record.levelname for record in caplog.records] == ["ERROR" if told else "DEBUG"]


def test_a_query_that_could_not_be_removed_is_removed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        backend, hub, clock, _ = parts()
        timers = await left_alone(hub, clock)

        def full(name: str) -> None:
            raise OSError("No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(backend, "remove", full)
            clock.now, sweep = timers.pop()
            sweep()
            await until(lambda: timers)
        assert len(names(backend)) == 1
        timers.pop()[1]()
        await until(lambda: names(backend) == [])
        assert timers == []

    run(check())


def test_refused_queries_do_not_use_up_the_places() -> None:
    async def check() -> None:
        _, hub, clock, _ = parts()
        live = UnregisteredQueries(hub, maximum=1, clock=clock, resume_window=60)
        for number in range(3):
            with pytest.raises(QuerySemanticError):
                async with live.listening(continuous(f"SELECT {number}", stream="http://e/unknown"), RequestedSpan()):
                    pass
        async with live.listening(continuous(), RequestedSpan()):
            pass

    run(check())


def test_names_depend_on_the_text_the_start_and_the_limits_alone() -> None:
    assert unregistered_name(continuous("a"), None) == unregistered_name(continuous(" a\n"), None)
    names = {
        unregistered_name(continuous("a"), None),
        unregistered_name(continuous("b"), None),
        unregistered_name(continuous("a"), 0),
        unregistered_name(continuous("a"), None, EvaluationLimits(1)),
        unregistered_name(continuous("a"), None, EvaluationLimits(memory=2**27)),
        unregistered_name(continuous("a", stream="http://e/other"), None),
    }
    assert len(names) == 6
    assert all(name.startswith("live-") for name in names)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_query_whose_removal_is_cancelled_is_removed_later(moment: tuple[int, bool]) -> None:
    async def check() -> None:
        backend, hub, clock, live = parts()
        async with live.listening(continuous(), RequestedSpan()):
            pass
        clock.now = 60
        await cancelled(hub, moment, live.sweep())
        await live.sweep()
        assert names(backend) == []
        async with live.listening(continuous(), RequestedSpan()):
            assert len(names(backend)) == 1

    run(check())
