"""A data directory of which a part is damaged: the rest goes on, what is lost is said, no answer is wrong."""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import Unavailable
from protocol.evaluations import Failed
from spark_backend.log.format.manifest import MANIFEST
from spark_backend.log.format.segment import segment_path
from spark_backend.log.writer import StreamLog
from tests.spark_backend.stepped_backend import SteppedBackend

COUNT = "SELECT (COUNT(*) AS ?n) FROM STREAM <http://ex/{}> [RANGE 10s] WHERE {{ ?s ?p ?o }}"


def backend(directory: Path) -> SteppedBackend:
    return SteppedBackend(directory)


def made(directory: Path) -> SteppedBackend:
    """Two streams, each with a query that counts and an element every five seconds."""
    stepped = backend(directory)
    for name in ("one", "two"):
        stepped.event_stream(name, f"http://ex/{name}")
        stepped.register(f"q{name}", COUNT.format(name))
        for second in range(0, 60, 5):
            stepped.post(name, f"<http://ex/{second}> <http://ex/p> {second} .", second * 1000)
    return stepped


def log_of(directory: Path, name: str) -> Path:
    (found,) = (directory / "streams").glob(f"{name}.*")
    return found


def counts(stepped: SteppedBackend, name: str) -> dict[int, int]:
    return {
        instant: int(json.loads(data)["results"]["bindings"][0]["n"]["value"])
        for instant, data in stepped.answers(name).items()
    }


def failures(stepped: SteppedBackend, name: str) -> dict[int | None, str]:
    return {one.instant: one.detail for one in stepped.notices if isinstance(one, Failed) and one.query == name}


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_facts_of_a_stream_that_has_ended_are_answered_up_to_what_is_lost(tmp_path: Path) -> None:
    stepped = backend(tmp_path)
    stepped.event_stream("one", "http://ex/one")
    patterns = "UNION (SINCE ?s <http://ex/p> ?o) (TILL ?s <http://ex/q> ?o)"
    definition = f"CONSTRUCT FACT d {{ ?s <http://ex/is> ?o }} {patterns}"
    stepped.register("q", f"REGISTER QUERY q COMPUTED EVERY 4 AS {definition} SELECT ?s {{ CURRENT {{ ?s ?p ?o }} }}")
    for time in range(1, 21):
        stepped.post("one", f"<http://ex/{time}> <http://ex/p> {time} .", time)
    stepped.backend.end_stream("one")
    stepped.run()
    told = stepped.answers("q")
    assert list(told) == [4, 8, 12, 16, 20, 24]
    stepped.close()
    path = segment_path(log_of(tmp_path, "one"), 1)
    content = path.read_bytes()
    flip(path, content.rindex(b"http://ex/18"))
    assert backend(tmp_path).replayed("q", None, 17) == {instant: told[instant] for instant in (4, 8, 12, 16)}


@pytest.mark.parametrize("payload", [False, True])
def test_only_the_windows_that_had_what_is_lost_have_an_error_with_the_place(payload: bool, tmp_path: Path) -> None:
    whole = made(tmp_path / "whole")
    whole.run()
    expected = counts(whole, "qone")
    assert set(expected.values()) == {1, 2}
    whole.close()
    made(tmp_path / "data").close()
    path = segment_path(log_of(tmp_path / "data", "one"), 1)
    frame = (path.stat().st_size - 128) // 12 // 64 * 64
    flip(path, 128 + 5 * frame + (128 + 40 if payload else 40))
    stepped = backend(tmp_path / "data")
    stepped.run()
    failed = failures(stepped, "qone")
    assert failed
    assert {**counts(stepped, "qone"), **{instant: expected[instant] for instant in failed if instant}} == expected
    assert 2 >= len(failed) >= 1
    assert all("streams/one." in detail and "0000000001.segment at byte" in detail for detail in failed.values())
    assert counts(stepped, "qtwo") == expected
    (damage,) = stepped.backend.stream("one").damage
    assert (damage.elements, stepped.backend.stream("one").elements) == (1, 12)
    assert not stepped.backend.stream("two").damage
    (warning,) = stepped.backend.health().warnings
    assert "the stream one is damaged" in warning
    stepped.post("one", "<http://ex/after> <http://ex/p> 1 .", 75_000)
    stepped.post("one", "<http://ex/later> <http://ex/p> 1 .", 95_000)
    stepped.run()
    assert counts(stepped, "qone")[80_000] == 1
    stepped.close()


def test_a_log_that_cannot_be_opened_stops_no_other(tmp_path: Path) -> None:
    made(tmp_path).close()
    path = log_of(tmp_path, "one")
    moved = path.rename(tmp_path / "elsewhere")
    path.write_text("not a directory")
    stepped = backend(tmp_path)
    stepped.run()
    assert 12 > len(counts(stepped, "qtwo")) > 3
    with pytest.raises(Unavailable, match=r"streams/one\.\d+ cannot be opened"):
        stepped.post("one", "<http://ex/a> <http://ex/p> 1 .", 99_000)
    assert "cannot" not in stepped.backend.health().detail
    (damage,) = stepped.backend.stream("one").damage
    assert damage.elements is None
    stepped.backend.plan("qone")
    stepped.close()
    path.unlink()
    moved.rename(path)
    again = backend(tmp_path)
    again.run()
    assert len(counts(again, "qone")) > 3
    again.close()


@pytest.mark.parametrize("what", ["read", "published"])
def test_a_query_goes_on_when_a_log_that_could_not_be_opened_for_a_moment_is(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def construct(directory: Path) -> SteppedBackend:
        stepped = made(directory)
        stepped.register(
            "copied",
            "REGISTER STREAM copy AS CONSTRUCT { ?s ?p ?o } FROM STREAM <http://ex/one> [RANGE 10s] WHERE { ?s ?p ?o }",
        )
        return stepped

    def add(stepped: SteppedBackend) -> None:
        stepped.post("one", "<http://ex/after> <http://ex/p> 1 .", 75_000)
        stepped.post("one", "<http://ex/later> <http://ex/p> 1 .", 95_000)
        stepped.run()

    expected = construct(tmp_path / "expected")
    add(expected)
    construct(tmp_path / "data").close()
    name = log_of(tmp_path / "data", "one" if what == "read" else "copy").name
    opened = StreamLog.open

    def no_more(directory: Path, *given: Any, **named: Any) -> StreamLog:
        if directory.name == name:
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(directory, *given, **named)

    with monkeypatch.context() as full:
        full.setattr(StreamLog, "open", no_more)
        stepped = backend(tmp_path / "data")
        stepped.backend._open_again()
        stepped.backend._warnings.look()
        (warning,) = stepped.backend.health().warnings
        assert "Too many open files" in warning
    with suppress(Unavailable):  # where what it publishes is to go
        stepped.run()
    stepped.backend._open_again()
    add(stepped)
    stepped.backend._warnings.look()
    assert stepped.backend.health().warnings == ()
    for stream in ("one", "copy"):
        assert stepped.backend.stream(stream) == expected.backend.stream(stream)
    for query in ("qone", "copied"):
        assert stepped.answers(query) == expected.answers(query)
    expected.close()
    stepped.close()


def test_a_backup_has_what_there_is_of_a_log_that_cannot_be_opened_or_says_why_not(tmp_path: Path) -> None:
    made(tmp_path).close()
    path = log_of(tmp_path, "one")
    manifest = path / MANIFEST
    manifest.rename(tmp_path / MANIFEST)
    manifest.mkdir()
    stepped = backend(tmp_path)
    copy = tmp_path / "backup"
    copy.mkdir()
    stepped.backend.backup(copy)
    path.rename(tmp_path / "elsewhere")
    path.write_text("not a directory")
    another = tmp_path / "another"
    another.mkdir()
    with pytest.raises(Unavailable, match=r"streams/one\.\d+ cannot be copied"):
        stepped.backend.backup(another)
    stepped.close()
    (log_of(copy, "one") / MANIFEST).rmdir()
    (tmp_path / MANIFEST).rename(log_of(copy, "one") / MANIFEST)
    restored = backend(copy)
    assert (restored.backend.stream("one").elements, restored.backend.stream("one").damage) == (12, ())
    restored.close()


def test_a_missing_segment_in_the_middle_is_told_and_the_rest_is_answered(tmp_path: Path) -> None:
    made(tmp_path).close()
    log = log_of(tmp_path, "one")
    segment_path(log, 1).unlink()
    stepped = backend(tmp_path)
    stepped.run()
    assert failures(stepped, "qone")
    assert not failures(stepped, "qtwo")
    described = stepped.backend.stream("one")
    assert (described.elements, described.last) == (12, 55_000)
    (damage,) = described.damage
    assert (damage.what, damage.elements) == ("the file is missing", 12)
    stepped.close()


@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_a_damaged_progress_or_manifest_is_a_warning_of_health_until_the_next_start(
    content: bytes, tmp_path: Path
) -> None:
    made(tmp_path).close()
    (tmp_path / "progress.json").write_bytes(content)
    (log_of(tmp_path, "one") / "manifest").write_bytes(content)
    stepped = backend(tmp_path)
    manifest, progress = stepped.backend.health().warnings
    assert "the manifest of the stream one in streams/one.1 was missing or damaged" in manifest
    assert "progress.json is damaged" in progress
    stepped.run()
    assert len(counts(stepped, "qone")) > 3
    stepped.close()
    again = backend(tmp_path)
    assert not again.backend.health().warnings
    again.close()
