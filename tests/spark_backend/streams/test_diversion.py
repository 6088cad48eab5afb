"""With ``"onInvalid": "divert"`` a stream takes the messages that are right, and keeps the others beside it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Conflict, InvalidMessage, KeyReused
from protocol.streams import AppendReceipt, OnInvalid, StreamSettings, TimeKind
from spark_backend.log.format.manifest import MANIFEST, decode_manifest
from spark_backend.log.format.segment import segment_path
from spark_backend.log.writer import StreamLog
from spark_backend.streams.streams import Streams
from tests.spark_backend.streams.opened_streams import elements, opened

SETTINGS = StreamSettings("http://ex/s", TimeKind.EVENT, on_invalid=OnInvalid.DIVERT, max_ahead=1_000)
NDJSON = "application/x-ndjson"
GOOD = '{"@id": "http://ex/good", "http://www.w3.org/ns/sosa/resultTime": 500}'
AHEAD = '{"@id": "http://ex/ahead", "http://www.w3.org/ns/sosa/resultTime": 2001}'
TIMELESS = '{"@id": "http://ex/timeless", "http://ex/p": 1}'
BROKEN = '{"@id":'


def _rejected(root: Path, streams: Streams) -> list[str]:
    return [data for _, data in elements(root, streams, "s/rejected")]


def test_the_good_messages_are_stored_and_each_bad_one_is_kept_with_its_reason(tmp_path: Path) -> None:
    body = "\n".join([GOOD, BROKEN, AHEAD, TIMELESS, GOOD]).encode()
    with opened(tmp_path, lambda: 1_000) as streams:
        streams.create("s", SETTINGS)
        assert streams.append("s", body, NDJSON, None) == AppendReceipt(2, 2, 499, rejected=3)
        broken, ahead, timeless = _rejected(tmp_path, streams)
        assert json.dumps(BROKEN) in broken
        assert "is more than PT1S (the stream's maxAhead) ahead of the server's clock, which says" in ahead
        assert "1970-01-01T00:00:02.001Z" in ahead
        assert "no timestamp found" in timeless
        assert all(f'"{NDJSON}"' in one for one in (broken, ahead, timeless))
        described = streams.describe("s")
        assert (described.rejected, described.rejected_by) == (3, {"unreadable": 1, "ahead": 1, "no_time": 1})


def test_a_stream_that_rejects_takes_all_or_nothing_and_names_what_is_ahead(tmp_path: Path) -> None:
    with opened(tmp_path, lambda: 1_000) as streams:
        streams.create("s", StreamSettings("http://ex/s", TimeKind.EVENT, max_ahead=1_000))
        with pytest.raises(InvalidMessage, match=r"message 2 \(line 2\): its time, 1970-01-01T00:00:02.001Z") as caught:
            streams.append("s", f"{GOOD}\n{AHEAD}".encode(), NDJSON, None)
        assert caught.value.extra == {"message": 2}
        with pytest.raises(InvalidMessage, match=r"at=1970-01-01T00:00:02\.001Z: its time"):
            streams.append("s", GOOD.encode(), NDJSON, 2_001)
        assert streams.append("s", GOOD.encode(), NDJSON, 2_000).elements == 1
        described = streams.describe("s")
        assert (described.elements, described.rejected) == (1, 0)


def test_a_body_that_cannot_be_divided_is_one_message(tmp_path: Path) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", SETTINGS)
        for body, content_type in (
            (b"<a> <b> ", "text/turtle"),
            (b"\xff", "application/n-triples; charset=utf-8"),
            (b"<rdf", "application/rdf+xml"),
            (b"{}\n\xff", f"{NDJSON}; charset=ascii"),
        ):
            assert streams.append("s", body, content_type, None) == AppendReceipt(0, 0, None, rejected=1)
            assert f'"{content_type}"' in _rejected(tmp_path, streams)[-1]
        with pytest.raises(InvalidMessage):
            streams.append("s", b"", "text/turtle", 2**62)
        streams.end("s")
        with pytest.raises(Conflict):
            streams.append("s", b"<a> <b> ", "text/turtle", None)
        assert streams.describe("s").rejected == 4


@pytest.mark.parametrize(
    "body",
    [b"<a> <b> oops .\n" * (2**21), b"\xff" * (13 * 2**20), b'"' * (9 * 2**20)],
    ids=["lines", "no text", "quotation marks"],
)
def test_a_message_that_is_too_long_to_be_kept_whole_is_rejected_as_any_other(tmp_path: Path, body: bytes) -> None:
    with opened(tmp_path) as streams:
        streams.create("s", SETTINGS)
        assert streams.append("s", body, "text/turtle", None) == AppendReceipt(0, 0, None, rejected=1)
        (kept,) = _rejected(tmp_path, streams)
        assert f"of the {len(body)} bytes of the message" in kept


def test_an_empty_message_goes_with_the_one_before_it(tmp_path: Path) -> None:
    timed = "<http://ex/a> <http://www.w3.org/ns/sosa/resultTime> {} .\n# @message\n"
    body = (
        "# @message\n# @message\n"
        + timed.format(1)
        + "# @message\n"
        + "nonsense\n# @message\n# @message\n"
        + timed.format(2)
    )
    with opened(tmp_path) as streams:
        streams.create("s", SETTINGS)
        answer = streams.append("s", f"{body}# @message\n".encode(), "text/turtle; messages=rdfm", None)
        assert (answer.elements, answer.rejected) == (4, 2)
        assert [time for time, _ in elements(tmp_path, streams, "s")] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("announced", "delimiter", "content_type"),
    [
        ("", "# @message", "text/turtle; messages=rdfm"),
        ("", "MESSAGE", "text/turtle; version=1.2-messages"),
        ('VERSION "1.2-messages"', "@message .", "text/turtle"),
    ],
)
def test_of_turtle_a_rejected_message_keeps_the_prefixes_that_hold_for_it(
    tmp_path: Path, announced: str, delimiter: str, content_type: str
) -> None:
    timed = "e:a <http://www.w3.org/ns/sosa/resultTime> 1 ."
    body = "\n".join([announced, "PREFIX e: <http://ex/>", timed, delimiter, "e:b e:p e:c .", delimiter, timed])
    with opened(tmp_path) as streams:
        streams.create("s", SETTINGS)
        answer = streams.append("s", body.encode(), content_type, None)
        assert (answer.elements, answer.rejected) == (2, 1)
        (kept,) = _rejected(tmp_path, streams)
        assert "PREFIX e: <http://ex/>" in kept
        assert "e:b e:p e:c" in kept
        assert '"text/turtle"' in kept


@given(st.lists(st.sampled_from([(True, GOOD), (False, AHEAD), (False, TIMELESS), (False, BROKEN)]), max_size=12))
@settings(max_examples=25, deadline=None)
def test_what_is_stored_is_what_would_be_if_the_bad_messages_had_not_been_there(lines: list[tuple[bool, str]]) -> None:
    numbered = [(good, line.replace("http://ex/", f"http://ex/{n // 2}/")) for n, (good, line) in enumerate(lines)]
    if not numbered:
        return
    with TemporaryDirectory() as directory, opened(Path(directory)) as streams:
        streams.create("s", SETTINGS)
        streams.create("t", StreamSettings("http://ex/t", TimeKind.EVENT))
        stored = streams.append("s", "\n".join(line for _, line in numbered).encode(), NDJSON, None)
        alone = [line for good, line in numbered if good]
        if alone:
            streams.append("t", "\n".join(alone).encode(), NDJSON, None)
        assert elements(Path(directory), streams, "s") == elements(Path(directory), streams, "t")
        assert (stored.elements, stored.rejected) == (len(alone), len(numbered) - len(alone))
        kept = _rejected(Path(directory), streams)
        bad = [line for good, line in numbered if not good]
        assert len(kept) == len(bad)
        assert all(json.dumps(line) in one for line, one in zip(bad, kept, strict=True))


def test_a_request_is_answered_again_as_it_was_and_another_one_under_its_key_is_refused(tmp_path: Path) -> None:
    for body, stored in ((f"{GOOD}\n{BROKEN}", 1), (BROKEN, 0)):
        key = f"key {stored}"
        for _ in range(2):
            with opened(tmp_path) as streams:
                streams.create("s", SETTINGS)
                for _ in range(2):
                    answer = streams.append("s", body.encode(), NDJSON, None, key)
                    assert (answer.elements, answer.rejected) == (stored, 1)
                    with pytest.raises(KeyReused):
                        streams.append("s", f"{body}\n".encode(), NDJSON, None, key)
    with opened(tmp_path) as streams:
        assert (streams.describe("s").elements, streams.describe("s").rejected) == (1, 2)


def _states(root: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[Path]:
    """Copies of a data directory before a request, after its rejected messages were written, and after all."""
    data, states = root / "data", [root / name for name in ("before", "between", "after")]
    append = StreamLog.append

    def copying(log: StreamLog, *told: object, **named: object) -> AppendReceipt:
        if "rejected" not in log._directory.name:
            shutil.copytree(data, states[1])
        return append(log, *told, **named)  # type: ignore[arg-type]

    with opened(data, lambda: 1_000) as streams:
        streams.create("s", SETTINGS)
        streams.append("s", f"{GOOD}\n{BROKEN}".encode(), NDJSON, None, "before")
        shutil.copytree(data, states[0])
        with monkeypatch.context() as patched:
            patched.setattr(StreamLog, "append", copying)
            shutil.rmtree(states[1], ignore_errors=True)
            streams.append("s", f"{GOOD}\n{AHEAD}\n{BROKEN}".encode(), NDJSON, None, "k")
        shutil.copytree(data, states[2])
    return states


def _comes_to_the_same(root: Path, whole: Sequence[object]) -> None:
    """Whatever a crash has left, the request sent again makes it whole, though the clock has gone on since."""
    with opened(root, lambda: 60_000) as streams:
        answer = streams.append("s", f"{GOOD}\n{AHEAD}\n{BROKEN}".encode(), NDJSON, None, "k")
        stored, rejected = elements(root, streams, "s"), _rejected(root, streams)
        assert [stored, len(rejected), (answer.elements, answer.rejected)] == whole


def test_a_request_cut_short_between_the_logs_and_sent_again_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, between, after = _states(tmp_path, monkeypatch)
    with opened(after) as streams:
        whole = [elements(after, streams, "s"), 3, (1, 2)]
    assert len(whole[0]) == 2  # type: ignore[arg-type]
    with opened(between) as streams:
        assert (streams.describe("s").elements, streams.describe("s").rejected) == (1, 3)
    for state in (between, after):
        _comes_to_the_same(state, whole)


def _committed(log: Path) -> bytes:
    manifest = decode_manifest((log / MANIFEST).read_bytes())
    assert manifest is not None
    return segment_path(log, 1).read_bytes()[: manifest.committed]


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.long)])
def test_a_request_cut_short_at_every_byte_and_sent_again_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    before, between, after = _states(tmp_path, monkeypatch)
    with opened(after) as streams:
        whole = [elements(after, streams, "s"), 3, (1, 2)]
    for start, end, side in ((before, between, ".rejected."), (between, after, "")):
        (name,) = (one.name for one in (end / "streams").iterdir() if ("rejected" in one.name) == bool(side))
        old, new = (_committed(state / "streams" / name) for state in (start, end))
        for length in range(len(old), len(new), step):
            torn = tmp_path / "torn"
            shutil.copytree(start, torn)
            segment_path(torn / "streams" / name, 1).write_bytes(new[:length])
            if side:
                # What is rejected is judged anew: nothing was told to anybody.
                with opened(torn, lambda: 1_000) as streams:
                    streams.append("s", f"{GOOD}\n{AHEAD}\n{BROKEN}".encode(), NDJSON, None, "k")
            _comes_to_the_same(torn, whole)
            shutil.rmtree(torn)
