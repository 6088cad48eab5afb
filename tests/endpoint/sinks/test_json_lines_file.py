from __future__ import annotations

import asyncio
import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from endpoint.sinks import json_lines_file
from endpoint.sinks.json_lines_file import JsonLinesFile
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.formats.allow_list import AllowList
from protocol.formats.sse import resume_token
from protocol.sinks.body import Body
from protocol.sinks.file_settings import Rotation
from tests.endpoint.live.live_side import answer, run, settle
from tests.endpoint.sources.live_feeds import eventually

EVERY_FILE = AllowList.of(["file:"])


def answered(number: int, content: bytes = b"") -> Answer:
    return Answer("q", number * 1000, resume_token(number * 1000), Body(content or answer(number), "application/json"))


def write(
    path: Path,
    *batches: list[Answer],
    format_name: str = "json",
    rotation: Rotation | None = None,
    allowed: AllowList = EVERY_FILE,
) -> None:
    """Deliver the batches, each at once, as one server would."""

    async def deliver() -> None:
        file = JsonLinesFile(f"file://{path}", format_name, rotation or Rotation(), allowed)
        try:
            for batch in batches:
                await file.deliver(batch)
        finally:
            await file.close()

    run(deliver())


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def ids(path: Path) -> list[str]:
    return [line["id"] for line in lines(path)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def test_a_document_is_a_line_with_its_id(path: Path) -> None:
    write(path, [answered(1), answered(2)], [answered(3)])
    assert lines(path) == [{"id": resume_token(n * 1000), **json.loads(answer(n))} for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("format_name", "content", "members"),
    [
        ("rows", b'[{"n":1}]', {"rows": [{"n": 1}]}),
        ("text", "22 °C\n".encode(), {"body": "22 °C\n"}),
        ("text/turtle", b'<a> <b> "c" .\n', {"body": '<a> <b> "c" .\n'}),
    ],
)
def test_other_formats_are_members(path: Path, format_name: str, content: bytes, members: dict[str, Any]) -> None:
    write(path, [answered(1, content)], format_name=format_name)
    assert lines(path) == [{"id": resume_token(1000), "time": "1970-01-01T00:00:01Z", **members}]


def test_a_line_that_a_crash_has_torn_is_written_again(path: Path) -> None:
    write(path, [answered(1), answered(2)])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        write(path, [answered(2)])
        assert path.read_bytes() == whole


def test_a_torn_line_may_be_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines_file, "_TAIL_BYTES", 16)
    write(path, [answered(1), answered(2)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    write(path, [answered(2)])
    assert path.read_bytes() == whole


def test_what_is_not_a_sinks_is_left_alone(path: Path) -> None:
    path.write_bytes(b"a diary\nwithout an end")
    with pytest.raises(DeliveryFailed, match="none of a sink's"):
        write(path, [answered(1)])
    assert path.read_bytes() == b"a diary\nwithout an end"


def test_a_file_has_one_writer(path: Path) -> None:
    write(path, [answered(1)])
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DeliveryFailed, match="another sink"):
            write(path, [answered(2)])
    write(path, [answered(2)])
    assert ids(path) == [resume_token(1000), resume_token(2000)]


def test_a_full_disk_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, [answered(1)])
    before, real = path.read_bytes(), os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return real(descriptor, bytes(data)[: len(data) - 10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DeliveryFailed, match="No space left"):
        write(path, [answered(2)])
    assert path.read_bytes() == before


def test_a_long_file_makes_room_and_the_last_are_kept(path: Path) -> None:
    size = len(b'{"id":"0000000000000000",') + len(answer(1))
    rotation = Rotation(max_bytes=2 * size + 1, keep=2)
    write(path, *[[answered(number)] for number in range(1, 10)], rotation=rotation)
    kept = [path.with_name(f"{path.name}.2"), path.with_name(f"{path.name}.1"), path]
    assert sorted(path.parent.iterdir()) == sorted(kept)
    assert [ids(one) for one in kept] == [
        [resume_token(n * 1000) for n in pair] for pair in ((5, 6), (7, 8), (9,))
    ]  # fmt: skip


def test_a_batch_that_is_longer_than_a_file_may_be_is_several_files(path: Path) -> None:
    size = len(b'{"id":"0000000000000000",') + len(answer(1))
    rotation = Rotation(max_bytes=2 * size + 1, keep=2)
    write(path, [answered(1)], [answered(number) for number in range(2, 6)], rotation=rotation)
    kept = [path.with_name(f"{path.name}.2"), path.with_name(f"{path.name}.1"), path]
    assert [ids(one) for one in kept] == [[resume_token(n * 1000) for n in some] for some in ((1, 2), (3, 4), (5,))]
    assert all(one.stat().st_size <= rotation.max_bytes for one in kept)


def test_a_file_that_was_moved_away_is_begun_anew(path: Path) -> None:
    async def deliver() -> None:
        file = JsonLinesFile(f"file://{path}", "json", Rotation(), EVERY_FILE)
        await file.deliver([answered(1)])
        path.rename(path.with_suffix(".old"))
        await file.deliver([answered(2)])
        await file.close()

    run(deliver())
    assert ids(path) == [resume_token(2000)]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_only_ordinary_files_are_written(path: Path, make: Any) -> None:
    make(path)
    with pytest.raises(DeliveryFailed, match="cannot be written"):
        write(path, [answered(1)])
    assert not path.with_name("elsewhere").exists()


def test_links_of_folders_lead_to_no_place_that_is_not_allowed(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    for folder in (out, elsewhere, out / "below"):
        folder.mkdir()
    (out / "away").symlink_to(elsewhere)
    (out / "here").symlink_to(out / "below")
    allowed = AllowList.of([out.as_uri()])
    with pytest.raises(DeliveryFailed, match="where this server may not write: see --allow-fetch"):
        write(out / "away" / "answers.jsonl", [answered(1)], allowed=allowed)
    assert list(elsewhere.iterdir()) == []
    write(out / "here" / "answers.jsonl", [answered(1)], allowed=allowed)
    assert ids(out / "below" / "answers.jsonl") == [resume_token(1000)]


def test_a_sink_that_ends_has_written_what_it_was_writing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    write_lines = JsonLinesFile._write

    def slowly(file: JsonLinesFile, lines: list[bytes]) -> None:
        begun.set()
        assert may_go_on.wait(20)
        write_lines(file, lines)

    async def end_meanwhile() -> None:
        file = JsonLinesFile(path.as_uri(), "json", Rotation(), EVERY_FILE)
        delivery = asyncio.create_task(file.deliver([answered(1)]))
        assert await asyncio.to_thread(begun.wait, 20)
        delivery.cancel()
        asyncio.get_running_loop().call_later(0.1, may_go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await delivery
        await file.close()
        assert await asyncio.to_thread(may_go_on.wait, 20)

    with monkeypatch.context() as patched:
        patched.setattr(JsonLinesFile, "_write", slowly)
        run(end_meanwhile())
    eventually(lambda: path.read_bytes() != b"")
    write(path, [answered(2)])  # nobody has it any more
    assert ids(path) == [resume_token(1000), resume_token(2000)]


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_file_whose_closing_is_cancelled_is_nobodys_any_more(path: Path, turns: int) -> None:
    async def close() -> None:
        file = JsonLinesFile(path.as_uri(), "json", Rotation(), EVERY_FILE)
        await file.deliver([answered(1)])
        closing = asyncio.create_task(file.close())
        await settle(turns)
        closing.cancel()
        await asyncio.wait([closing])

    run(close())
    write(path, [answered(2)])
    assert ids(path) == [resume_token(1000), resume_token(2000)]
