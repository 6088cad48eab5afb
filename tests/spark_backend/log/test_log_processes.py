"""The log between real processes and threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from protocol.streams import AppendReceipt
from protocol.windows.timeline import END
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import arrival_stream, event_stream, request, rows, triple

ROOT = Path(__file__).parents[3]

READER = """
import sys
from pathlib import Path
from spark_backend.log.reader import LogReader
reader, scanned, fed = LogReader(Path(sys.argv[1])), 0, 0
print("ready", flush=True)
while True:
    ended = reader.ended
    elements = reader.new_elements()
    fed += 0 if elements is None else len(elements)
    if reader.watermark >= 0:
        # All that the watermark promises is there: every element up to it, twice over.
        upto = min(reader.watermark, 999)
        table = reader.scan(-1, upto)
        assert sorted(table["time"].to_pylist()) == sorted(2 * list(range(upto + 1))), upto
        scanned += 1
    if ended:
        print(fed, scanned, reader.scan(-1, 10**6).num_rows)
        break
    while not reader.refresh():
        pass
"""

WRITER = """
import sys
from pathlib import Path
from spark_backend.log.writer import StreamLog
from tests.spark_backend.log.log_oracle import event_stream, request, triple
log = StreamLog.open(Path(sys.argv[1]), event_stream(), lambda: 0, segment_bytes=20_000)
time = log.describe().elements
while True:
    log.append(request((time, [triple(str(time))])))
    print(time, flush=True)
    time += 1
"""


def run(script: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, str(directory)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_another_process_reads_while_this_one_writes(tmp_path: Path) -> None:
    log = StreamLog.open(tmp_path / "log", event_stream(), lambda: 0, segment_bytes=50_000)
    with run(READER, tmp_path / "log") as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        for time in range(1000):
            if time % 10 == 0:
                log.append(request(*((t, [triple(str(t)), triple("x")]) for t in range(time, time + 10))))
        log.end()
        output = reader.stdout.read()
    assert reader.returncode == 0
    fed, scanned, rows_seen = map(int, output.split())
    assert (fed, rows_seen) == (1000, 2000)
    assert scanned > 1
    log.close()


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    acknowledged = -1
    for round_ in range(3):
        with run(WRITER, tmp_path / "log") as writer:
            assert writer.stdout is not None
            for line in writer.stdout:
                acknowledged = int(line)
                if acknowledged >= 40 * (round_ + 1):
                    break
            os.kill(writer.pid, signal.SIGKILL)
            for line in writer.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        log = StreamLog.open(tmp_path / "log", event_stream(), lambda: 0)
        counts = log.describe()
        # The last one may be stored and not yet acknowledged.
        assert counts.elements in (acknowledged + 1, acknowledged + 2)
        times = [row[0] for row in rows(LogReader(tmp_path / "log").scan(-1, 10**6))]
        assert sorted(times, key=str) == sorted(range(counts.elements), key=str)
        log.close()


@pytest.mark.parametrize("arrival", [True, False])
def test_appends_of_many_threads_are_all_kept_whole_and_in_one_order(arrival: bool, tmp_path: Path) -> None:
    ticks = iter(range(1000, 10**9))
    settings = arrival_stream() if arrival else event_stream(lateness=10**6)
    log = StreamLog.open(tmp_path / "log", settings, lambda: next(ticks), segment_bytes=30_000)

    def append(number: int) -> AppendReceipt:
        name = f"m{number}"
        # While other threads write.
        log.tick()
        return log.append(request((number, [triple(name), triple(name, 1.0)]), (number, [triple(name, 2.0)])))

    with ThreadPoolExecutor(8) as threads:
        receipts = list(threads.map(append, range(300)))
    assert {(receipt.elements, receipt.triples) for receipt in receipts} == {(2, 3)}
    assert log.describe()[:3] == (600, 900, 0)
    reader = LogReader(tmp_path / "log")
    found = sorted(rows(reader.scan(-1, END)), key=lambda row: (row[2], str(row[8])))
    assert [row[2] for row in found] == [n for n in range(600) for _ in range(2 - n % 2)]
    for start in range(0, 900, 3):
        assert len({row[4] for row in found[start : start + 3]}) == 1, "a request is in one piece"
    elements = reader.new_elements()
    assert elements is not None
    times = elements.time.to_pylist()
    assert all(seen < time for time, seen in zip(times, elements.seen.to_pylist(), strict=True))
    if arrival:
        assert times == sorted(times)
    log.close()


def test_waiting_appends_share_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = StreamLog.open(tmp_path / "log", event_stream(lateness=10**6), lambda: 0)
    first_is_writing, others_wait = threading.Event(), threading.Event()
    syncs: list[int] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        syncs.append(descriptor)
        first_is_writing.set()
        assert others_wait.wait(10)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    with ThreadPoolExecutor(9) as threads:
        first = threads.submit(log.append, request((1, [triple("a")])))
        assert first_is_writing.wait(10)
        others = [threads.submit(log.append, request((n, [triple("b")]))) for n in range(2, 10)]
        while len(log._waiting) < 8:
            os.sched_yield()
        others_wait.set()
        assert {future.result().elements for future in [first, *others]} == {1}
    assert len(syncs) == 2
    monkeypatch.undo()
    log.close()
