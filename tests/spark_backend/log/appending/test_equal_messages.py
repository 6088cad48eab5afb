"""Equal messages are told apart by how many came before, in whatever requests and order, and across restarts."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.columns import read_elements
from spark_backend.log.appending import equal_messages, written_messages
from spark_backend.log.format.memory_map import MappedSegment
from spark_backend.log.format.segment import ActiveSegment
from spark_backend.log.reader import LogReader
from spark_backend.log.writer import StreamLog

GENERATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"

Element = tuple[int, str]
"""A time, and what the message says."""


def stream(lateness: int) -> StreamSettings:
    return StreamSettings("http://ex/s", TimeKind.EVENT, allowed_lateness=lateness, retention=10**9)


def opened(directory: Path, lateness: int = 0, segment_bytes: int = 4096) -> StreamLog:
    return StreamLog.open(directory, stream(lateness), lambda: 0, segment_bytes=segment_bytes)


def send(log: StreamLog, *elements: Element, lateness: int = 0) -> None:
    """One request: a message for each element, its node with a label that is the same in all of them."""
    body = "# @message\n".join(
        f'_:g {GENERATED} "{time}"^^{INTEGER} .\n_:n <http://ex/says> "{text}" _:g .\n' for time, text in elements
    )
    log.append(read_elements(body.encode(), "application/n-quads; messages=rdfm", settings=stream(lateness), at=None))


def nodes(directory: Path) -> dict[Element, set[str]]:
    """By what was said when: the nodes that said it."""
    reader = LogReader(directory)
    found: dict[Element, set[str]] = {}
    for row in reader.scan(-(2**61), 2**61).to_pylist():
        found.setdefault((row["time"], row["o"].strip('"')), set()).add(row["s"])
    reader.close()
    return found


def test_what_is_sent_again_is_another_message(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for _ in range(3):
        send(log, (5, "a"))
    send(log, (5, "b"), (5, "a"))
    send(log, (6, "a"))
    log.close()
    assert {element: len(found) for element, found in nodes(tmp_path).items()} == {
        (5, "a"): 4,
        (5, "b"): 1,
        (6, "a"): 1,
    }


_elements = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("ab")), min_size=1, max_size=14)


@settings(deadline=None, max_examples=40)
@given(st.data(), _elements, st.integers(0, 4), st.integers(0, 3))
def test_names_depend_on_neither_order_nor_requests_nor_restarts(
    data: st.DataObject, elements: list[Element], lateness: int, held: int
) -> None:
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_messages, "HELD", held)
        for _ in range(2):
            with tempfile.TemporaryDirectory() as directory:
                place, left = Path(directory) / "log", data.draw(st.permutations(elements))
                log = opened(place, lateness)
                while left:
                    count = data.draw(st.integers(1, len(left)))
                    send(log, *left[:count], lateness=lateness)
                    left = left[count:]
                    if data.draw(st.integers(0, 3)) == 0:
                        log.close()
                        log = opened(place, lateness)
                log.close()
                found.append(nodes(place))
    assert found[0] == found[1]
    assert {element: len(there) for element, there in found[0].items()} == Counter(elements)


def test_requests_at_the_same_moment_are_counted_in_the_order_the_log_takes_them(tmp_path: Path) -> None:
    log = opened(tmp_path)

    def send_some(place: int) -> None:
        for time in range(10):
            send(log, (time, "a"), (9 - time, "a"))

    threads = [threading.Thread(target=send_some, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert {element: len(found) for element, found in nodes(tmp_path).items()} == {(t, "a"): 8 for t in range(10)}


def test_a_message_that_could_not_be_written_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path)
    send(log, (5, "a"))
    append = ActiveSegment.append

    def failing(self: ActiveSegment, parts: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(ActiveSegment, "append", failing)
    with pytest.raises(Exception, match="nothing was stored"):
        send(log, (5, "a"))
    monkeypatch.setattr(ActiveSegment, "append", append)
    send(log, (5, "a"))
    log.close()
    assert sorted(name[name.index("k") :] for name in nodes(tmp_path)[5, "a"]) == ["k0b0", "k1b0"]


def test_messages_in_order_never_make_the_log_look_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path, lateness=3)
    monkeypatch.setattr(log._equal, "_lookup", lambda digest, instant: pytest.fail("looked back"))
    for time in range(4, 40):
        send(log, (time, "a"), (time, "a"), (time - 3, "b"), lateness=3)
    assert log._equal._count <= 3 * 5
    log.close()


def test_what_comes_late_is_counted_on_from_what_the_files_say(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for time in range(0, 400, 2):
        send(log, (time, "a"), (time, "b"))
    log.close()
    log = opened(tmp_path)
    for _ in range(2):
        send(log, *((time, "a") for time in range(0, 400, 3)))
    send(log, *((time, "b") for time in range(0, 400, 5)), (0, "b"))
    log.close()
    expected = Counter([(t, text) for t in range(0, 400, 2) for text in "ab"])
    expected += Counter([(t, "a") for t in range(0, 400, 3)] * 2 + [(t, "b") for t in range(0, 400, 5)] + [(0, "b")])
    assert {element: len(found) for element, found in nodes(tmp_path).items()} == expected


def test_what_retention_has_taken_is_not_looked_for(tmp_path: Path) -> None:
    settings = StreamSettings("http://ex/s", TimeKind.EVENT, retention=2000)
    log = StreamLog.open(tmp_path, settings, lambda: 0, segment_bytes=2048)
    for time in range(0, 40_000, 500):
        send(log, (time, "a"), (0, "old"))
    retained = log.describe().retained_from
    assert retained is not None
    assert retained > 0
    for file in sorted(tmp_path.glob("*.segment"))[:-1]:
        file.unlink()  # as if retention took more, just now
    send(log, (10, "a"), (0, "old"), (39_500, "a"))
    log.close()


def test_a_log_is_not_read_again_for_each_message_that_comes_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late messages make the times of each block those of the whole log: it may have what is asked for, or not."""
    monkeypatch.setattr(written_messages, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(written_messages, "_COUNTED_BLOCKS", 2)
    count, read = written_messages._count, Counter[str]()

    def counted(segment: MappedSegment, start: int, end: int, counts: dict[str, int]) -> None:
        read["blocks"] += 1
        count(segment, start, end, counts)

    monkeypatch.setattr(written_messages, "_count", counted)
    log = opened(tmp_path, segment_bytes=20_000)
    sent = Counter[Element]()
    for number in range(100):
        elements = [(1000 + number, str(number)), (number, f"late {number}")]
        send(log, *elements)
        sent.update(elements)
    blocks = len(log._written._blocks)
    assert blocks > 20
    assert read["blocks"] < 200 + 2 * blocks
    for number in range(0, 100, 9):
        again = (number, f"late {number}")
        send(log, again, again)
        sent.update([again, again])
    log.close()
    assert {element: len(found) for element, found in nodes(tmp_path).items()} == sent
