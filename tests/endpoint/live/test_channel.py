from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from endpoint.backend import Evaluation, Failed, Outcome, Progress
from endpoint.live.channel import Bounds, Channel, Entry
from protocol.time import BEFORE_ALL
from tests.endpoint.live.live_side import run, settle

WIDE = Bounds()


def evaluation(instant: int, data: bytes = b"{}") -> Evaluation:
    return Evaluation("q", instant, data)


def held(channel: Channel, after: int = BEFORE_ALL) -> list[Entry]:
    """Everything that the channel holds after a cursor."""
    found: list[Entry] = []
    while (entry := channel.next(found[-1].sequence if found else after)) is not None:
        found.append(entry)
    return found


def instants(channel: Channel) -> list[int]:
    return [entry.notice.instant for entry in held(channel) if isinstance(entry.notice, Evaluation)]


def outcomes(channel: Channel) -> list[int]:
    return [entry.notice.instant for entry in held(channel) if not isinstance(entry.notice, Progress)]


def test_entries_come_out_in_order_and_a_cursor_goes_on_where_it_was() -> None:
    channel = Channel("q", WIDE)
    for instant in (10, 20, 30):
        channel.take(evaluation(instant), instant)
    assert instants(channel) == [10, 20, 30]
    first = channel.next(BEFORE_ALL)
    assert first is not None
    assert [entry.notice for entry in held(channel, first.sequence)] == [evaluation(20), evaluation(30)]
    assert channel.next(channel.sequence) is None


def test_what_was_given_out_before_is_not_given_out_again() -> None:
    channel = Channel("q", WIDE)
    for instant in (10, 20, 20, 10, 15):
        channel.take(evaluation(instant), 0)
    assert instants(channel) == [10, 20]
    channel.take(Progress("q", 20, 25), 0)
    for time, watermark in ((20, 25), (20, 24), (15, 30)):
        channel.take(Progress("q", time, watermark), 0)
    assert [entry.notice for entry in held(channel)][2:] == [Progress("q", 20, 25)]


def test_only_the_latest_of_progresses_that_follow_one_another_is_held() -> None:
    channel = Channel("q", WIDE)
    channel.take(evaluation(10), 0)
    for time in (20, 30, 40):
        channel.take(Progress("q", time, time), 0)
    channel.take(Failed("q", 45, "why"), 0)
    channel.take(Progress("q", 50, 50), 0)
    assert [entry.notice for entry in held(channel)] == [
        evaluation(10), Progress("q", 40, 40), Failed("q", 45, "why"), Progress("q", 50, 50)
    ]  # fmt: skip


def test_where_its_evaluations_begin_is_known_from_the_first_notice_on() -> None:
    channel = Channel("q", WIDE)
    assert (channel.floor, channel.origin, channel.live) == (None, None, None)
    channel.take(evaluation(10), 0)
    assert (channel.floor, channel.origin, channel.live) == (9, 9, 10)
    told = Channel("q", WIDE)
    told.take(Progress("q", 10, 12), 0)
    assert (told.floor, told.origin, told.live) == (10, 10, 10)
    opened = Channel("q", WIDE, floor=BEFORE_ALL)
    opened.take(evaluation(10), 0)
    assert (opened.floor, opened.live) == (BEFORE_ALL, 10)


def test_an_entry_is_encoded_once_for_all() -> None:
    channel = Channel("q", WIDE)
    channel.take(evaluation(10), 15)
    entry = channel.next(BEFORE_ALL)
    assert entry is not None
    assert entry.event is entry.event
    assert b"data: {}" in entry.event


@given(
    sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=30),
    entries=st.integers(1, 8),
    most=st.integers(300, 8000),
)
def test_it_holds_the_last_within_its_bounds_and_says_from_where_on(sizes: list[int], entries: int, most: int) -> None:
    channel = Channel("q", Bounds(entries, most), floor=BEFORE_ALL)
    for number, size in enumerate(sizes, 1):
        channel.take(Failed("q", number, "x" * size) if size % 5 == 1 else evaluation(number, b"x" * size), number)
    found = held(channel)
    kept = outcomes(channel)
    numbers = range(1, len(sizes) + 1)
    latest = max((number for number in numbers if sizes[number - 1] % 5 != 1), default=None)
    left_out = [number for number in numbers if number not in kept]
    assert kept == [number for number in numbers if number > max(left_out, default=0) or number == latest]
    assert len(kept) <= max(entries, 2 if latest in kept[:-1] else 1)
    assert sum(entry.size for entry in found) <= most or len(found) == 1 or len(kept) == 2
    assert (channel.latest and channel.latest.instant) == latest
    assert channel.floor == max(left_out, default=BEFORE_ALL)


def test_the_latest_evaluation_is_held_whatever_comes_after_it() -> None:
    channel = Channel("q", Bounds(entries=2))
    channel.take(evaluation(10), 0)
    for number in range(5):
        channel.take(Failed("q", 20 + number, "why"), 0)
    assert instants(channel) == [10]


def test_what_went_before_the_latest_evaluation_is_not_taken_for_held_when_that_goes() -> None:
    channel = Channel("q", Bounds(entries=2))
    channel.take(evaluation(10), 0)
    for number in (20, 30):
        channel.take(Failed("q", number, "why"), 0)
    assert channel.floor == 20
    channel.take(evaluation(40), 0)
    assert [entry.notice for entry in held(channel)] == [Failed("q", 30, "why"), evaluation(40)]
    assert channel.floor == 20


def test_what_is_given_out_again_does_not_move_back_where_it_begins() -> None:
    channel = Channel("q", Bounds(entries=3), floor=BEFORE_ALL)
    notices: list[Outcome] = [evaluation(10), Failed("q", 20, "why"), *map(evaluation, (30, 40, 50))]
    for notice in [*notices, *notices, *map(evaluation, (60, 70, 80))]:
        channel.take(notice, 0)
    assert (instants(channel), channel.floor) == ([60, 70, 80], 50)


@given(past=st.lists(st.integers(1, 2000), max_size=12), room=st.integers(1, 12), live=st.booleans())
def test_what_is_put_back_is_held_as_far_as_there_is_room(past: list[int], room: int, live: bool) -> None:
    channel = Channel("q", Bounds(entries=room))
    upto = 100
    if live:
        channel.take(evaluation(upto + 1), 0)
    evaluations = [evaluation(number, b"x" * size) for number, size in enumerate(past, 1)]
    channel.fill(evaluations, after=0, upto=upto, watermark=0)
    everything = list(range(1, len(past) + 1)) + ([upto + 1] if live else [])
    assert instants(channel) == everything[len(everything) - min(len(everything), room) :]
    left_out = [instant for instant in everything if instant not in instants(channel)]
    assert channel.floor == (left_out[-1] if left_out else 0)
    numbers = [entry.sequence for entry in held(channel)]
    assert numbers == sorted(set(numbers))
    channel.take(evaluation(200), 0)
    assert instants(channel)[-1] == 200


def test_what_ends_elsewhere_than_the_channel_begins_is_not_put_back() -> None:
    channel = Channel("q", WIDE)
    channel.take(evaluation(10), 0)
    channel.fill([evaluation(5)], after=0, upto=7, watermark=0)
    assert (instants(channel), channel.floor) == ([10], 9)


def test_an_answer_that_is_remembered_gives_way_to_one_that_came() -> None:
    channel = Channel("q", WIDE)
    channel.remember([])
    nothing = channel.latest
    assert nothing is None
    channel.remember([evaluation(1), evaluation(2)])
    assert channel.latest == evaluation(2)
    channel.remember([evaluation(3)])
    assert channel.latest == evaluation(2)
    channel.take(evaluation(4), 0)
    assert channel.latest == evaluation(4)


def test_what_nobody_reads_is_held_for_a_moment_only() -> None:
    class Reader:
        """Somebody who listens, or may go on."""

    channel, reader = Channel("q", WIDE), Reader()
    channel.readers.add(reader)
    for instant in range(1000):
        channel.take(evaluation(instant), 0)
    assert instants(channel) == list(range(1000))
    del reader
    channel.take(evaluation(1000), 0)
    there = instants(channel)
    assert there == list(range(there[0], 1001))
    assert len(there) < 100
    assert channel.floor == there[0] - 1
    for instant in range(1001, 1010):
        channel.take(evaluation(instant, b"x" * 1_000_000), 0)
    assert instants(channel) == [1009]


def test_whoever_waits_hears_of_what_comes_of_the_end_and_of_the_close() -> None:
    async def check() -> None:
        channel = Channel("q", WIDE)
        for tell in (channel.wake, lambda: channel.end("it was removed"), channel.close):
            waiting = [asyncio.ensure_future(channel.changed()) for _ in range(3)]
            await settle()
            assert not any(one.done() for one in waiting)
            tell()
            await settle()
            assert all(one.done() for one in waiting)
        assert (channel.ended, channel.gone, channel.closed) == ("it was removed", True, True)
        channel.end("for another reason")
        assert channel.ended == "it was removed"

    run(check())


def test_who_comes_first_hears_of_it_before_all_others() -> None:
    async def check() -> None:
        channel = Channel("q", WIDE)
        told: list[str] = []

        async def wait(name: str, *, first: bool = False) -> None:
            await channel.changed(first=first)
            told.append(name)

        tasks = [asyncio.ensure_future(wait("listener")) for _ in range(200)]
        tasks.append(asyncio.ensure_future(wait("sink", first=True)))
        await settle()
        channel.wake()
        await asyncio.gather(*tasks)
        assert told == ["sink", *["listener"] * 200]

    run(check())
