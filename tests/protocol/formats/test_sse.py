from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.formats import sse
from protocol.time import FIRST_INSTANT, LAST_INSTANT

INSTANTS = st.integers(FIRST_INSTANT, LAST_INSTANT)


def dispatched(stream: bytes) -> list[tuple[str, str, str]]:
    """(event, data, last event id) as the HTML Standard's event stream interpretation dispatches them."""
    found: list[tuple[str, str, str]] = []
    name, data, last_id = "", "", ""
    for line in stream.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line == "":
            if data:
                found.append((name or "message", data.removesuffix("\n"), last_id))
            name, data = "", ""
        elif not line.startswith(":"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                data += value + "\n"
            elif field == "id":
                last_id = value
    return found


INCARNATIONS = st.integers(0, 10**6)
LANDMARKS = st.none() | INSTANTS


@given(INSTANTS, INCARNATIONS, LANDMARKS)
def test_a_token_gives_back_what_it_was_made_of(instant: int, incarnation: int, landmark: int | None) -> None:
    token = sse.resume_token(instant, incarnation, landmark)
    assert sse.parse_resume_token(token) == (instant, incarnation, landmark)


@given(INSTANTS, st.integers(-2, 2) | INSTANTS, INCARNATIONS, LANDMARKS)
def test_tokens_grow_with_the_instant_as_text_and_as_number(
    one: int, gap: int, incarnation: int, landmark: int | None
) -> None:
    other = min(max(one + gap, FIRST_INSTANT), LAST_INSTANT)
    first, second = (sse.resume_token(instant, incarnation, landmark) for instant in (one, other))
    assert (first < second) == (int(first) < int(second)) == (one < other)
    # JavaScript has no other numbers.
    assert (float(first) < float(second)) == (one < other)
    assert len(first) == len(second)


@given(INSTANTS)
def test_without_an_incarnation_or_a_landmark_a_token_is_a_number_that_javascript_has(instant: int) -> None:
    assert int(sse.resume_token(instant)) < 2**53


@pytest.mark.parametrize(
    "token", ["", "0", "abc", "12345678901234567", "-000000000000001", "0000000000000000", "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠",
              "9999999999999999", "45035996273704960", "4503599627370496-1", "45035996273704961" + "0" * 16,
              "4503599627370496" + "0" * 17, "45035996273704960" + "4503599627370496" + "0",
              "4503599627370496\n", " 4503599627370496"],
)  # fmt: skip
def test_what_was_never_an_id_is_refused(token: str) -> None:
    with pytest.raises(sse.InvalidResumePoint) as caught:
        sse.parse_resume_token(token)
    assert caught.value.status == 400


@given(st.integers(0, 10**16 - 1), INCARNATIONS)
def test_the_id_of_an_element_gives_its_number_and_incarnation_back(number: int, incarnation: int) -> None:
    assert sse.parse_element_id(sse.element_id(number, incarnation)) == (number, incarnation)
    assert sse.element_id(number) == f"{number:016d}"


@pytest.mark.parametrize("token", ["", "17", "abc", "0" * 17, "0" * 15 + "1\n", "0" * 16 + "1" * 17, "٠" * 16])
def test_what_was_never_the_id_of_an_element_is_refused(token: str) -> None:
    with pytest.raises(sse.InvalidResumePoint):
        sse.parse_element_id(token)


@pytest.mark.parametrize("instant", [FIRST_INSTANT - 1, LAST_INSTANT + 1])
def test_an_instant_that_cannot_be_written_has_no_token(instant: int) -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        sse.resume_token(instant)


def test_an_answer_is_one_default_event_with_its_token() -> None:
    data = '{"head":{"vars":["é"]},"results":{"bindings":[]}}'
    event = sse.evaluation_event(sse.ResumeToken(8000), data.encode(), 8000)
    assert event == f"id: {sse.resume_token(8000)}\ndata: {data}\n\n".encode()


@given(st.text())
def test_any_data_without_carriage_returns_arrives_as_it_was_sent(text: str) -> None:
    text = text.replace("\r", "")
    assert dispatched(sse.event(text.encode(errors="replace"))) == [
        ("message", text.encode(errors="replace").decode(), "")
    ]


def test_a_carriage_return_cannot_forge_a_field() -> None:
    assert dispatched(sse.event(b"a\revent: end\r\n\r\nb")) == [("message", "a\nevent: end\n\nb", "")]


def test_triples_are_a_data_line_each_and_followed_by_their_time() -> None:
    triples = b'<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/p> "x\\ny" .\n'
    event = sse.evaluation_event(sse.ResumeToken(8000), triples, 9000)
    assert event.count(b"data: <http://e/a>") == 2
    message, progress = dispatched(event)
    assert message == ("message", triples.decode().strip(), sse.resume_token(8000))
    assert progress[0] == "progress"
    assert json.loads(progress[1]) == {"time": "1970-01-01T00:00:08Z", "watermark": "1970-01-01T00:00:09Z"}


def test_no_triples_are_still_an_event() -> None:
    message, progress = dispatched(sse.evaluation_event(sse.ResumeToken(8000), b"", 0))
    assert message == ("message", "", sse.resume_token(8000))
    assert json.loads(progress[1])["watermark"] == "1970-01-01T00:00:08Z"


def test_progress_has_no_id_so_that_resuming_is_by_evaluations_alone() -> None:
    assert b"id:" not in sse.progress_event(1, 2)


def test_a_resume_point_is_an_id_and_no_event() -> None:
    assert dispatched(sse.resume_point(8000) + sse.event(b"a")) == [("message", "a", sse.resume_token(8000))]


def test_the_watermark_of_an_ended_stream_is_shown_as_the_last_instant() -> None:
    [(_, data, _)] = dispatched(sse.progress_event(1, 2**63 - 1))
    assert json.loads(data)["watermark"] == "9999-12-31T23:59:59.999Z"


def test_errors_resets_and_ends_are_named_events_with_json() -> None:
    stream = sse.error_event({"detail": "zu spät\n"}) + sse.reset_event(-1) + sse.end_event("removed") + sse.HEARTBEAT
    assert [(name, json.loads(data)) for name, data, _ in dispatched(stream)] == [
        ("error", {"detail": "zu spät\n"}),
        ("reset", {"time": "1969-12-31T23:59:59.999Z"}),
        ("end", {"reason": "removed"}),
    ]
