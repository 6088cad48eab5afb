"""A request with an idempotency key is appended once, however often and at whatever times it is sent."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol.errors import KeyReused, StorageFull
from protocol.streams import AppendReceipt, StreamSettings, TimeKind
from spark_backend.log.appending import request_keys
from spark_backend.log.appending.request_keys import LONGEST, RequestKey, RequestKeys
from spark_backend.log.format.keys import KeyedRequest
from spark_backend.log.format.segment import ActiveSegment
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import request, triple


class Clock:
    """A clock that is set."""

    now = 0

    def __call__(self) -> int:
        return self.now


def opened(directory: Path, clock: Clock, retention: int = 10**9, segment_bytes: int = 3000) -> StreamLog:
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, retention=retention)
    return StreamLog.open(directory, settings, clock, segment_bytes=segment_bytes)


def key(name: str, body: str = "") -> RequestKey:
    return RequestKey.of(name, (body or name).encode(), "text/turtle", None)


def send(log: StreamLog, name: str, time: int, body: str = "") -> AppendReceipt:
    return log.append(request((time, [triple(name)])), key(name, body))


def test_a_key_is_answered_as_at_first_also_after_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    log = opened(tmp_path / "s", clock)
    first = {name: send(log, name, place) for place, name in enumerate("abcdefgh")}
    log.append(request((99, [triple("without")])))
    for _ in range(2):
        assert {name: send(log, name, 50) for name in first} == first
        assert [log.answer(key(name)) for name in first] == list(first.values())
        assert log.describe().elements == 9
        log.close()
        log = opened(tmp_path / "s", clock)
    assert log.answer(key("z")) is None
    assert len(list((tmp_path / "s").glob("*.segment"))) > 2
    assert [len(LogReader(tmp_path / "s").scan(-1, 200))] == [9]
    log.end()
    assert send(log, "a", 50) == first["a"], "what was answered stays answered after the end"
    log.close()


def test_another_request_under_a_key_is_refused_and_nothing_is_appended(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", Clock())
    send(log, "a", 1)
    for again in (key("a", "other"), RequestKey.of("a", b"a", "text/turtle", 7), RequestKey.of("a", b"a", "x/y", None)):
        with pytest.raises(KeyReused):
            log.answer(again)
        with pytest.raises(KeyReused):
            log.append(request((2, [triple("b")])), again)
    assert log.describe().elements == 1
    log.close()


@pytest.mark.parametrize("retention", [5_000, 10**12])
def test_a_key_is_known_for_the_retention_and_no_longer_than_a_day(retention: int, tmp_path: Path) -> None:
    clock = Clock()
    log = opened(tmp_path / "s", clock, retention)
    send(log, "a", 1)
    clock.now = min(retention, LONGEST)
    assert log.answer(key("a")) is not None
    clock.now += 1
    assert log.answer(key("a")) is None
    assert send(log, "a", 1, "another body").elements == 1
    assert log.describe().elements == 2
    assert log.answer(key("a", "another body")) is not None
    log.close()


def test_two_at_once_are_appended_once(tmp_path: Path) -> None:
    log = opened(tmp_path / "s", Clock())
    start = threading.Barrier(8)

    def attempt(_: int) -> AppendReceipt:
        start.wait()
        return send(log, "a", 1)

    with ThreadPoolExecutor(8) as threads:
        receipts = set(threads.map(attempt, range(8)))
    assert len(receipts) == 1
    assert log.describe().elements == 1
    log.close()


def test_two_of_one_group_are_appended_once_where_the_key_was_there_long_before(tmp_path: Path) -> None:
    clock = Clock()
    log = opened(tmp_path / "s", clock, retention=1000)
    send(log, "a", 1)
    clock.now = 2000
    batch = request((2, [triple("a")]))
    first, second = log.append_all([(batch, key("a")), (batch, key("a"))])
    assert first == second
    assert log.describe().elements == 2
    with pytest.raises(KeyReused):
        send(log, "a", 3, body="another")
    log.close()


def test_what_could_not_be_stored_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path / "s", Clock(), segment_bytes=10**6)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ActiveSegment, "append", fail)
        with pytest.raises(StorageFull, match="No space left"):
            send(log, "a", 1)
    assert log.answer(key("a")) is None
    assert send(log, "a", 1).elements == 1
    assert log.describe().elements == 1
    log.close()


def test_many_keys_are_known_as_few_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_keys, "_RECENT", 7)
    clock = Clock()
    log = opened(tmp_path / "s", clock)
    receipts = {}
    for number in range(40):
        clock.now = number * LONGEST // 39
        receipts[number] = send(log, str(number), number)
    assert [log.answer(key(str(number))) for number in range(40)] == list(receipts.values())
    clock.now += LONGEST // 2
    send(log, "last", 100)
    assert [log.answer(key(str(number))) is not None for number in range(40)] == [number >= 20 for number in range(40)]
    with pytest.raises(KeyReused):
        log.answer(key("30", "other"))
    log.close()


def test_what_is_known_is_not_looked_through_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many keys a log has, to store a request takes no longer."""
    looked = []

    class Rows(np.ndarray[tuple[int], np.dtype[np.void]]):
        def __getitem__(self, index: Any) -> Any:
            looked.append(index)
            return super().__getitem__(index)

    def sort(rows: Any, order: str) -> Any:
        return np.array(sorted(rows.tolist()), rows.dtype).view(Rows)

    monkeypatch.setattr(request_keys, "_RECENT", 7)
    monkeypatch.setattr(np, "sort", sort)
    keys = RequestKeys(LONGEST, [])
    for number in range(100):
        wanted = key(str(number))
        keys.note(KeyedRequest(wanted.key, wanted.body, number, 1, 1, 0))
        keys.note_stored(number)
    assert looked == []
    found = keys.answer(key("5"), 100)
    assert found is not None
    assert looked != []
    keys.note_stored(LONGEST + 101)
    assert keys.answer(key("5"), 0) is None
