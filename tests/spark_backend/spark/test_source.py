"""The evaluation clock over a data directory that an engine fills: offsets in, offsets and due evaluations out."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from spark_backend.evaluation.step import Due
from spark_backend.layout import Layout
from spark_backend.spark.hosts import write_cores
from spark_backend.spark.reception import Part
from spark_backend.spark.source import DuePartition, EvaluationClock, EvaluationInstantsReader
from tests.spark_backend.stepped_backend import SteppedBackend

EX = "http://ex/"


def every(step: int, stream: str = "s") -> str:
    """A query that is evaluated at every multiple of ``step``."""
    return f"SELECT ?s FROM STREAM <{EX}{stream}> [RANGE {step} REPORT ON_WINDOW_CLOSE] WHERE {{ ?s ?p ?o }}"


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path)
    backend.event_stream("s", EX + "s")
    backend.event_stream("other", EX + "other")
    yield backend
    backend.close()


@pytest.fixture
def clock(tmp_path: Path, stepped: SteppedBackend) -> EvaluationClock:
    """A clock that is warm, and whose own time stands still."""
    return warm(tmp_path)


def warm(root: Path) -> EvaluationClock:
    found = EvaluationClock(root, clock=lambda: 0.0)
    found.advance({})
    return found


def post(stepped: SteppedBackend, at: int, stream: str = "s") -> None:
    stepped.post(stream, f"<{EX}x> a <{EX}T> .", at)


def key(stepped: SteppedBackend, name: str) -> str:
    """The key of the registration that runs under a name."""
    registered: str = stepped.running(name).registered.key
    return registered


def instants(clock: EvaluationClock, start: dict[str, int], end: dict[str, int]) -> dict[str, list[int]]:
    return {key.split(".")[0]: due for key, _, due in clock.due(start, end)}


def test_the_first_batch_of_a_process_only_warms_up(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.register("q", every(2))
    post(stepped, 7)
    post(stepped, 9)
    clock = EvaluationClock(tmp_path)
    start: dict[str, int] = {}
    end = clock.advance(start)
    assert end != start
    assert clock.due(start, end) == []
    assert instants(clock, end, clock.advance(end)) == {"q": [8]}


def test_nothing_due_is_the_same_offset(stepped: SteppedBackend, clock: EvaluationClock) -> None:
    assert clock.advance({"": 1}) == {"": 1}
    stepped.register("q", every(2))
    assert clock.advance({"": 1}) == {"": 1}
    post(stepped, 2)  # 2 itself is still awaited
    assert clock.advance({"": 1}) == {"": 1}
    assert clock.due({"": 1}, {"": 1}) == []


def test_an_offset_is_the_latest_instant_due_of_each_query(stepped: SteppedBackend, clock: EvaluationClock) -> None:
    stepped.register("two", every(2))
    stepped.register("three", every(3))
    post(stepped, 1)
    post(stepped, 8)
    end = clock.advance({})
    assert end == {key(stepped, "two"): 6, key(stepped, "three"): 6}
    assert instants(clock, {}, end) == {"two": [2, 4, 6], "three": [3, 6]}
    stepped.backend.advance("s", 9)
    later = clock.advance(end)
    assert later == {key(stepped, "two"): 8, key(stepped, "three"): 9}
    assert instants(clock, end, later) == {"two": [8], "three": [9]}


def test_an_offset_stays_one_when_it_has_been_through_json(stepped: SteppedBackend, clock: EvaluationClock) -> None:
    stepped.register("q", every(2))
    post(stepped, 1_700_000_000_000)
    post(stepped, 1_700_000_000_009)
    end = clock.advance({"": 1})
    assert end == {"": 1, key(stepped, "q"): 1_700_000_000_008}
    assert json.loads(json.dumps(end)) == end


def test_a_query_waits_for_the_watermarks_of_all_its_streams(stepped: SteppedBackend, clock: EvaluationClock) -> None:
    both = f"FROM STREAM <{EX}s> [RANGE 2 REPORT ON_WINDOW_CLOSE] FROM STREAM <{EX}other> [RANGE 2]"
    stepped.register("q", f"SELECT ?s {both} WHERE {{ ?s ?p ?o }}")
    post(stepped, 1)
    post(stepped, 100)
    assert clock.advance({}) == {}
    post(stepped, 5, "other")
    end = clock.advance({})
    assert instants(clock, {}, end) == {"q": [2, 4]}


def test_a_query_that_catches_up_shares_with_the_others(stepped: SteppedBackend, clock: EvaluationClock) -> None:
    stepped.register("behind", every(1), since=0)
    stepped.register("other", every(50), since=0)
    post(stepped, 1)
    stepped.backend.advance("s", 1000)
    offset: dict[str, int] = {}
    batches = []
    while (end := clock.advance(offset)) != offset:
        batches.append(instants(clock, offset, end))
        offset = end
    assert [t for batch in batches for t in batch.get("behind", [])] == list(range(1, 1001))
    assert [t for batch in batches for t in batch.get("other", [])] == list(range(50, 1001, 50))
    assert "other" in batches[0]
    assert max(len(batch["behind"]) for batch in batches) <= 512
    assert clock.advance(offset) == offset


@pytest.mark.parametrize("count", [40, 90])
def test_whoever_is_not_behind_waits_for_little_of_those_that_are(
    tmp_path: Path, stepped: SteppedBackend, count: int
) -> None:
    """An evaluation takes 10 ms, and a batch 20 ms more, of a time that goes on only there."""
    now, behind = 0.0, [f"behind{n}" for n in range(count)]
    clock = EvaluationClock(tmp_path, clock=lambda: now)
    offset = clock.advance({})
    for name in behind:
        stepped.register(name, every(1), since=0)
    stepped.register("healthy", every(10, "other"), since=0)
    post(stepped, 1)
    post(stepped, 1, "other")
    stepped.backend.advance("s", 100)
    answered: dict[str, list[int]] = {name: [] for name in behind}
    batches: list[dict[str, list[int]]] = []
    while not all(found and found[-1] == 100 for found in answered.values()):
        stepped.backend.advance("other", 10 * len(batches) + 10)
        end = clock.advance(offset)
        batches.append(instants(clock, offset, end))
        taken = 0.02 + 0.01 * sum(map(len, batches[-1].values()))
        # Of the first it is not known how long they take, and each new query is in it.
        assert taken <= 1.1 or len(batches) == 1
        now, offset = now + taken, end
        for name, found in batches[-1].items():
            if name != "healthy":
                answered[name] += found
        firsts = [len(found) for found in answered.values()]
        assert min(firsts) > 0 or len(batches) == 1, "each has its turn"
    assert all(found == list(range(1, 101)) for found in answered.values())
    assert [batch["healthy"] for batch in batches] == [[10 * n + 10] for n in range(len(batches))]
    # What is behind is caught up with nearly as fast as can be.
    assert now < 1.3 * 0.01 * sum(map(len, answered.values()))


@pytest.mark.parametrize(("seconds", "batches"), [(0.0005, 1), (0.02, 2)])
def test_how_fast_batches_are_is_remembered_while_nobody_is_behind(
    tmp_path: Path, stepped: SteppedBackend, seconds: float, batches: int
) -> None:
    now = 0.0
    clock = EvaluationClock(tmp_path, clock=lambda: now)
    offset = clock.advance({})
    for number in range(30):
        stepped.register(f"q{number}", every(1), since=0)
    post(stepped, 1)
    taken: list[int] = []
    for upto in (100, 125):  # at once, and what comes in a moment
        taken.append(0)
        stepped.backend.advance("s", upto)
        while (end := clock.advance(offset)) != offset:
            now += 0.02 + seconds * sum(map(len, instants(clock, offset, end).values()))
            taken[-1] += 1
            offset = end
    assert taken[-1] == batches


def test_instants_are_divided_after_a_batch_that_took_long_until_one_is_short(
    tmp_path: Path, stepped: SteppedBackend
) -> None:
    now = 0.0
    clock = EvaluationClock(tmp_path, clock=lambda: now)
    offset = clock.advance({})
    stepped.register("q", every(1))
    post(stepped, 1)

    def parts(seconds: float, idle: float) -> int:
        """How many parts the next batch has, which takes so many seconds, before nothing is due for a while."""
        nonlocal now, offset
        stepped.backend.advance("s", (offset.get(key(stepped, "q"), 0)) + 40)
        end = clock.advance(offset)
        found = len(clock.parts(offset, end, 2))
        offset = end
        now += seconds
        assert clock.advance(offset) == offset
        now += idle
        return found

    assert [parts(0.4, 100), parts(1.2, 0), parts(0.6, 100), parts(0.4, 0), parts(0.9, 0), parts(0.1, 0)] == [
        1, 1, 2, 2, 1, 1,
    ]  # fmt: skip


def test_a_batch_that_failed_is_planned_again_from_the_same_start(
    stepped: SteppedBackend, clock: EvaluationClock
) -> None:
    stepped.register("q", every(2))
    post(stepped, 1)
    post(stepped, 8)
    end = clock.advance({})
    assert end == {key(stepped, "q"): 6}
    assert clock.advance({}) == end
    assert clock.advance({}) == end
    assert clock.advance(end) == end
    assert clock.advance({}) == end


def test_a_batch_planned_again_after_a_crash_is_the_same_batch(
    tmp_path: Path, stepped: SteppedBackend, clock: EvaluationClock
) -> None:
    stepped.register("q", every(1))
    post(stepped, 1)
    stepped.backend.advance("s", 500)
    first = clock.advance({})
    second = clock.advance(first)
    planned = clock.due(first, second)
    stepped.backend.end_stream("s")  # more is known by then
    assert warm(tmp_path).due(first, second) == planned
    assert EvaluationClock(tmp_path).due(first, second) == planned


def test_a_crash_between_the_watermark_and_the_end_of_a_stream_moves_no_instant(
    tmp_path: Path, stepped: SteppedBackend, clock: EvaluationClock
) -> None:
    stepped.register("q", every(2))
    post(stepped, 1)
    stepped.backend.advance("s", 20)
    end = clock.advance({})
    stepped.backend.end_stream("s")
    assert clock.advance(end) == end
    assert warm(tmp_path).advance({}) == end


def test_a_query_starts_after_the_watermark_it_was_registered_at(
    stepped: SteppedBackend, clock: EvaluationClock
) -> None:
    post(stepped, 1)
    stepped.backend.advance("s", 6)
    stepped.register("now", every(2))
    stepped.register("before", every(2), since=3)
    stepped.backend.advance("s", 10)
    assert instants(clock, {}, clock.advance({})) == {"now": [8, 10], "before": [4, 6, 8, 10]}


def test_a_removed_query_is_due_no_more_and_its_offset_goes_with_the_next_batch(
    stepped: SteppedBackend, clock: EvaluationClock
) -> None:
    stepped.register("gone", every(2))
    stepped.register("there", every(2))
    post(stepped, 1)
    post(stepped, 5)
    end = clock.advance({})
    gone, there = key(stepped, "gone"), key(stepped, "there")
    assert end == {gone: 4, there: 4}
    stepped.backend.remove("gone")
    assert instants(clock, {}, end) == {"there": [2, 4]}
    assert clock.advance(end) == end  # not worth a batch
    post(stepped, 7)
    assert clock.advance(end) == {there: 6}


def test_a_replaced_query_goes_on_under_another_key_from_its_own_start(
    stepped: SteppedBackend, clock: EvaluationClock
) -> None:
    stepped.register("q", every(2))
    post(stepped, 1)
    post(stepped, 5)
    end = clock.advance({})
    old = key(stepped, "q")
    stepped.register("q", every(3))
    new = key(stepped, "q")
    assert new != old
    assert clock.advance(end) == end
    post(stepped, 10)
    later = clock.advance(end)
    assert later == {new: 9}
    assert instants(clock, end, later) == {"q": [6, 9]}


def test_a_query_whose_stream_is_deleted_is_due_no_more(stepped: SteppedBackend, clock: EvaluationClock) -> None:
    stepped.register("live", every(2), standing=False)
    post(stepped, 1)
    post(stepped, 5)
    end = clock.advance({})
    stepped.backend.delete_stream("s")
    assert clock.advance(end) == end
    assert clock.due({}, end) == []
    stepped.event_stream("s", EX + "s")
    post(stepped, 50)
    assert clock.advance(end) == end


def test_the_reader_gives_spark_every_due_evaluation_once(tmp_path: Path, stepped: SteppedBackend) -> None:
    for step in (2, 3, 5):
        stepped.register(f"q{step}", every(step))
    post(stepped, 1)
    post(stepped, 12)
    write_cores(Layout(tmp_path), 2)
    reader: EvaluationInstantsReader = pickle.loads(pickle.dumps(EvaluationInstantsReader(str(tmp_path), given)))
    warmed = reader.latestOffset(reader.initialOffset(), None)
    assert [row for part in reader.partitions({}, warmed) for row in rows(reader, part) if row[2]] == []
    end = reader.latestOffset(warmed, None)
    found = [row for part in reader.partitions(warmed, end) for row in rows(reader, part)]
    assert sorted((str(name).split(".")[0], t) for name, _, due in found for t in due) == sorted(
        (f"q{step}", t) for step in (2, 3, 5) for t in range(step, 12, step)
    )
    assert reader.latestOffset(end, None) == end
    assert list(reader.partitions(end, end)) == []


def test_without_a_checkpoint_it_goes_on_after_what_is_out_also_of_a_query_that_is_back_from_its_own_lane(
    tmp_path: Path, stepped: SteppedBackend
) -> None:
    for name in ("stayed", "moved", "apart"):
        stepped.register(name, every(2))
    post(stepped, 5)
    stepped.run()
    moved, apart = stepped.running("moved"), stepped.running("apart")
    moved.registered = moved.registered.in_own_lane().in_common_lane(moved.position)
    apart.registered = apart.registered.in_own_lane()
    stepped.backend._query_files.keep()
    post(stepped, 9)
    stepped.run()
    write_cores(Layout(tmp_path), 1)
    reader = EvaluationInstantsReader(str(tmp_path), given)
    start = reader.initialOffset()
    assert start == {key(stepped, "stayed"): 8, f"{key(stepped, 'moved')}+1": 8}
    warmed = reader.latestOffset(start, None)
    assert reader.latestOffset(warmed, None) == warmed


def test_the_parts_of_a_batch_say_which_they_are_and_a_batch_planned_again_is_another(
    tmp_path: Path, stepped: SteppedBackend
) -> None:
    for step in (2, 3):
        stepped.register(f"q{step}", every(step))
    post(stepped, 1)
    post(stepped, 4)
    write_cores(Layout(tmp_path), 2)
    reader = EvaluationInstantsReader(str(tmp_path), given)
    warmed = reader.latestOffset(reader.initialOffset(), None)
    end = reader.latestOffset(warmed, None)
    plans = [[part.part for part in reader.partitions(warmed, end) if isinstance(part, DuePartition)] for _ in range(2)]
    assert [[(part.number, part.count) for part in plan] for plan in plans] == 2 * [[(0, 2), (1, 2)]]
    assert [len({part.batch for part in plan}) for plan in plans] == [1, 1]
    assert plans[0][0].batch != plans[1][0].batch


def given(part: Part, place: int, due: Sequence[Due]) -> Iterator[Due]:
    """Answers what is due with itself."""
    yield from due


def rows(reader: EvaluationInstantsReader, partition: object) -> list[tuple[str, str, list[int]]]:
    """What a task does with a partition, which travels to it pickled."""
    travelled = pickle.loads(pickle.dumps(partition))
    assert isinstance(travelled, DuePartition)
    return [(name, prepared, list(due)) for name, prepared, due in reader.read(travelled)]
