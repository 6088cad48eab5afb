from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from endpoint.client import pace
from protocol.messages.message import Message


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def numbered(count: int) -> list[Message]:
    return [Message(str(number).encode()) for number in range(count)]


def is_empty(message: Message) -> bool:
    return not message.body


def sent(scheduled: Iterator[pace.Scheduled], clock: Clock, took: float = 0.0) -> list[tuple[float, list[bytes]]]:
    requests = []
    for batch in pace.batches(scheduled, clock, clock.sleep, is_empty, start=100):
        requests.append((round(clock.now - 100, 6), [message.body for message in batch]))
        clock.now += took
    return requests


def test_without_a_pace_messages_go_out_together_up_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "BATCH_MESSAGES", 2)
    clock = Clock()
    assert [batch for _, batch in sent(pace.at_once(numbered(5)), clock)] == [[b"0", b"1"], [b"2", b"3"], [b"4"]]
    assert clock.slept == []


def test_a_batch_is_limited_in_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "BATCH_BYTES", 3)
    batches = sent(pace.at_once([Message(b"aa"), Message(b"bb"), Message(b"cccccc"), Message(b"d")]), Clock())
    assert [batch for _, batch in batches] == [[b"aa"], [b"bb"], [b"cccccc"], [b"d"]]


def test_a_rate_sends_each_message_when_it_is_due() -> None:
    assert sent(pace.Rate(2.0).scheduled(numbered(3)), Clock()) == [(0.0, [b"0"]), (0.5, [b"1"]), (1.0, [b"2"])]


def test_a_message_that_is_due_in_centuries_is_waited_for_in_steps_that_a_system_can_sleep() -> None:
    class Later(Exception):
        """Time enough has gone by for the test."""

    clock = Clock()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if len(clock.slept) == 3:
            raise Later

    for scheduled in (pace.Rate(1e-300).scheduled(numbered(2)), pace.Rate(5e-324).scheduled(numbered(2))):
        clock = Clock()
        with pytest.raises(Later):
            list(pace.batches(scheduled, clock, sleep, is_empty, start=100))
        assert clock.slept == [pace.SLEEP_SECONDS] * 3


def test_what_became_due_while_a_request_ran_goes_together() -> None:
    assert sent(pace.Rate(10.0).scheduled(numbered(4)), Clock(), took=0.25) == [
        (0.0, [b"0"]),
        (0.25, [b"1", b"2"]),
        (0.5, [b"3"]),
    ]


def test_a_replay_keeps_the_distances_of_the_messages_times_divided_by_the_speedup() -> None:
    times = {b"0": 5000, b"1": 15000, b"2": 15000, b"3": 9000, b"4": 25000}
    scheduled = pace.Replay(10.0).scheduled(numbered(5), lambda message: times[message.body], is_empty)
    assert sent(scheduled, Clock()) == [(0.0, [b"0"]), (1.0, [b"1", b"2", b"3"]), (2.0, [b"4"])]


def test_files_follow_each_other_at_the_pace_of_their_messages() -> None:
    rate, clock = pace.Rate(2.0), Clock()
    files = numbered(2), [Message(b"2")], [Message(b"3")]
    requests = [request for file in files for request in sent(rate.scheduled(file), clock)]
    assert requests == [(0.0, [b"0"]), (0.5, [b"1"]), (1.0, [b"2"]), (1.5, [b"3"])]
    times, replay, clock = {b"0": 5000, b"1": 6000, b"2": 25000, b"3": 15000}, pace.Replay(10.0), Clock()
    requests = [
        request
        for file in files
        for request in sent(replay.scheduled(file, lambda message: times[message.body], is_empty), clock)
    ]
    assert requests == [(0.0, [b"0"]), (0.1, [b"1"]), (2.0, [b"2"]), (2.0, [b"3"])]


def test_a_message_without_a_time_cannot_be_replayed() -> None:
    with pytest.raises(ValueError, match="message 2 has no time"):
        list(pace.Replay(1.0).scheduled(numbered(2), lambda message: 1 if message.body == b"0" else None, is_empty))


def messages(*bodies: bytes) -> list[Message]:
    return [Message(body) for body in bodies]


def test_an_empty_message_goes_with_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "BATCH_MESSAGES", 2)
    log = messages(b"", b"0", b"1", b"", b"", b"2")
    together = [[b"", b"0"], [b"1", b"", b""], [b"2"]]
    assert [batch for _, batch in sent(pace.at_once(log), Clock())] == together
    # All of the pipe has been read before the first request.
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.run)
    assert [[message.body for message in batch] for batch in pace.live_batches(log, is_empty)] == together
    assert sent(pace.Rate(2.0).scheduled(log), Clock()) == [
        (0.0, [b""]),
        (0.5, [b"0"]),
        (1.0, [b"1", b"", b""]),
        (2.5, [b"2"]),
    ]
    times = {b"0": 5000, b"1": 15000, b"2": 25000}
    replay = pace.Replay(10.0).scheduled(log[1:], lambda message: times.get(message.body), is_empty)
    assert sent(replay, Clock()) == [(0.0, [b"0"]), (1.0, [b"1", b"", b""]), (2.0, [b"2"])]
    with pytest.raises(ValueError, match="message 1 has no time"):
        next(pace.Replay(10.0).scheduled(log, lambda message: times.get(message.body), is_empty))


def test_a_pipe_sends_a_message_as_soon_as_it_is_whole() -> None:
    taken = threading.Event()

    def pipe() -> Iterator[Message]:
        yield Message(b"first")
        assert taken.wait(10)
        yield from numbered(3)

    batches = pace.live_batches(pipe(), is_empty)
    assert [message.body for message in next(batches)] == [b"first"]
    taken.set()
    assert [message.body for batch in batches for message in batch] == [b"0", b"1", b"2"]


def test_what_goes_wrong_in_a_pipe_is_raised_after_what_came_before_it() -> None:
    def pipe() -> Iterator[Message]:
        yield Message(b"first")
        raise OSError("the pipe broke")

    seen: list[Message] = []
    with pytest.raises(OSError, match="the pipe broke"):
        seen.extend(message for batch in pace.live_batches(pipe(), is_empty) for message in batch)
    assert [message.body for message in seen] == [b"first"]
