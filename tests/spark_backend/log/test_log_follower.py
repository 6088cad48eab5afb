"""A log read back as it came: in its order, from any element on, and told where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import NotFound
from protocol.streams import StreamElement, StreamGap, StreamItem, StreamReach
from spark_backend.log.follower import LogFollower
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import event_stream, request, triple


def opened(directory: Path, **settings: int) -> StreamLog:
    return StreamLog.open(directory, event_stream(**settings), lambda: 0, segment_bytes=1_000)


def taken(follower: LogFollower) -> list[StreamItem]:
    found: list[StreamItem] = []
    while some := follower.take():
        found += some
    return found


def numbers(found: list[StreamItem]) -> list[int]:
    return [one.number for one in found if isinstance(one, StreamElement)]


def test_elements_come_in_the_order_of_the_log_with_what_is_in_them(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    follower = LogFollower(tmp_path / "s", None)
    assert follower.take() == []
    one, two = triple("one"), triple("two")
    log.append(request((7, [one, two]), (3, []), (9, [one])))
    log.append(request((9, [two])))
    lines = {1: " ".join(map(str, one[1:4])) + " .\n", 2: " ".join(map(str, two[1:4])) + " .\n"}
    assert taken(follower) == [
        StreamElement(0, 7, (lines[1] + lines[2]).encode()),
        StreamElement(1, 3, b""),
        StreamElement(2, 9, lines[1].encode()),
        StreamElement(3, 9, lines[2].encode()),
    ]
    assert (follower.watermark, follower.ended) == (8, False)
    log.end()
    assert follower.take() == []
    assert follower.ended
    log.close()


def test_a_follower_begins_after_any_element_in_any_segment(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    for place in range(20):
        log.append(request((place, [triple("a")]), (place, [triple("b")])))
    assert len(list((tmp_path / "s").glob("*.segment"))) > 5
    for after in range(-1, 40):
        assert numbers(taken(LogFollower(tmp_path / "s", after))) == list(range(after + 1, 40))
    for after, foreign in ((40, False), (1000, False), (5, True)):
        gap, *elements = taken(LogFollower(tmp_path / "s", after, foreign=foreign))
        assert gap == StreamGap(-1), "the number is another log's"
        assert numbers(elements) == list(range(40))
    behind = LogFollower(tmp_path / "s", 39)
    assert taken(behind) == []
    log.append(request((30, [triple("c")])))
    assert numbers(taken(behind)) == [40]
    log.close()


def test_no_element_of_an_empty_log_was_there_before(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    follower = LogFollower(tmp_path / "s", 0)
    log.append(request((7, [triple("a")])))
    assert [type(one) for one in taken(follower)] == [StreamGap, StreamElement]
    log.close()


def test_what_retention_has_taken_is_a_gap_unless_all_that_is_held_was_asked_for(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", retention=3)
    slow = LogFollower(tmp_path / "s", None)
    for place in range(20):
        log.append(request((place, [triple("a")])))
    log.retain(0)
    held = log.describe().retained_from
    assert held is not None
    first = held + 1
    for follower in (slow, LogFollower(tmp_path / "s", 2)):
        found = taken(follower)
        assert found[0] == StreamGap(held)
        assert numbers(found) == list(range(first, 20))
    assert LogFollower(tmp_path / "s", -1).retained_from == held
    assert numbers(taken(LogFollower(tmp_path / "s", -1))) == list(range(first, 20))
    assert not any(isinstance(one, StreamGap) for one in taken(LogFollower(tmp_path / "s", -1)))
    assert not any(isinstance(one, StreamGap) for one in taken(LogFollower(tmp_path / "s", first)))
    log.close()


def test_a_stream_that_is_deleted_is_not_found(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    follower = LogFollower(tmp_path / "s", None)
    log.drop()
    with pytest.raises(NotFound):
        follower.take()


def test_how_far_a_stream_is_can_be_seen_without_taking_anything(tmp_path: Path) -> None:
    log = opened(tmp_path / "s")
    log.append(request((1, [triple("a")])))
    follower, other = LogFollower(tmp_path / "s", None), LogFollower(tmp_path / "s", None)
    assert follower.log == other.log == "s"
    assert follower.reach() == follower.taken == StreamReach(1, 0, False)
    log.append(request((5, [triple("b")])))
    assert follower.reach() == StreamReach(2, 4, False)
    assert follower.taken == StreamReach(1, 0, False)
    assert numbers(taken(follower)) == [1]
    assert follower.taken == StreamReach(2, 4, False)
    log.end()
    assert follower.reach().ended
    other.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        other.reach()
    log.drop()
    for look in (follower.reach, follower.take, follower.reach):
        with pytest.raises(NotFound):
            look()
