from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endpoint import create_app
from endpoint.readers import pool, response
from endpoint.readers.exchange import QueryQuestion
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool
from endpoint.readers.response import AnswerResponse
from endpoint.services import services_of
from endpoint.settings import Settings
from tests.endpoint.fake_backend import FakeBackend
from tests.endpoint.live.live_side import Clock, Exchange, run, until
from tests.endpoint.readers.asking import ENDLESS, LONG, RUNAWAY, numbers, there


class Application:
    """A running application, asked without a server in between."""

    def __init__(self, app: ASGIApp, readers: ReaderPool) -> None:
        self.app = app
        self.readers = readers

    def ask(self, query: str, method: str = "GET", **parameters: Any) -> Exchange:
        more = "".join(f"&{name}={value}" for name, value in parameters.items())
        return Exchange(self.app, f"/sparql?query={quote(query)}{more}", method=method, accept="text/csv, text/turtle")

    async def reader(self) -> int:
        """The process id of the one reader that is busy."""
        await until(lambda: self.readers.answering)
        (pid,) = self.readers.answering
        return pid


@asynccontextmanager
async def application(data: Path, **given: Any) -> AsyncIterator[Application]:
    app = create_app(Settings(data=data, threads=2, **given), backend=FakeBackend())
    async with app.router.lifespan_context(app):
        services_of(app).store.update(numbers())
        yield Application(app, services_of(app).readers)


def test_a_client_that_leaves_while_it_waits_ends_its_query(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            exchange = asked.ask(RUNAWAY)
            pid = await asked.reader()
            await exchange.leave()
            await until(lambda: not there(pid))
            assert exchange.status is None

    run(main())


def test_a_client_that_leaves_in_the_middle_of_its_answer_ends_its_query(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            exchange = asked.ask(ENDLESS)
            pid = await asked.reader()
            await until(lambda: exchange.chunks)
            await exchange.leave()
            await until(lambda: not there(pid))
            assert (exchange.status, exchange.complete) == (200, False)

    run(main())


def test_an_answer_that_is_stopped_before_it_begins_is_a_problem_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path, query_timeout=30) as asked:
            exchange = asked.ask(RUNAWAY, timeout=0.2)
            await exchange.task
            assert (exchange.status, exchange.headers["content-type"]) == (504, "application/problem+json")
            assert "stopped after 0.2 s" in exchange.json["detail"]
            assert exchange.json["limit"] == 0.2

    run(main())


def test_an_answer_that_is_stopped_after_it_began_is_never_completed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with application(tmp_path, query_timeout=2) as asked:
            exchange = asked.ask(ENDLESS)
            await exchange.task
            assert (exchange.status, exchange.complete) == (200, False)
            assert "content-length" not in exchange.headers
            assert len(exchange.body) > 10**6
            assert "cut off after it had begun: the query was stopped after 2 s" in caplog.text

    run(main())


def test_a_result_beyond_the_limit_is_refused_or_never_completed(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path, max_result_bytes=200_000) as asked:
            exchange = asked.ask(LONG)
            await exchange.task
            assert (exchange.status, exchange.complete) == (200, False)
            assert len(exchange.body) <= 200_000
        async with application(tmp_path, max_result_bytes=1000) as asked:
            exchange = asked.ask(LONG)
            await exchange.task
            assert exchange.status == 422
            assert exchange.json["limit"] == 1000

    run(main())


def test_a_long_answer_is_complete_and_a_short_one_says_its_length(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            exchange = asked.ask(LONG)
            await exchange.task
            assert exchange.complete
            assert exchange.body.count(b"\r\n") == 1 + 400 * 400
            short = asked.ask("ASK {}")
            await short.task
            assert (short.body, short.headers["content-length"], short.status) == (b"true", "4", 200)
            assert "Accept" in short.headers["vary"]

    run(main())


def test_head_tells_what_get_would_and_evaluates_no_further_than_that_takes(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            exchange = asked.ask(ENDLESS, method="HEAD")
            pid = await asked.reader()
            await exchange.task
            assert (exchange.status, exchange.body, exchange.complete) == (200, b"", True)
            assert exchange.headers["content-type"] == "text/csv; charset=utf-8"
            await until(lambda: not there(pid))

    run(main())


@pytest.mark.parametrize("timeout", ["0", "-1", "soon", "nan", "inf", "1&timeout=2"])
def test_a_timeout_that_is_none_is_refused(tmp_path: Path, timeout: str) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            exchange = asked.ask("ASK {}", timeout=timeout)
            await exchange.task
            assert exchange.status == 400
            assert "timeout" in exchange.json["detail"]

    run(main())


def _stuck_after(app: ASGIApp, chunks: int) -> ASGIApp:
    """The application behind a connection that takes so many pieces of a response, and then nothing."""

    async def stuck(scope: Scope, receive: Receive, send: Send) -> None:
        taken = 0

        async def taking(message: Message) -> None:
            nonlocal taken
            taken += message["type"] == "http.response.body"
            if taken > chunks:
                await asyncio.Event().wait()
            await send(message)

        await app(scope, receive, taking)

    return stuck


def test_a_client_that_takes_nothing_any_more_holds_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(response, "STALLED_SECONDS", 0.2)

    async def main() -> None:
        async with application(tmp_path) as asked:
            asked.app = _stuck_after(asked.app, 2)
            exchange = asked.ask(LONG)
            pid = await asked.reader()
            await exchange.task
            assert not exchange.complete
            await until(lambda: not there(pid))
            assert "took nothing for 0.2 s" in caplog.text

    run(main())


def test_clients_that_take_nothing_make_room_for_others_one_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool, "STALLED_BEFORE_OTHERS_SECONDS", 0.0)

    async def main() -> None:
        async with application(tmp_path, readers=2, max_readers=2) as asked:
            app = asked.app
            asked.app = _stuck_after(app, 2)
            stuck = [asked.ask(LONG), asked.ask(LONG)]
            await until(lambda: all(len(exchange.chunks) == 2 for exchange in stuck))
            assert not any(exchange.task.done() for exchange in stuck)
            asked.app = app
            light = asked.ask("ASK {}")
            await light.task
            assert (light.status, light.body) == (200, b"true")
            assert sorted(exchange.task.done() for exchange in stuck) == [False, True]
            assert caplog.text.count("the client took nothing") == 1
            for exchange in stuck:
                await exchange.leave()

    run(main())


def test_a_client_slower_than_the_least_pace_holds_no_reader(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            clock = Clock()
            question = QueryQuestion(LONG, "text/csv")
            answer = AnswerResponse(asked.readers, question, QueryLimits(), clock=clock)
            # Ten seconds a piece of some 128 KiB.
            exchange = Exchange(_slow(answer, clock, 10), "/sparql")
            pid = await asked.reader()
            await exchange.task
            assert not exchange.complete
            assert len(exchange.chunks) in range(3, 8)
            await until(lambda: not there(pid))
            assert "less than 65536 bytes a second" in caplog.text

    run(main())


def _slow(app: ASGIApp, clock: Clock, seconds: float) -> ASGIApp:
    """The application behind a connection that takes a piece in so many seconds."""

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        async def taking(message: Message) -> None:
            clock.now += seconds
            await send(message)

        await app(scope, receive, taking)

    return slow


def test_a_graph_is_streamed_and_a_client_that_leaves_ends_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with application(tmp_path) as asked:
            exchange = Exchange(asked.app, "/graphs?default", accept="application/n-triples")
            await exchange.task
            assert exchange.status == 200
            assert exchange.body.count(b"\n") == 400

    run(main())
