"""What a stream rejects is a stream beside it: written once, read and queried as others, gone with it."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from protocol.errors import Conflict, NotFound, QuerySemanticError
from protocol.messages.rejected import Rejected
from protocol.streams import StreamElement, StreamSettings
from spark_backend.log.writer import StreamLog
from spark_backend.streams.rejected import rejected_elements
from tests.spark_backend.stepped_backend import BASE, SteppedBackend

BODY = b"{ is no Turtle"
URL = f"{BASE}/streams/s/rejected"
REASONS = f"""
    SELECT ?why FROM NAMED WINDOW <w> ON <{URL}> [RANGE 10s]
    WHERE {{ WINDOW <w> {{ ?m <http://www.w3.org/2000/01/rdf-schema#comment> ?why }} }}
"""


def _rejected(key: bytes | None = None, reason: str = "not RDF") -> Rejected:
    return Rejected(BODY, "text/turtle", reason, key=key)


def _read(stepped: SteppedBackend, name: str = "s/rejected") -> list[str]:
    follower = stepped.backend.follow(name, -1)
    try:
        return [one.data.decode() for one in follower.take() if isinstance(one, StreamElement)]
    finally:
        follower.close()


def test_before_anything_is_rejected_there_is_an_empty_stream(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    with pytest.raises(NotFound):
        stepped.backend.stream("s/rejected")
    stepped.backend.create_stream("s", StreamSettings("http://ex/s", retention=60_000))
    described = stepped.backend.stream("s/rejected")
    assert (described.elements, described.settings) == (0, StreamSettings(URL, retention=60_000))
    with pytest.raises(NotFound):
        stepped.backend.stream("s/other")
    assert [one.name for one in stepped.backend.streams()] == ["s"]
    assert len(list((tmp_path / "streams").iterdir())) == 1
    stepped.close()


def test_rejected_at_once_they_are_elements_of_their_own() -> None:
    rejected = rejected_elements([_rejected(reason=str(number)) for number in range(3)], 1_000).to_pylist()
    assert [len([row for row in rejected if row["element"] == number]) for number in range(3)] == [4, 4, 4]
    assert len({row["s"] for row in rejected}) == 3
    assert [row["o"] for row in rejected if "comment" in row["p"]] == ['"0"', '"1"', '"2"']


def test_a_key_makes_a_repeat_nothing_also_after_a_restart(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, clock=1_000)
    stepped.event_stream("s", "http://ex/s")
    for _ in range(2):
        stepped.backend._streams.divert("s", [_rejected(b"1"), _rejected(b"2", "a second one")])
        stepped.backend._streams.divert("s", [_rejected(b"2"), _rejected(b"2")])
        assert stepped.backend.stream("s").rejected == stepped.backend.stream("s/rejected").elements == 2
        counted = stepped.backend.stream("s").rejected_by
        assert counted in ({"unreadable": 2}, {})
        assert [one.count("a second one") for one in _read(stepped)] == [0, 1]
        stepped.close()
        stepped = SteppedBackend(tmp_path, clock=2_000)
    stepped.backend._streams.divert("s", [_rejected(), _rejected()])
    assert stepped.backend.stream("s").rejected == 4
    assert [one.name for one in stepped.backend.streams()] == ["s"]
    stepped.close()


def test_a_query_may_read_it_before_there_is_anything_in_it_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, clock=1_000)
    stepped.event_stream("s", "http://ex/s")
    stepped.register("q", REASONS)
    stepped.backend._streams.divert("s", [_rejected()])
    stepped.now = 20_000
    stepped.backend._streams.tick()
    stepped.run()
    assert b"not RDF" in stepped.answers("q")[10_000]
    stepped.close()
    stepped = SteppedBackend(tmp_path, clock=21_000, base="http://elsewhere.example")
    stepped.backend._streams.divert("s", [_rejected(reason="a later one")])
    stepped.now = 40_000
    stepped.backend._streams.tick()
    stepped.run()
    assert b"a later one" in stepped.answers("q")[30_000]
    with pytest.raises(Conflict, match="is read by q"):
        stepped.backend.delete_stream("s")
    stepped.close()


def test_it_is_named_by_a_relative_reference_and_no_other_stream_may_have_its_iri(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    stepped.register("q", REASONS.replace(URL, "s/rejected"))
    with pytest.raises(QuerySemanticError, match="there is no stream"):
        stepped.register("r", REASONS.replace(URL, "s/other"))
    with pytest.raises(Conflict):
        stepped.event_stream("t", URL)
    stepped.register("only", "SELECT * WHERE { { ?s <http://p> ?o } SEQ { ?s <http://q> ?o } }")
    stepped.close()


def test_it_ends_with_its_stream_also_where_that_was_cut_short(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, clock=1_000)
    stepped.event_stream("s", "http://ex/s")
    stepped.backend._streams.divert("s", [_rejected()])
    stepped.backend._streams._logs["s"].end()  # and no further
    stepped.close()
    stepped = SteppedBackend(tmp_path, clock=2_000)
    assert stepped.backend.stream("s/rejected").ended
    assert len(_read(stepped)) == 1
    with pytest.raises(Conflict):
        stepped.backend._streams.divert("s", [_rejected()])
    stepped.backend.delete_stream("s")
    assert not list((tmp_path / "streams").iterdir())
    stepped.close()
    stepped = SteppedBackend(tmp_path, clock=2_000)
    assert not stepped.backend.streams()
    stepped.close()


def test_where_the_clock_cannot_be_written_it_keeps_no_server_from_starting(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path, clock=1_000)
    stepped.event_stream("s", "http://ex/s")
    stepped.backend._streams.divert("s", [_rejected()])
    stepped.backend._streams._logs["s"].end()  # and no further
    stepped.close()
    with patch.object(StreamLog, "tick", side_effect=OSError(5, "Input/output error")):
        stepped = SteppedBackend(tmp_path, clock=2_000)
    assert stepped.backend.stream("s/rejected").ended
    assert len(_read(stepped)) == 1
    stepped.close()
