from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.entailment.regimes import Regime, UnknownRegime
from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.settings.stream import (
    InvalidSettings,
    parse_stream_settings,
    settings_warnings,
    stream_settings_document,
)
from protocol.shapes.errors import InvalidShapes
from protocol.streams import DEFAULT_RETENTION, DEFAULT_TIMESTAMP_PATH, OnInvalid, StreamSettings, TimeKind

IRI = "http://localhost/streams/s"


def parsed(members: object) -> StreamSettings:
    return parse_stream_settings(json.dumps(members).encode(), default_iri=IRI)


@pytest.mark.parametrize("body", [b"", b" \n", b"{}", b'{"iri": null, "time": null, "retention": null}'])
def test_nothing_said_is_the_defaults(body: bytes) -> None:
    assert parse_stream_settings(body, default_iri=IRI) == StreamSettings(
        IRI, TimeKind.ARRIVAL, DEFAULT_TIMESTAMP_PATH, 0, DEFAULT_RETENTION
    )


def test_everything_said_is_taken() -> None:
    settings = parsed({
        "iri": "urn:x:é", "time": "event", "timestampPath": ["http://e/p"],
        "allowedLateness": "PT5S", "retention": "1 h",
    })  # fmt: skip
    assert settings == StreamSettings("urn:x:é", TimeKind.EVENT, ("http://e/p",), 5000, 3_600_000)


def test_a_duration_may_be_a_number_of_milliseconds() -> None:
    assert parsed({"allowedLateness": 1500}).allowed_lateness == 1500


@given(
    st.builds(
        StreamSettings,
        iri=st.sampled_from(["http://e/s", "urn:uuid:1"]),
        time=st.sampled_from(TimeKind),
        timestamp_path=st.lists(st.sampled_from(["http://e/p", "http://e/q"]), min_size=1).map(tuple),
        allowed_lateness=st.integers(0, 2**40),
        retention=st.integers(1, 2**40),
    )
)
def test_what_is_shown_can_be_sent_back(settings: StreamSettings) -> None:
    assert parsed(stream_settings_document(settings)) == settings


@pytest.mark.parametrize(
    "context", [{"@vocab": "http://e/"}, [{"b": "http://e/b", "a": None}], "http://e/c", ["http://e/c"]]
)
def test_a_context_is_shown_as_it_was_sent(context: object) -> None:
    settings = parsed({"context": context})
    assert settings.context is not None
    assert stream_settings_document(settings)["context"] == context
    assert (settings.context.document is None) == ("http://e/c" in str(context))
    assert parsed({"context": None}).context is None


def test_the_order_of_members_makes_no_other_context() -> None:
    one, other = {"a": "http://e/a", "b": "http://e/b"}, {"b": "http://e/b", "a": "http://e/a"}
    assert parsed({"context": one}) == parsed({"context": other})


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (5, "context must be a JSON-LD context"),
        ({"a": 5}, "context: Term definition value must be"),
        ({"a": {"@id": "http://e/a", "@containr": "@set"}}, "Unexpected key in term definition '@containr'"),
    ],
)
def test_what_is_no_context_is_refused(context: object, said: str) -> None:
    with pytest.raises(InvalidSettings, match=said):
        parsed({"context": context})


@pytest.mark.parametrize("body", [b'{"context": ' + b"[" * 30_000, b'{"context": ' + b'{"a":' * 30_000])
def test_a_context_without_end_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidSettings, match="nested deeper"):
        parse_stream_settings(body, default_iri=IRI)


def test_an_idle_timeout_is_a_duration_longer_than_zero() -> None:
    assert parsed({"idleTimeout": "PT30S"}).idle_timeout == 30_000
    assert parsed({"idleTimeout": 5}).idle_timeout == 5
    with pytest.raises(InvalidSettings, match="idleTimeout must be longer than zero"):
        parsed({"idleTimeout": "PT0S"})
    with pytest.raises(InvalidSettings, match="idleTimeout"):
        parsed({"idleTimeout": "soon"})


@pytest.mark.parametrize(
    ("members", "named"),
    [
        ({"tiem": "event"}, "tiem"),
        ({"time": "Event"}, "time"),
        ({"time": 1}, "time"),
        ({"iri": "streams/s"}, "iri"),
        ({"iri": "http://e/a b"}, "iri"),
        ({"iri": "http://[e"}, "iri"),
        ({"iri": "http://e/%zz"}, "iri"),
        ({"iri": ""}, "iri"),
        ({"iri": 5}, "iri"),
        ({"timestampPath": "http://e/p"}, "timestampPath"),
        ({"timestampPath": []}, "timestampPath"),
        ({"timestampPath": ["http://e/p", "p"]}, r"timestampPath\[1\]"),
        ({"allowedLateness": "-PT5S"}, "allowedLateness"),
        ({"allowedLateness": -5}, "allowedLateness"),
        ({"allowedLateness": 1.5}, "allowedLateness"),
        ({"allowedLateness": True}, "allowedLateness"),
        ({"allowedLateness": "P1Y"}, "allowedLateness"),
        ({"allowedLateness": 2**70}, "allowedLateness"),
        ({"retention": "soon"}, "retention"),
        ({"retention": 0}, "retention"),
        ({"retention": {}}, "retention"),
        ([], "object"),
        ("event", "object"),
        (None, "object"),
    ],
)
def test_a_wrong_setting_is_named(members: object, named: str) -> None:
    with pytest.raises(InvalidSettings, match=named) as caught:
        parsed(members)
    assert caught.value.status == 400


def test_what_is_not_json_is_located() -> None:
    with pytest.raises(InvalidSettings) as caught:
        parse_stream_settings(b'{"time":\n event}', default_iri=IRI)
    assert (caught.value.line, caught.value.column) == (2, 2)


@pytest.mark.parametrize(
    "body",
    [b"\xff{}", b'{"time": "event", "time": "arrival"}', b'{"retention": ' + b"9" * 5000 + b"}", b"[" * 100_000],
)
def test_hostile_bodies_are_refused_as_bad_requests(body: bytes) -> None:
    with pytest.raises(InvalidSettings):
        parse_stream_settings(body, default_iri=IRI)


@given(
    st.binary(max_size=60)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_bytes_give_settings_or_a_protocol_error(body: bytes) -> None:
    with suppress(ProtocolError):
        assert parse_stream_settings(body, default_iri=IRI).retention > 0


def test_what_becomes_of_invalid_messages_is_said_and_told_again() -> None:
    plain = parse_stream_settings(b"{}", default_iri=IRI)
    assert (plain.on_invalid, plain.max_ahead) == (OnInvalid.REJECT, None)
    assert not {"onInvalid", "maxAhead"} & stream_settings_document(plain).keys()
    body = json.dumps({"onInvalid": "divert", "maxAhead": "PT5M"}).encode()
    settings = parse_stream_settings(body, default_iri=IRI)
    assert (settings.on_invalid, settings.max_ahead) == (OnInvalid.DIVERT, 300_000)
    assert parse_stream_settings(json.dumps(stream_settings_document(settings)).encode(), default_iri=IRI) == settings


@pytest.mark.parametrize("body", [{"onInvalid": "drop"}, {"onInvalid": 1}, {"maxAhead": "soon"}, {"maxAhead": True}])
def test_settings_of_invalid_messages_that_are_none_are_named(body: dict[str, object]) -> None:
    with pytest.raises(InvalidSettings, match=next(iter(body))):
        parse_stream_settings(json.dumps(body).encode(), default_iri=IRI)


@pytest.mark.parametrize("partitions", [2, 1024])
def test_partitions_are_read_and_told_where_there_are_several(partitions: int) -> None:
    settings = parse_stream_settings(json.dumps({"partitions": partitions}).encode(), default_iri=IRI)
    assert settings.partitions == partitions
    assert parse_stream_settings(json.dumps(stream_settings_document(settings)).encode(), default_iri=IRI) == settings
    assert "partitions" not in stream_settings_document(parse_stream_settings(b'{"partitions": 1}', default_iri=IRI))


@pytest.mark.parametrize("partitions", [0, 1025, -1, 2.5, "4", True, [4]])
def test_a_number_of_partitions_that_is_none_is_named(partitions: object) -> None:
    with pytest.raises(InvalidSettings, match="partitions must be a number from 1 to 1024"):
        parse_stream_settings(json.dumps({"partitions": partitions}).encode(), default_iri=IRI)


def test_a_source_has_its_own_partitions() -> None:
    source = {"type": "sse", "url": "http://example.org/events"}
    with pytest.raises(InvalidSettings, match="leave partitions out"):
        parse_stream_settings(json.dumps({"partitions": 2, "source": source}).encode(), default_iri=IRI)
    body = json.dumps({"partitions": 1, "source": source}).encode()
    assert parse_stream_settings(body, default_iri=IRI).partitions == 1


def test_what_says_nothing_in_a_stream_of_arrival_time_is_named() -> None:
    said = {"allowedLateness": "PT1S", "idleTimeout": "PT1S", "maxAhead": "PT1S"}
    warnings = settings_warnings(parsed(said))
    assert [warning.partition(" ")[0] for warning in warnings] == list(said)
    assert settings_warnings(parsed({**said, "time": "event"})) == []
    assert settings_warnings(parsed({})) == []


def test_entailment_is_a_regime_or_that_of_the_endpoint() -> None:
    settings = parsed({"entailment": "owl-rl"})
    assert settings.entailment is Regime.OWL_RL
    assert stream_settings_document(settings)["entailment"] == "owl-rl"
    assert parsed({}) == parsed({"entailment": None})
    assert parsed({"entailment": "none"}).entailment is Regime.NONE
    with pytest.raises(UnknownRegime, match="entailment: 'owl' is no entailment regime"):
        parsed({"entailment": "owl"})


_SHAPE = "@prefix sh: <http://www.w3.org/ns/shacl#> . <Room> sh:targetSubjectsOf <temperature> ; sh:nodeKind sh:IRI ."


@pytest.mark.parametrize("shape", ["http://example.org/shapes", _SHAPE, "urn:shapes"])
def test_a_shape_is_the_iri_of_a_graph_or_turtle(shape: str) -> None:
    settings = parsed({"shape": shape})
    assert (settings.shape, settings.shapes_graph) == (shape, None if shape == _SHAPE else shape)
    assert stream_settings_document(settings)["shape"] == shape


@pytest.mark.parametrize(
    ("shape", "kind", "problem"),
    [
        (7, InvalidSettings, "shape must be a shapes graph in Turtle, or the IRI of a graph"),
        ("shapes", InvalidSettings, "not an absolute IRI"),
        ("", InvalidSettings, "not an absolute IRI"),
        ("<Room> <is> ", InvalidShapes, "line 1, column"),
        (_SHAPE + " <Room> sh:sparql [] .", UnsupportedFeature, "sh:sparql is not SHACL Core"),
        (_SHAPE + " <Room> sh:nodeKind sh:Iri .", InvalidShapes, "one sh:nodeKind at most"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(shape: object, kind: type[ProtocolError], problem: str) -> None:
    with pytest.raises(kind, match=problem):
        parsed({"shape": shape})
