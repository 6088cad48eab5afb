from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from endpoint.graphs.store import GraphStore
from endpoint.processes.relayed_error import RelayedError
from endpoint.readers.errors import Overloaded, QueryTimeout, ReaderEnded
from endpoint.readers.exchange import Asked, Copy, GraphQuestion, LinesQuestion, QueryQuestion, Question
from endpoint.readers.limits import QueryLimits
from endpoint.readers.process import PROGRAM, ReaderProcess
from protocol.errors import Unavailable
from tests.endpoint.live.live_side import Clock, run, until
from tests.endpoint.readers.asking import ENDLESS, LONG, RUNAWAY, Asking, asking, numbers, there

ASK = "ASK {}"
JSON = "application/sparql-results+json"
YES = b"true"


def test_a_query_sees_what_was_changed_before_it_was_asked(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            for expected in range(5):
                assert await endpoint.count() == expected
                endpoint.store.update(f"INSERT DATA {{ <http://ex/s> <http://ex/p> {expected} }}")

    run(main())


class RestlessStore(GraphStore):
    """As if something else had been changed whenever somebody looks: each question has a snapshot of its own."""

    others = 0

    @property
    def version(self) -> int:
        self.others += 1
        return super().version + self.others

    def backup(self, directory: Path) -> int:
        return super().backup(directory) + self.others


def test_a_query_sees_all_of_a_change_or_nothing_and_waits_for_none(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, open_store=RestlessStore) as endpoint:
            endpoint.store.update(numbers(300))
            assert await endpoint.count() == 300
            change = threading.Thread(
                target=endpoint.store.update,
                args=("INSERT { ?a <http://ex/m> ?b } WHERE { ?a <http://ex/n> ?x . ?b <http://ex/n> ?y }",),
            )
            change.start()
            counted = []
            while change.is_alive():
                counted.append(await endpoint.count())
            change.join()
            assert await endpoint.count() == 300 + 300 * 300
            assert len(counted) > 1
            assert set(counted) <= {300, 300 + 300 * 300}
            assert counted[0] == 300

    run(main())


def test_a_question_may_be_made_by_the_version_that_is_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            before = endpoint.store.version
            endpoint.store.update(numbers(1))

            def asked(version: int) -> LinesQuestion:
                return LinesQuestion(f"SELECT ({version} AS ?n) {{}}")

            async with endpoint.readers.answer(asked, QueryLimits(), least=before) as answer:
                assert answer.version == endpoint.store.version > before
                assert f'"{answer.version}"' in answer.first.decode()

    run(main())


def test_a_snapshot_is_made_when_it_is_asked_for_and_removed_when_it_is_old(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 2) as endpoint:

            def names() -> list[str]:
                return sorted(one.name for one in endpoint.directory.iterdir())

            assert names() == []
            for _ in range(3):
                await endpoint.count()
            assert names() == ["1"]
            endpoint.store.update(numbers(3))
            endpoint.store.update(numbers(4))
            assert names() == ["1"]
            async with endpoint.readers.answer(QueryQuestion(LONG, JSON), QueryLimits()):
                assert await endpoint.count() == 4
            # Both readers have had a snapshot open by now; the old one goes although one of them is idle.
            for count in (5, 6, 7):
                endpoint.store.update(numbers(count))
                assert await endpoint.count() == count
            await until(lambda: names() == ["5"])
        assert not endpoint.directory.exists()

    run(main())


def test_snapshots_of_a_process_that_crashed_are_removed_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "snapshots" / "7").mkdir(parents=True)

    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            assert list(endpoint.directory.iterdir()) == []

    run(main())


def test_a_query_is_stopped_at_its_limit_and_its_process_replaced(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            endpoint.store.update(numbers())
            assert await endpoint.count() == 400
            await until(lambda: len(endpoint.readers.processes) == 2)
            before = endpoint.readers.processes
            with pytest.raises(QueryTimeout, match=r"stopped after 0\.3 s") as caught:
                await endpoint.whole(RUNAWAY, QueryLimits(seconds=0.3))
            assert caught.value.problem()["limit"] == 0.3
            assert await endpoint.count() == 400
            await until(lambda: len(set(before) & set(endpoint.readers.processes)) == 1)
            await until(lambda: len([pid for pid in before if there(pid)]) == 1)  # killed is not yet gone

    run(main())


def test_a_reader_that_is_stopped_is_noticed_and_replaced_and_one_that_works_for_long_is_not(tmp_path: Path) -> None:
    async def main() -> None:
        clock = Clock()
        async with asking(tmp_path, 2, clock=clock, frozen_after=10) as endpoint:
            endpoint.store.update(numbers())
            waiting = asyncio.ensure_future(endpoint.whole(RUNAWAY))
            await until(lambda: endpoint.readers.answering)
            (reader,) = endpoint.readers.answering
            for _ in range(30):
                clock.now += 1
                endpoint.readers.look()
            assert not waiting.done()
            os.kill(reader, signal.SIGSTOP)
            await until(lambda: psutil.Process(reader).status() == psutil.STATUS_STOPPED)
            for looks in range(12):
                said = f"a process for queries (process {reader}) has stood still for {min(looks - 1, 10)} s"
                assert endpoint.readers.stalled == (said if looks > 3 else None)
                assert not waiting.done()
                clock.now += 1
                endpoint.readers.look()
            with pytest.raises(Unavailable, match="stood still"):
                await waiting
            await until(lambda: not there(reader))
            assert await endpoint.count() == 400

    run(main())


def test_a_client_may_ask_for_less_time_and_not_for_more() -> None:
    limits = QueryLimits(seconds=60, most_bytes=5)
    assert limits.asked(None) == limits
    assert limits.asked(1.5) == QueryLimits(1.5, 5)
    assert limits.asked(61) == limits


def test_a_query_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1) as endpoint:
            endpoint.store.update(numbers())
            assert await endpoint.whole(ASK) == YES
            waiting = asyncio.ensure_future(endpoint.whole(RUNAWAY))
            await until(lambda: endpoint.readers.answering)
            (reader,) = endpoint.readers.answering
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await until(lambda: not there(reader))
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_an_answer_left_before_its_end_ends_its_query(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1) as endpoint:
            endpoint.store.update(numbers())
            async with endpoint.readers.answer(QueryQuestion(LONG, JSON), QueryLimits()) as answer:
                assert not answer.complete
                (pid,) = endpoint.readers.answering
            await until(lambda: not there(pid))
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_a_long_answer_comes_whole_and_in_pieces(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            endpoint.store.update(numbers())
            async with endpoint.readers.answer(QueryQuestion(LONG, "text/csv"), QueryLimits()) as answer:
                (pid,) = endpoint.readers.answering
                pieces = [answer.first] + [data async for data in answer.rest()]
            assert max(map(len, pieces)) < 300_000
            expected = endpoint.store.oxigraph.query(LONG)
            assert b"".join(pieces).count(b"\n") == 1 + sum(1 for _ in expected)  # type: ignore[union-attr,misc]
            assert pid in endpoint.readers.processes

    run(main())


def test_a_query_that_is_stopped_in_the_middle_of_its_answer_raises_there(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            endpoint.store.update(numbers())
            question = QueryQuestion(ENDLESS, "text/csv")
            async with endpoint.readers.answer(question, QueryLimits(seconds=2)) as answer:
                with pytest.raises(QueryTimeout):
                    async for _ in answer.rest():
                        pass
                assert not answer.complete

    run(main())


def test_an_answer_beyond_the_limit_of_bytes_is_refused_and_its_reader_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            endpoint.store.update(numbers())
            pids = [await endpoint.whole(ASK), *endpoint.readers.processes]
            with pytest.raises(RelayedError, match="larger than 100 bytes") as caught:
                await endpoint.whole("SELECT * { ?s ?p ?o }", QueryLimits(most_bytes=100))
            assert (caught.value.status, caught.value.problem()["limit"]) == (422, 100)
            async with endpoint.readers.answer(QueryQuestion(LONG, JSON), QueryLimits(most_bytes=10**6)) as answer:
                with pytest.raises(RelayedError, match="larger than"):
                    async for _ in answer.rest():
                        pass
            assert set(pids[1:]) <= set(endpoint.readers.processes)

    run(main())


@pytest.mark.parametrize(
    ("text", "status", "place"),
    [
        ("SELECT *\n{ ?s ?p }", 400, (2, 9)),
        ("SELECT * { SERVICE <http://127.0.0.1:9/> {} }", 403, (1, 12)),
        ("SELECT * { FILTER(<http://ex/nofunction>(1)) }", 400, (None, None)),
    ],
)
def test_errors_say_the_same_as_in_the_servers_own_process(
    tmp_path: Path, text: str, status: int, place: tuple[int | None, int | None]
) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            with pytest.raises(RelayedError) as caught:
                await endpoint.whole(QueryQuestion(text, "text/csv"))
            assert caught.value.status == status
            assert (caught.value.line, caught.value.column) == place

    run(main())


async def running_away(endpoint: Asking) -> tuple[asyncio.Future[bytes], int]:
    """The answer to a query that runs away, and the process that evaluates it."""
    endpoint.store.update(numbers())
    failing = asyncio.ensure_future(endpoint.whole(RUNAWAY))
    await until(lambda: endpoint.readers.answering)
    (pid,) = endpoint.readers.answering
    return failing, pid


def test_a_process_that_ends_fails_its_own_query_and_no_other(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 2) as endpoint:
            failing, pid = await running_away(endpoint)
            assert await endpoint.whole(ASK) == YES
            os.kill(pid, signal.SIGSEGV)
            with pytest.raises(ReaderEnded, match="SIGSEGV") as caught:
                await failing
            assert caught.value.status == 500
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_whose_process_is_killed_from_outside_may_ask_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 2) as endpoint:
            failing, pid = await running_away(endpoint)
            os.kill(pid, signal.SIGKILL)
            with pytest.raises(Unavailable, match=r"SIGKILL.*ask again"):
                await failing

    run(main())


def test_an_idle_process_that_ends_fails_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1) as endpoint:
            assert await endpoint.whole(ASK) == YES
            await until(lambda: len(endpoint.readers.idle) == 2)
            for pid in endpoint.readers.idle:
                os.kill(pid, signal.SIGKILL)
            await until(lambda: endpoint.readers.processes == [])
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_the_deepest_query_let_through_is_answered(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            for text in ("ASK {" + "{" * 400 + "}" * 401, "ASK { FILTER(" + "!" * 30_000 + "1) }"):
                assert await endpoint.whole(text) == YES

    run(main())


def test_a_graph_is_given_whole_and_one_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path) as endpoint:
            endpoint.store.update("INSERT DATA { <http://ex/s> <http://ex/p> 1 GRAPH <http://ex/g> { <a:s> <a:p> 2 } }")
            one = b'<http://ex/s> <http://ex/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
            assert await endpoint.whole(GraphQuestion(None, "application/n-triples")) == one
            assert b'"2"' in await endpoint.whole(GraphQuestion("http://ex/g", "application/n-triples"))
            with pytest.raises(RelayedError) as caught:
                await endpoint.whole(GraphQuestion("http://ex/none", "text/turtle"))
            assert caught.value.status == 404

    run(main())


def test_no_more_queries_run_at_once_than_the_pool_has_places_and_the_others_have_their_turn(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 2) as endpoint:
            now = most = 0
            pair = asyncio.Barrier(2)

            async def one(endpoint: Asking) -> bytes:
                nonlocal now, most
                async with endpoint.readers.answer(QueryQuestion(ASK, "text/csv"), QueryLimits()) as answer:
                    now += 1
                    await pair.wait()
                    most = max(most, now)
                    assert len(endpoint.readers.processes) <= 3
                    now -= 1
                    return answer.first

            assert await asyncio.gather(*(one(endpoint) for _ in range(20))) == [YES] * 20
            assert most == 2
            await until(lambda: sorted(endpoint.readers.idle) == endpoint.readers.processes)
            assert len(endpoint.readers.processes) <= 3

    run(main())


def test_queries_that_take_long_leave_their_place_to_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1, most=3, long_seconds=0.1) as endpoint:
            endpoint.store.update(numbers())
            running = [asyncio.ensure_future(endpoint.whole(RUNAWAY)) for _ in range(2)]
            await until(lambda: len(endpoint.readers.answering) == 2)
            for _ in range(3):
                assert await endpoint.whole(ASK) == YES
            assert len(endpoint.readers.processes) <= 4
            # A third one takes the last place there is, and whoever comes then waits until one of the three ends.
            running.append(asyncio.ensure_future(endpoint.whole(RUNAWAY)))
            await until(lambda: len(endpoint.readers.answering) == 3)
            await until(lambda: len(endpoint.readers.long) == 3)
            waiting = asyncio.ensure_future(endpoint.whole(ASK))
            await until(lambda: endpoint.readers.waiting)
            running[0].cancel()
            assert await waiting == YES
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            assert not endpoint.readers.long

    run(main())


def test_processes_that_only_long_queries_needed_are_ended(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1, most=5, long_seconds=0.05) as endpoint:
            endpoint.store.update(numbers())
            async with AsyncExitStack() as answers:
                for _ in range(5):
                    answer = endpoint.readers.answer(QueryQuestion(ASK, JSON), QueryLimits())
                    await answers.enter_async_context(answer)
                await until(lambda: len(endpoint.readers.processes) == 6)
            await until(lambda: len(endpoint.readers.processes) <= 3)
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_a_store_that_has_settled_is_copied_into_memory_and_answers_follow_its_changes(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1, settled_seconds=0.05) as endpoint:
            for count in (10, 20, 30):
                endpoint.store.update(numbers(count))
                assert await endpoint.count() == count
                await until(lambda: len(endpoint.readers.copied) == 1 and len(endpoint.readers.idle) == 2)
                assert await endpoint.count() == count
                assert endpoint.readers.idle[-1] in endpoint.readers.copied

    run(main())


class StillInACopy(ReaderProcess):
    """A reader that stands still from when it is told to copy the store."""

    async def ask(self, one: Asked) -> None:
        if isinstance(one.question, Copy):
            os.kill(self.pid, signal.SIGSTOP)
            # One of its threads takes the signal, and the others go on until that one has had its turn.
            await until(lambda: all(stat.read_text().split()[2] == "T" for stat in self.threads()))
        await super().ask(one)

    def threads(self) -> Iterator[Path]:
        return Path(f"/proc/{self.pid}/task").glob("*/stat")


async def stopped_in_a_copy(endpoint: Asking, clock: Clock) -> int:
    """An hour after a question the store has settled: the reader that is to copy it now, and that stands still."""
    readers = endpoint.readers
    assert await endpoint.count() == 400
    await until(lambda: len(readers.idle) == 2)
    assert (readers.copying, readers.copied) == (None, [])
    clock.now += 3600
    assert await endpoint.count() == 400
    assert readers.copying is not None
    return readers.copying


def test_no_query_waits_for_a_copy(tmp_path: Path) -> None:
    async def main() -> None:
        clock = Clock()
        async with asking(tmp_path, 1, settled_seconds=3600, clock=clock, start_process=StillInACopy) as endpoint:
            endpoint.store.update(numbers())
            copying = await stopped_in_a_copy(endpoint, clock)
            try:
                for _ in range(3):
                    assert await endpoint.count() == 400
                endpoint.store.update(numbers(500))
                assert await endpoint.count() == 500
            finally:
                os.kill(copying, signal.SIGCONT)
            await until(lambda: endpoint.readers.copying is None)
            assert await endpoint.count() == 500

    run(main())


def test_a_process_that_ends_while_it_copies_fails_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        clock = Clock()
        async with asking(tmp_path, 1, settled_seconds=3600, clock=clock, start_process=StillInACopy) as endpoint:
            endpoint.store.update(numbers())
            copying = await stopped_in_a_copy(endpoint, clock)
            os.kill(copying, signal.SIGKILL)
            await until(lambda: endpoint.readers.copying is None)
            assert await endpoint.count() == 400
            endpoint.store.update(numbers(500))
            assert await endpoint.count() == 500

    run(main())


@pytest.mark.parametrize("most", [0, 399])
def test_a_store_that_is_too_large_is_not_copied(tmp_path: Path, most: int) -> None:
    async def main() -> None:
        asked: list[Question] = []

        class Overheard(ReaderProcess):
            async def ask(self, one: Asked) -> None:
                asked.append(one.question)
                await super().ask(one)

        async with asking(tmp_path, 1, settled_seconds=0.05, memory_quads=most, start_process=Overheard) as endpoint:
            endpoint.store.update(numbers())
            assert await endpoint.count() == 400
            if most:
                # It is tried once.
                await until(lambda: Copy(most) in asked)
            await until(lambda: len(endpoint.readers.idle) == 2)
            assert await endpoint.count() == 400
            assert (endpoint.readers.copying, endpoint.readers.copied) == (None, [])
            assert asked.count(Copy(most)) == (1 if most else 0)

    run(main())


def test_too_many_and_too_long_waits_are_turned_away(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1, waiting_seconds=1.0, most_waiting=1) as endpoint:
            await until(lambda: endpoint.readers.idle)
            async with endpoint.readers.answer(QueryQuestion(ASK, JSON), QueryLimits()):
                waiting = asyncio.ensure_future(endpoint.whole(ASK))
                await until(lambda: endpoint.readers.waiting)
                with pytest.raises(Overloaded, match="1 queries are waiting"):
                    await endpoint.whole(ASK)
                with pytest.raises(Overloaded, match="within 1 s") as caught:
                    await waiting
                assert caught.value.status == 503
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_one_who_leaves_while_waiting_takes_nobodys_turn(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1) as endpoint:
            async with endpoint.readers.answer(QueryQuestion(ASK, JSON), QueryLimits()):
                leaving, staying = (asyncio.ensure_future(endpoint.whole(ASK)) for _ in range(2))
                await until(lambda: endpoint.readers.waiting == 2)
                leaving.cancel()
                await asyncio.gather(leaving, return_exceptions=True)
            assert await staying == YES

    run(main())


def test_a_process_that_cannot_be_started_is_said_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        program = "endpoint.readers.nowhere"
        async with asking(tmp_path, start_process=lambda: ReaderProcess(program)) as endpoint:
            with pytest.raises(Unavailable, match="no process could be started"):
                await endpoint.whole(ASK)
            assert "could not be started" in caplog.text
            program = PROGRAM
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_a_process_that_cannot_be_started_in_a_way_that_nobody_foresaw_takes_no_place(tmp_path: Path) -> None:
    async def main() -> None:
        failures = iter([RuntimeError("can't start new thread")] * 2)

        def start() -> ReaderProcess:
            if (failure := next(failures, None)) is not None:
                raise failure
            return ReaderProcess()

        async with asking(tmp_path, 1, start_process=start) as endpoint:
            with pytest.raises(Unavailable, match="no process could be started"):
                await endpoint.whole(ASK)
            assert await endpoint.whole(ASK) == YES

    run(main())


def test_at_the_end_no_process_is_left_and_whoever_waits_is_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, 1) as endpoint:
            endpoint.store.update(numbers())
            asked = [asyncio.ensure_future(endpoint.whole(RUNAWAY)) for _ in range(2)]
            await until(lambda: endpoint.readers.answering and len(endpoint.readers.idle) == 1)
            pids = endpoint.readers.processes
            assert len(pids) == 2
            await endpoint.readers.stop()
            assert not any(map(there, pids))
            ended, told = await asyncio.gather(*asked, return_exceptions=True)
            assert isinstance(ended, Unavailable)
            assert isinstance(told, Unavailable)
            with pytest.raises(Unavailable):
                await endpoint.whole(ASK)

    run(main())


def test_a_reader_that_is_forgotten_ends_with_its_connection() -> None:
    reader = ReaderProcess()
    process = psutil.Process(reader.pid)
    del reader
    gc.collect()
    process.wait(20)
