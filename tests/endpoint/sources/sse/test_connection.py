"""Server-Sent Events as a source: each event once, whoever is away meanwhile."""

from __future__ import annotations

import hashlib
import random
import threading
import tracemalloc
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from endpoint.logins.password import LoginFailed
from endpoint.sources.sse.connection import ReadEvents, SseConnection
from endpoint.sources.sse.events import Event, EventReader, without_mark
from protocol.formats.media_types import MESSAGE_TYPE
from protocol.login import Login
from protocol.sources import BEGINNING_BYTES, SourceFailed, SourceMessage, SourceSettings, SourceState, SourceType
from tests.endpoint.sources.live_feeds import Log, eventually, running, serving, surroundings

TURTLE = "text/turtle"


@dataclass
class Feed:
    """Events with ids from 1 on, each request answered with those after its Last-Event-ID, so many at most."""

    events: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=lambda: {MESSAGE_TYPE: TURTLE})
    most: int = 10**9
    again: int = 0
    """So many of those up to its Last-Event-ID come again."""
    field_of: Callable[[int], str] = "id: {}\n".format
    """What is said of the id of each."""
    asked: list[dict[str, str]] = field(default_factory=list)
    status: int = 200
    content_type: str = "text/event-stream"
    before: bytes = b""
    open: bool = True

    @contextmanager
    def served(self, port: int = 0) -> Iterator[int]:
        feed = self
        feed.open = True

        class Handler(BaseHTTPRequestHandler):
            known: ClassVar[Feed] = feed

            def do_GET(self) -> None:
                feed.asked.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
                self.send_response(feed.status)
                self.send_header("Content-Type", feed.content_type)
                for name, value in feed.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(feed.before)
                place = max(0, int(self.headers.get("Last-Event-ID") or 0) - feed.again)
                last = place + feed.most
                while feed.open and place < last:
                    if place >= len(feed.events):
                        self.wfile.write(b": heartbeat\n\n")
                        self.wfile.flush()
                        eventually(lambda read=place: not feed.open or read < len(feed.events))  # type: ignore[misc,redundant-expr]
                        continue
                    place += 1
                    self.wfile.write(f"{feed.field_of(place)}data: {feed.events[place - 1]}\n\n".encode())

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        try:
            with serving(Handler, port) as found:
                yield found
                feed.open = False
        finally:
            feed.open = False


def settings(port: int, **given: Any) -> SourceSettings:
    return SourceSettings(SourceType.SSE, f"http://127.0.0.1:{port}/events?since=beginning", **given)


def key(id: str, text: str) -> bytes:
    """By which an event with this id of its own is known."""
    return f"{id} ".encode() + hashlib.blake2b(text.encode(), digest_size=8).digest()


def bodies(count: int) -> list[str]:
    return [f"<a:{number}> <a:p> <a:o> ." for number in range(count)]


def test_every_event_comes_once_though_both_sides_go_away() -> None:
    chance = random.Random(5)
    feed, log = Feed(bodies(3000), most=170), Log()
    port = 0
    for _ in range(6):
        with feed.served(port) as port, running(SseConnection, settings(port), log) as run:
            reached = min(len(log.bodies) + chance.randrange(300, 600), len(feed.events))
            eventually(lambda reached=reached: len(log.bodies) >= reached)  # type: ignore[misc]
            feed.open = False  # in the middle of an answer
            eventually(lambda run=run: run.describe().state is SourceState.FAILING)  # type: ignore[misc]
    with feed.served(port), running(SseConnection, settings(port), log):
        eventually(lambda: len(log.bodies) >= len(feed.events))
        feed.events.append("<a:live> <a:p> <a:o> .")
        eventually(lambda: len(log.bodies) >= len(feed.events))
    assert [body.decode() for body in log.bodies] == feed.events
    assert log.content_types == {TURTLE}
    assert log.keys == [key(str(number), text) for number, text in enumerate(feed.events, 1)]
    assert "last-event-id" not in feed.asked[0]
    assert feed.asked[-1]["path"] == "/events?since=beginning"


def test_the_settings_say_the_type_where_the_channel_does_not() -> None:
    feed, log = Feed(bodies(1), headers={}), Log()
    with feed.served() as port:
        with pytest.raises(SourceFailed, match="say it with the source's contentType"):
            SseConnection(surroundings(settings(port))())
        with running(SseConnection, settings(port, content_type="application/n-triples"), log):
            eventually(lambda: len(log.bodies) == 1)
    assert log.content_types == {"application/n-triples"}


def test_a_byte_order_mark_before_the_first_event_is_none_of_its_name() -> None:
    feed, log = Feed(bodies(2), before=BOM_UTF8), Log()
    with feed.served() as port, running(SseConnection, settings(port), log) as run:
        eventually(lambda: len(log.bodies) == 2)
        assert run.describe().notice is None
    assert log.keys == [key(str(number), text) for number, text in enumerate(feed.events, 1)]


@pytest.mark.parametrize("cut", range(5))
def test_a_byte_order_mark_is_passed_over_once_however_the_bytes_come(cut: int) -> None:
    for text in (BOM_UTF8 + b"id", BOM_UTF8 * 2, b"id: 1", b"\xef\xbb", b""):
        whole = b"".join(without_mark([text[:cut], text[cut:]]))
        assert whole == text.removeprefix(BOM_UTF8)


def test_events_without_ids_are_read_and_what_that_means_is_said() -> None:
    feed, log = Feed(bodies(2), field_of=lambda number: ""), Log()
    with feed.served() as port, running(SseConnection, settings(port), log) as run:
        eventually(lambda: len(log.bodies) == 2)
        eventually(lambda: "no ids" in (run.describe().notice or ""))
    assert log.at == {}
    assert len(set(log.keys)) == 2


def test_an_event_without_an_id_is_not_taken_for_the_one_before_it_which_has_one() -> None:
    sent = ["data: 0", "id: 7\ndata: 1", "data: 2", ": heartbeat", "data: 2", "id: 8\nevent: other\ndata: 3", "data: 4"]
    feed, log = Feed(before="".join(f"{event}\n\n" for event in sent).encode(), most=0), Log()
    with feed.served() as port, running(SseConnection, settings(port), log):
        eventually(lambda: len(log.bodies) >= 10)
    assert log.bodies[:5] == log.bodies[5:10] == [b"0", b"1", b"2", b"2", b"4"]
    assert len(set(log.keys[:5])) == 5
    assert log.keys[6:10] == log.keys[1:5], "what comes again is known again"
    assert log.keys[1] == key("7", "1")


def test_what_goes_on_after_a_known_event_without_an_id_is_known_by_that_event() -> None:
    first, again = ReadEvents({}), ReadEvents({"id": b"7"})
    assert first.key_of(b"1", own=first.has_own("7")) == key("7", "1")
    behind = [first.key_of(data, own=first.has_own("7")) for data in (b"2", b"2")]
    assert [again.key_of(data, own=again.has_own("")) for data in (b"2", b"2")] == behind
    assert again.key_of(b"3", own=again.has_own("7")) == key("7", "3"), "whoever sends the last one again, too"


def test_an_id_that_is_given_anew_is_another_event() -> None:
    """Who counts in memory begins anew after a restart: what was rejected under a number is not what comes now."""
    first, again = ReadEvents({}), ReadEvents({"id": b"7"})
    assert first.key_of(b"1", own=first.has_own("1")) != again.key_of(b"2", own=again.has_own("1"))


def test_events_without_ids_behind_one_that_has_one_come_once_though_both_sides_go_away() -> None:
    events = [f"<a:{number // 2}> <a:p> <a:o> ." for number in range(200)]  # each is said twice
    feed, log = Feed(events, field_of=lambda number: "" if number % 5 else f"id: {number}\n", most=12), Log()
    port = 0
    for reached in (50, 100, 150):
        with feed.served(port) as port, running(SseConnection, settings(port), log):
            eventually(lambda reached=reached: len(log.bodies) >= reached)  # type: ignore[misc]
    with feed.served(port), running(SseConnection, settings(port), log):
        eventually(lambda: len(log.bodies) >= len(events))
    # Those before the first id cannot be asked for again, and the first connection had them.
    assert [body.decode() for body in log.bodies] == events


def test_events_behind_one_that_has_an_id_are_not_said_to_be_lost_by_the_next_connection() -> None:
    log = Log(at={"id": b"7"})
    feed = Feed(before=b"data: 1\n\n", most=0)
    with feed.served() as port, running(SseConnection, settings(port), log) as run:
        eventually(lambda: len(feed.asked) >= 2 and log.bodies == [b"1"])
        assert run.describe().notice is None


def test_who_sends_the_last_event_again_too_says_nothing_new() -> None:
    feed, log = Feed([f"<a:{number // 2}> <a:p> <a:o> ." for number in range(60)], most=7, again=1), Log()
    with feed.served() as port, running(SseConnection, settings(port), log):
        eventually(lambda: len(log.bodies) >= len(feed.events))
        feed.events.append(feed.events[-1])
        eventually(lambda: len(log.bodies) >= len(feed.events))
    assert [body.decode() for body in log.bodies] == feed.events


@pytest.mark.parametrize("before", range(1, 7))
@pytest.mark.parametrize(("begin", "told"), [(0, "7"), (1, "7"), (1, "")])
def test_events_of_one_id_are_known_again_where_they_begin_with_it_or_behind_it(
    before: int, begin: int, told: str
) -> None:
    texts = [b"1", b"2", b"2", b"1", b"3", b"2"]
    first = ReadEvents({})
    for text in texts[:before]:
        assert first.key_of(text, own=first.has_own("7")) is not None
    again = ReadEvents(first.positions)
    new = [again.key_of(text, own=again.has_own(told)) is not None for text in texts[begin:]]
    assert new == [place >= before for place in range(begin, len(texts))]


def test_what_follows_an_event_is_new_where_it_is_not_what_was_read() -> None:
    before = ReadEvents({"id": b"7"})
    for data in (b"1", b"2", b"3"):
        before.key_of(data, own=False)
    again = ReadEvents(before.positions)
    assert again.key_of(b"1", own=False) is None
    assert again.positions == before.positions
    assert [again.key_of(data, own=False) is None for data in (b"x", b"3")] == [False, False]
    later = ReadEvents(again.positions)
    assert [later.key_of(data, own=False) is None for data in (b"1", b"x", b"3", b"4")] == [True, True, True, False]


def test_of_very_many_events_behind_one_id_the_first_are_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("endpoint.sources.sse.connection._MOST_BEHIND", 3)
    before = ReadEvents({"id": b"7"})
    for data in (b"1", b"2", b"3", b"4"):
        before.key_of(data, own=False)
    assert before.many_behind
    again = ReadEvents(before.positions)
    assert [again.key_of(data, own=False) is None for data in (b"1", b"2", b"3", b"4")] == [True, True, True, False]


def test_an_id_that_no_header_says_as_it_is_keeps_nobody_from_coming_back() -> None:
    feed, log = Feed(bodies(30), field_of="id:  {} \x0c\n".format, most=7), Log()
    with feed.served() as port, running(SseConnection, settings(port), log):
        eventually(lambda: len(log.bodies) >= 14)
    assert "last-event-id" not in feed.asked[1], "it is none"
    feed, log = Feed(bodies(30), field_of="id:  {} \n".format, most=7), Log()
    with feed.served() as port, running(SseConnection, settings(port), log):
        eventually(lambda: len(log.bodies) >= 30)
    assert [body.decode() for body in log.bodies] == feed.events


def test_what_this_endpoints_own_streams_say_of_themselves() -> None:
    feed = Feed(
        bodies(1), before=b"event: progress\ndata: {}\n\nevent: reset\ndata: {}\n\nevent: other\ndata: 1\n\n", most=1
    )
    log = Log()
    with feed.served() as port, running(SseConnection, settings(port), log) as run:
        eventually(lambda: len(log.bodies) == 1)
        eventually(lambda: "no longer holds" in (run.describe().notice or ""))
    feed = Feed(before=b'event: end\ndata: {"reason":"the stream has ended"}\n\n', most=0)
    with feed.served() as port, running(SseConnection, settings(port), log) as run:
        eventually(lambda: "the stream has ended" in (run.describe().error or ""))


@pytest.mark.parametrize(
    ("feed", "said"),
    [
        (Feed(status=404), "answers with 404"),
        (Feed(content_type="text/html"), "has no events: it is text/html"),
        (Feed(headers={"Content-Encoding": "gzip"}), "comes compressed"),
    ],
)
def test_what_is_no_stream_of_events_fails(feed: Feed, said: str) -> None:
    feed.most = 0
    with feed.served() as port, pytest.raises(SourceFailed, match=said):
        SseConnection(surroundings(settings(port))()).take(5)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("5000", 5), ("1e3", 0), ("-1", 0), ("9" * 400, 600), ("250\nretry: 750", 0.75), ("", 0)],
)
def test_who_asks_for_time_before_the_next_connection_has_it(said: str, seconds: float) -> None:
    feed = Feed(before=f"retry: {said}\ndata: 1\n\n".encode(), most=0)
    with feed.served() as port:
        connection = SseConnection(surroundings(settings(port))())
        assert connection.take(5) is not None
        with pytest.raises(SourceFailed, match="has closed the connection") as closed:
            connection.take(5)
        connection.close()
    assert closed.value.retry_after == seconds


def test_who_has_asked_for_time_and_is_away_has_it_too() -> None:
    feed = Feed(before=b"retry: 5000\n\n", most=0)
    with feed.served() as port:
        given = surroundings(settings(port))()
        for before in (b"retry: 5000\n\n", b": not said again\n\n"):
            feed.before = before
            connection = SseConnection(given)
            with pytest.raises(SourceFailed) as failed:
                connection.take(5)
            connection.close()
            assert failed.value.retry_after == 5
    with pytest.raises(SourceFailed, match="refused") as failed:
        SseConnection(given)
    assert failed.value.retry_after == 5
    feed.before = b"retry: 0\n\n"
    with feed.served(port):
        connection = SseConnection(given)
        with pytest.raises(SourceFailed, match="has closed") as failed:
            connection.take(5)
        connection.close()
    assert failed.value.retry_after == 0


def test_who_says_that_nobody_is_to_come_back_is_left_alone_for_long() -> None:
    with Feed(status=204, most=0).served() as port, pytest.raises(SourceFailed, match="204") as refused:
        SseConnection(surroundings(settings(port))())
    assert refused.value.retry_after == 600


def test_an_event_that_is_too_long_is_told_and_what_comes_behind_it_is_read() -> None:
    long = "é" * 40_000
    before = f"id: a\ndata: 1\n\ndata: {long}\ndata: {long}\nid: b\n\n".encode()
    feed = Feed(before=before, most=0)
    with feed.served() as port:
        connection = SseConnection(surroundings(settings(port), largest=100_000)())
        found: list[SourceMessage] = []
        positions: dict[str, bytes] = {}
        while len(found) < 2:
            batch = connection.take(5)
            assert batch is not None
            found += batch.messages
            positions.update(batch.positions)
        connection.close()
        # The id that came after its data: it does not come again.
        assert (positions["id"], positions["behind"]) == (b"b", b"")
    first, second = found
    assert (first.body, first.refused) == (b"1", None)
    assert second.body.decode() == long[: BEGINNING_BYTES // 2]
    assert second.refused == (
        "the message has 160001 bytes, and --max-request-bytes is 100000 bytes: its first 65536 bytes are kept"
    )
    assert second.key.startswith(b"b ")


def in_pieces(text: bytes, chance: random.Random) -> Iterator[bytes]:
    while text:
        size = chance.randrange(1, 8)
        yield text[:size]
        text = text[size:]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_events_are_read_however_their_bytes_come(end: bytes) -> None:
    lines = [
        b"id: 1", b"data: a", b"data:b", b"", b": comment", b"", b"data", b"", b"event: other", b"data: c", b"",
        b"id: 2", b"", b"id: 3\0", b"data: " + "\u2028\u0085".encode(), b"", b"id", b"data:  d", b"", b"data: no end",
    ]  # fmt: skip
    expected = [
        Event("1", "message", b"a\nb", 3), Event("1", "message", b"", 0),
        Event("1", "other", b"c", 1), Event("2", "message", b"", 0),
        Event("2", "message", "\u2028\u0085".encode(), 5), Event("", "message", b" d", 2),
    ]  # fmt: skip
    text = end.join(lines)
    for seed in range(50):
        assert list(EventReader(100, 10).events(in_pieces(text, random.Random(seed)))) == expected
    assert list(EventReader(100, 10).events([text])) == expected


def test_what_is_held_of_an_event_is_bounded_in_lines_of_all_kinds() -> None:
    largest, kept = 100_000, 100
    for line in (b"data: " + b"x" * 1000 + b"\n", b"data: ", b"data\n", b": ", b"id: ", b"x"):
        reader = EventReader(largest, kept)
        rest = [b"\ndata: " + b"x" * largest + b"\n", b"\nid: 1\ndata: y\n\n"]
        found = list(reader.events([*[line + b"y" * 1000 if line[-1:] != b"\n" else line] * 1000, *rest]))
        assert found[-1] == Event("1", "message", b"y", 1)
        tracemalloc.start()
        list(EventReader(largest, kept).events(line + b"y" * 1000 for _ in range(10_000)))
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert highest < 20 * largest, line


def test_a_redirect_leads_to_allowed_addresses_only_and_takes_no_password_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARQL_STREAMS_SECRET_X", "secret")
    login = Login("me", password_variable="SPARQL_STREAMS_SECRET_X")
    there = Feed(bodies(1))
    with there.served() as elsewhere:
        moved = Feed(status=302, headers={"Location": f"http://127.0.0.1:{elsewhere}/moved"}, most=0)
        with moved.served() as port:
            with pytest.raises(SourceFailed, match="/moved is not an address that this server may use"):
                SseConnection(surroundings(settings(port, login=login))())
            assert there.asked == []
            allowed = [f"http://127.0.0.1:{one}" for one in (port, elsewhere)]
            connection = SseConnection(surroundings(settings(port, login=login), *allowed)())
            eventually(lambda: connection.take(1) is not None)
            connection.close()
    assert moved.asked[-1]["authorization"].startswith("Basic ")
    assert "authorization" not in there.asked[0]
    monkeypatch.delenv("SPARQL_STREAMS_SECRET_X")
    with (
        there.served() as port,
        pytest.raises(LoginFailed, match="SPARQL_STREAMS_SECRET_X with the password is not set"),
    ):
        SseConnection(surroundings(settings(port, login=login))())


def test_a_connection_that_is_closed_waits_for_nobody() -> None:
    feed = Feed(bodies(1))
    with feed.served() as port:
        connection = SseConnection(surroundings(settings(port))())
        eventually(lambda: connection.take(1) is not None)
        assert "sse-s" in _threads()
        connection.close()
        connection.close()
        assert "sse-s" not in _threads()


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}
