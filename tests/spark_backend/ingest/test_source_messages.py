"""What is wrong with a message of a source is said of it alone."""

from __future__ import annotations

import json
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.sources import SourceMessage
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import blank_nodes
from spark_backend.ingest.columns import joined
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


_AT = '<http://www.w3.org/ns/sosa/resultTime> "2026-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
_LINE = """{"http://ex/p": [{"http://ex/q": 1}], "http://www.w3.org/ns/sosa/resultTime":
    {"@value": "2026-01-01T00:00:01Z", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"}}""".replace("\n", "")


@pytest.mark.parametrize(
    ("content_type", "said", "nodes"),
    [
        ("text/turtle", f"[ <http://ex/p> [ <http://ex/q> 1 ] ; {_AT} ] .", 2),
        ("text/turtle", f'VERSION "1.2"\n[ <http://ex/p> <<( _:b <http://ex/q> 1 )>> ; {_AT} ] .', 2),
        ("text/turtle; version=1.2-messages", f"[ <http://ex/p> [ <http://ex/q> 1 ] ; {_AT} ] .", 2),
        ("application/x-ndjson", _LINE, 2),
        ("application/x-ndjson", f"{_LINE}\n{_LINE.replace('01Z', '02Z')}", 4),
    ],
)
@pytest.mark.parametrize("time", list(TimeKind))
def test_equal_messages_have_nodes_of_their_own_whatever_comes_with_them(
    content_type: str, said: str, nodes: int, time: TimeKind
) -> None:
    bodies = [said, said, "wrong", said]
    sent = [SourceMessage(body.encode(), content_type, "mqtt://ex/t", b"%d" % n) for n, body in enumerate(bodies)]
    read = read_messages(sent, StreamSettings("http://ex/stream", time=time))
    assert [one.key for one in read.rejected] == [b"2"]
    terms = read.batch["s"].to_pylist() + read.batch["o"].to_pylist()
    assert len({node for term in terms for node in blank_nodes(term)}) == 3 * nodes
    assert len(set(read.batch["element"].to_pylist())) == 3 * len(said.split("\n{"))


_MESSAGES = [
    ("text/turtle", f"[ <http://ex/p> _:b ; {_AT} ] ."),
    ("text/turtle", f"@prefix e: <http://ex/> . e:s e:p [ e:q <<( _:b e:q 1 )>> ] ; {_AT} ."),
    ("text/turtle", f'VERSION "1.2"\n[ <http://ex/p> _:b ; {_AT} ] .'),
    ("text/turtle", "<http://ex/s> <http://ex/p> 1 ."),
    ("text/turtle", "# nothing"),
    ("text/turtle", "wrong"),
    ("text/turtle; version=1.2-messages", f"[ {_AT} ] .\nMESSAGE\nMESSAGE\n[ {_AT} ] .\nMESSAGE\n[] {_AT}"),
    ("application/trig", "<g> <http://www.w3.org/ns/prov#generatedAtTime> 2 . <g> { [] <http://ex/p> 1 }"),
    ("application/trig; messages=rdfm", f"[ {_AT} ] .\n# @message\nwrong\n# @message\n[ {_AT} ] ."),
    ("application/n-triples", f"_:b {_AT} ."),
    ("application/ld+json", _LINE),
    ("application/x-ndjson", _LINE),
    ("application/x-ndjson", f" {_LINE} "),
    ("application/x-ndjson", f'{{"@context": {{"p": "http://ex/p"}}}}\n{_LINE}\n{{}}\n5\n{_LINE}'),
    ("application/x-ndjson", '{"@context": {"p": "http://ex/p"}}'),
    ("application/x-ndjson", '{"p": 1}'),
    ("application/x-ndjson", "{}"),
    ("application/x-ndjson", "5"),
    ("text/plain", "x"),
    (None, "x"),
]


@given(st.lists(st.sampled_from(_MESSAGES), min_size=1, max_size=8))
def test_what_becomes_of_messages_is_what_becomes_of_each(messages: list[tuple[str | None, str]]) -> None:
    sent = [
        SourceMessage(body.encode(), content_type, "mqtt://ex/t", b"%d" % number)
        for number, (content_type, body) in enumerate(messages)
    ]
    settings = StreamSettings("http://ex/stream", time=TimeKind.EVENT)
    read, alone = read_messages(sent, settings), [read_messages([one], settings) for one in sent]
    assert read.batch.to_pylist() == joined([one.batch for one in alone]).to_pylist()
    assert read.rejected == [rejected for one in alone for rejected in one.rejected]
