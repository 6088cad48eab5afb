"""What is wrong with a message of a source is said of it alone."""

from __future__ import annotations

import json
from typing import Any

import pyoxigraph
import pytest

from protocol.sources import SourceMessage
from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.source_messages import read_messages

ARRIVAL = StreamSettings("http://ex/stream", time=TimeKind.ARRIVAL)

PanicException = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
"""As the class of Oxigraph's panics is, which nobody can import."""


@pytest.mark.parametrize(
    ("content_type", "said"),
    [
        ("text/turtle", "<http://ex/%s> <http://ex/p> 1 ."),
        ("application/n-triples", '<http://ex/%s> <http://ex/p> "1" .'),
        ("application/ld+json", '[{"@id": "http://ex/%s", "http://ex/p": 1}]'),
    ],
)
def test_a_message_on_which_the_parser_panics_is_rejected(
    content_type: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = pyoxigraph.parse

    def panicking(document: bytes, *arguments: Any, **options: Any) -> Any:
        if b"/wrong" in document:
            raise PanicException("out of bounds")
        return parse(document, *arguments, **options)

    monkeypatch.setattr(pyoxigraph, "parse", panicking)
    sent = [
        SourceMessage((said % name).encode(), content_type, "mqtt://ex/t", name.encode())
        for name in ("a", "wrong", "b")
    ]
    read = read_messages(sent, ARRIVAL)
    assert read.batch["s"].to_pylist() == ["<http://ex/a>", "<http://ex/b>"]
    (rejected,) = read.rejected
    assert rejected.key == b"wrong"
    assert "out of bounds" in rejected.reason


def test_a_line_that_says_nothing_has_no_time_whatever_comes_with_it() -> None:
    time = {"@value": "2026-01-01T00:00:01Z", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"}
    said = json.dumps({"@id": "http://ex/a", "http://www.w3.org/ns/sosa/resultTime": time})
    lines = {b"a": said, b"none": "{}", b"b": said.replace("ex/a", "ex/b"), b"unknown": '{"level": 5}'}
    sent = [SourceMessage(line.encode(), "application/x-ndjson", "file:///f", key) for key, line in lines.items()]
    settings = StreamSettings("http://ex/stream", time=TimeKind.EVENT)
    read, alone = read_messages(sent, settings), [read_messages([one], settings) for one in sent]
    assert read.batch["s"].to_pylist() == ["<http://ex/a>", "<http://ex/b>"]
    assert read.rejected == [one for of_one in alone for one in of_one.rejected]
    assert [one.key for one in read.rejected] == [b"none", b"unknown"]
