"""A Linked Data Event Stream as a source: each member once, page by page, as pages grow and close."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from endpoint.graphs.documents import n_quads
from endpoint.sources import web
from endpoint.sources.ldes import connection as ldes
from endpoint.sources.ldes.connection import LdesConnection
from endpoint.sources.ldes.page import read_page
from protocol.formats.media_types import RdfSyntax
from protocol.sources import SourceFailed, SourceSettings, SourceState, SourceType
from tests.endpoint.outgoing.dripping_server import ENDLESS, drips
from tests.endpoint.sources.live_feeds import Log, eventually, running, serving, surroundings
from tests.protocol.formats.scoped_contexts import scoped_contexts

PREFIXES = """PREFIX tree: <https://w3id.org/tree#> PREFIX ldes: <https://w3id.org/ldes#> PREFIX : <http://ex/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""


@dataclass
class Feed:
    """Pages of so many members each, from the oldest on; the last one grows, those before it are immutable.

    Each begins with as many as ``overlap`` says of the page before it.
    """

    size: int = 4
    members: int = 0
    asked: list[tuple[str, int]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    immutable: bool = True
    max_age: int | None = 0
    elsewhere: str | None = None
    overlap: int = 0

    def page(self, number: int) -> str:
        first, last = number * self.size, min((number + 1) * self.size, self.members)
        # Backwards, so that their times say their order.
        members = "".join(
            f':feed tree:member :m{one} . :m{one} :at "{one}"^^xsd:integer ; :says [ :number {one} ] .\n'
            for one in reversed(range(max(0, first - self.overlap), last))
        )
        following = f"<p{number + 1}>" if last - first == self.size else None
        relation = "" if following is None else f"<p{number}> tree:relation [ tree:node {following} ] .\n"
        if self.elsewhere is not None:
            relation = f"<p{number}> tree:relation [ tree:node <{self.elsewhere}> ] .\n{relation}"
        return f"{PREFIXES}:feed ldes:timestampPath :at ; tree:view <p{number}> .\n{relation}{members}"

    def first(self) -> str:
        return f"{PREFIXES}:feed tree:view <p0> , <q0> ."

    @contextmanager
    def served(self, port: int = 0) -> Iterator[int]:
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = feed.page(int(self.path[2:])) if self.path != "/feed" else feed.first()
                tag = f'"{hash(page)}"'
                status = 200
                if self.path in feed.gone:
                    status = 410
                elif self.path in feed.broken:
                    status = 500
                elif self.headers.get("If-None-Match") == tag:
                    status = 304
                feed.asked.append((self.path, status))
                self.send_response(status)
                self.send_header("Content-Type", "text/turtle")
                self.send_header("ETag", tag)
                immutable = ", immutable" if feed.immutable and "tree:relation" in page else ""
                if feed.max_age is not None:
                    self.send_header("Cache-Control", f"public, max-age={feed.max_age}{immutable}")
                self.end_headers()
                if status == 200:
                    self.wfile.write(page.encode())

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        with serving(Handler, port) as found:
            yield found


def settings(port: int, path: str = "feed") -> SourceSettings:
    return SourceSettings(SourceType.LDES, f"http://127.0.0.1:{port}/{path}")


def numbers(log: Log) -> list[int]:
    return [int(body.split(b'/number> "')[1].split(b'"')[0]) for body in log.bodies]


def connect(port: int, log: Log, now: list[float], memory: dict[str, Any] | None = None) -> LdesConnection:
    given = surroundings(settings(port), f"http://127.0.0.1:{port}")()
    given = replace(given, positions=log.at, memory={} if memory is None else memory)
    return LdesConnection(given, lambda: now[0])


def take(connection: LdesConnection, log: Log) -> None:
    """What comes next, if anything does."""
    if (batch := connection.take(0)) is not None:
        log.receive("s", batch)
        connection.stored(batch)


def read(connection: LdesConnection, log: Log) -> None:
    """All that is due now."""
    for _ in range(100):
        while (batch := connection.take(0)) is not None:
            log.receive("s", batch)
            connection.stored(batch)
        if not connection._due or min(connection._due.values()) > connection._clock():
            return


def test_each_member_comes_once_in_order_though_both_sides_go_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldes, "_SHORTEST", 0.01)
    chance = random.Random(3)
    feed, log = Feed(size=7), Log()
    port = 0
    for _ in range(6):
        with feed.served(port) as port:
            run_settings = SourceSettings(SourceType.LDES, f"http://127.0.0.1:{port}/p0")
            with running(LdesConnection, run_settings, log, f"http://127.0.0.1:{port}"):
                for _ in range(3):
                    feed.members += chance.randrange(0, 12)
                    eventually(lambda: len(log.bodies) >= feed.members)
        with running(LdesConnection, run_settings, log, f"http://127.0.0.1:{port}") as run:
            eventually(lambda run=run: run.describe().state is SourceState.FAILING)  # type: ignore[misc]
    assert numbers(log) == list(range(feed.members))
    assert log.content_types == {"application/n-quads"}


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
def test_a_page_that_comes_byte_by_byte_is_given_up(beginning: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldes, "_SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(web, "_BODY_SECONDS", 0.2)
    with drips(beginning) as address, pytest.raises(SourceFailed, match=r"/x was not there within 0\.2 s"):
        LdesConnection(surroundings(SourceSettings(SourceType.LDES, address))()).take(0)


def test_pages_are_asked_for_again_as_their_caching_headers_say() -> None:
    feed, log, now = Feed(members=6, max_age=100), Log(), [0.0]
    with feed.served() as port:
        connection = connect(port, log, now)
        read(connection, log)
        assert numbers(log) == [0, 1, 2, 3, 4, 5]
        assert feed.asked == [("/feed", 200), ("/p0", 200), ("/p1", 200)], "one of the views"
        feed.members, now[0] = 7, 99.0
        read(connection, log)
        assert len(feed.asked) == 3
        now[0] = 100.5
        read(connection, log)
        assert feed.asked[3:] == [("/feed", 304), ("/p1", 200)], "what is immutable is not asked for again"
        restarted = connect(port, log, now)
        read(restarted, log)
        assert feed.asked[5:] == [("/feed", 304), ("/p1", 304)]
        feed.members, feed.max_age = 9, None
        now[0] = 300.0
        read(restarted, log)
        now[0] = 300.0 + ldes.POLL_SECONDS + 1
        read(restarted, log)
    assert numbers(log) == list(range(9))


def test_pages_that_were_not_read_yet_go_before_those_that_are_due_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldes, "MOST_MESSAGES", 3)
    feed, log, now = Feed(members=20), Log(), [0.0]
    with feed.served() as port:
        connection = connect(port, log, now)
        while len(log.bodies) < 7:
            take(connection, log)
            now[0] += 2
        connection = connect(port, log, now)
        while feed.asked[-1][0] != "/p5":
            take(connection, log)
            now[0] += 2
    paths = [path for path, _ in feed.asked]
    assert paths == ["/feed", "/p0", "/p1", "/p1", "/p2", "/p3", "/p4", "/p5"], "what was read in part goes first, too"
    assert numbers(log) == list(range(20))


@pytest.mark.parametrize("max_age", [0, None], ids=["immutable", "read again"])
def test_a_member_of_several_pages_comes_once(max_age: int | None) -> None:
    feed, log, now = Feed(members=6, max_age=max_age, overlap=3), Log(), [0.0]
    with feed.served() as port:
        for members in (6, 9, 15):
            feed.members, now[0] = members, now[0] + 100.0
            read(connect(port, log, now), log)
    assert numbers(log) == list(range(15))


def test_what_was_taken_of_a_page_that_is_gone_does_not_come_again() -> None:
    feed, log, now = Feed(size=5, members=4, overlap=3), Log(), [0.0]
    with feed.served() as port:
        read(connect(port, log, now), log)
        # They have moved to another page.
        feed.gone, feed.size, now[0] = {"/p0"}, 2, 100.0
        log.at[f"http://127.0.0.1:{port}/p1"] = ldes.PageState().encode()
        for _ in range(2):
            read(connect(port, log, now), log)
    assert numbers(log) == list(range(4))


def test_a_feed_of_very_many_members_forgets_those_of_pages_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldes, "_MOST_KNOWN", 3)
    feed, log, now = Feed(members=7, overlap=1), Log(), [0.0]
    with feed.served() as port:
        connection = connect(port, log, now)
        read(connection, log)
        assert numbers(log) == list(range(7)), "until it begins anew"
        feed.members, now[0] = 9, 100.0
        read(connect(port, log, now), log)
    assert numbers(log) == [*range(7), 3, 7, 8]


def test_the_timestamp_path_holds_for_pages_that_do_not_repeat_it() -> None:
    class Unsaid(Feed):
        def page(self, number: int) -> str:
            return super().page(number).replace("ldes:timestampPath :at ; ", "")

        def first(self) -> str:
            return f"{super().first()} :feed ldes:timestampPath :at ."

    feed, log, now = Unsaid(members=6), Log(), [0.0]
    with feed.served() as port:
        read(connect(port, log, now), log)
        feed.members, now[0] = 9, 5.0
        read(connect(port, log, now), log)
        assert ("/feed", 304) in feed.asked, "it is known after a restart"
    assert numbers(log) == list(range(9))


@pytest.mark.parametrize(
    ("told", "seconds"), [("8", 8), ("86400", 600), ("Thu, 01 Jan 2026 00:00:00 GMT", 0), (None, 0)]
)
def test_an_answer_says_when_to_come_back(told: str | None, seconds: float) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            if told is not None:
                self.send_header("Retry-After", told)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with serving(Handler) as port, pytest.raises(SourceFailed, match="answers with 503") as caught:
        connect(port, Log(), [0.0]).take(0)
    assert caught.value.retry_after == seconds


def test_a_page_of_many_members_comes_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldes, "MOST_MESSAGES", 3)
    feed, log, now = Feed(size=100, members=10), Log(), [0.0]
    with feed.served() as port:
        connection = connect(port, log, now)
        for _ in range(4):  # the view, and some of its members
            batch = connection.take(0)
            if batch is not None:
                assert len(batch.messages) <= 3
                log.receive("s", batch)
        read(connect(port, log, now), log)
    assert numbers(log) == list(range(10)), "what was stored is not read again"


def test_what_is_gone_is_said_and_stops_nothing() -> None:
    feed, log, now = Feed(members=10, gone={"/p1"}), Log(), [0.0]
    with feed.served() as port:
        connection = connect(port, log, now)
        read(connection, log)
        assert numbers(log) == [0, 1, 2, 3]
        assert "/p1 is gone" in (connection.notice or "")
        feed.gone = {"/feed"}
        with pytest.raises(SourceFailed, match="410"):
            read(connect(port, Log(), now), Log())


def test_a_page_that_cannot_be_read_again_keeps_no_other_from_being_read() -> None:
    feed, log, now = Feed(size=2, members=6, immutable=False), Log(), [0.0]
    with feed.served() as port:
        read(connect(port, log, now), log)
        feed.broken.add("/p1")
        feed.members = 8
        with pytest.raises(SourceFailed, match="/p1 answers with 500"):
            read(connect(port, log, now), log)
        assert numbers(log) == list(range(8))
        # Where none can be had, not all of many are tried.
        feed.broken |= {"/feed", *(f"/p{number}" for number in range(9))}
        feed.asked.clear()
        with pytest.raises(SourceFailed, match="answers with 500"):
            connect(port, log, now).take(0)
        assert len(feed.asked) == 4
        feed.broken.clear()
        feed.members = 10
        read(connect(port, log, now), log)
    assert numbers(log) == list(range(10))


def test_while_a_page_cannot_be_read_again_the_others_are_asked_for_no_sooner() -> None:
    feed, log, now = Feed(size=2, members=6, immutable=False, max_age=60), Log(), [0.0]
    memory: dict[str, Any] = {}
    with feed.served() as port:
        read(connect(port, log, now, memory), log)
        feed.broken.add("/p1")
        feed.members = 8
        feed.asked.clear()
        now[0] = 61
        waited = []
        while now[0] < 120:
            with pytest.raises(SourceFailed, match="/p1 answers with 500") as caught:
                read(connect(port, log, now, memory), log)
            waited.append(caught.value.retry_in or 0)
            now[0] += waited[-1]
        assert numbers(log) == list(range(8))
        asked = Counter(path for path, _ in feed.asked)
        assert all(asked[path] == 1 for path in ("/feed", "/p0", "/p2", "/p3", "/p4"))
        assert asked["/p1"] <= 10
        assert waited[0] <= 0.5
        feed.broken.clear()
        now[0] += 31
        connection = connect(port, log, now, memory)
        read(connection, log)
        assert connection.take(0) is None, "no page is failing"


def test_what_was_not_stored_is_read_again_at_once() -> None:
    feed, log, now = Feed(members=3, max_age=3600), Log(), [0.0]
    memory: dict[str, Any] = {}
    with feed.served() as port:
        connection = connect(port, log, now, memory)
        while (batch := connection.take(0)) is None or not batch.messages:
            if batch is not None:
                log.receive("s", batch)
                connection.stored(batch)
        read(connect(port, log, now, memory), log)
    assert numbers(log) == [0, 1, 2]


def test_pages_that_are_not_allowed_are_said_and_not_asked_for() -> None:
    feed, log = Feed(members=10), Log()
    with feed.served() as port:
        start = f"http://127.0.0.1:{port}"
        given = surroundings(settings(port), f"{start}/feed", f"{start}/p0", f"{start}/p1")()
        feed.elsewhere = "http://elsewhere.example/p"
        connection = LdesConnection(given)
        read(connection, log)
        assert numbers(log) == list(range(8)), "what is allowed is read"
        notice = connection.notice or ""
        feed.asked.clear()
        with pytest.raises(SourceFailed, match="/p0 is not an address that this server may use"):
            read(LdesConnection(surroundings(settings(port, "p0"), f"{start}/feed")()), Log())
    assert "is left out" in notice
    assert "is not an address that this server may use: see --allow-fetch" in notice
    assert feed.asked == []


def test_a_page_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, now = Feed(size=100, members=10), [0.0]
    with feed.served() as port:
        monkeypatch.setattr(ldes, "_MOST_SEEN", 9)
        with pytest.raises(SourceFailed, match="more than 9 members"):
            read(connect(port, Log(), now), Log())
        monkeypatch.setattr(ldes, "_MOST_PAGES", 1)
        with pytest.raises(SourceFailed, match="more than 1 pages"):
            read(connect(port, Log(), now), Log())
        with pytest.raises(SourceFailed, match="is longer than 10 bytes"):
            read(LdesConnection(surroundings(settings(port), largest=10)()), Log())


def page(text: str) -> tuple[list[str], list[str], bool]:
    found = read_page((PREFIXES + text).encode(), RdfSyntax.TRIG, "http://ex/p")
    return [member.iri for member in found.members], found.pages, found.nameless


def test_members_without_times_keep_their_order_and_those_without_a_name_are_left_out() -> None:
    assert page(":f tree:member :b, :a, [] . :b :at 2 . :a :at 1 .") == (["http://ex/b", "http://ex/a"], [], True)
    assert page(":f ldes:timestampPath :at ; tree:member :b, :a . :b :at 2 . :a :at 1 .")[0] == [
        "http://ex/a",
        "http://ex/b",
    ]
    assert page(":f ldes:timestampPath :at ; tree:member :b, :a . :b :at 2 . :a :at 'x' .")[0] == [
        "http://ex/b",
        "http://ex/a",
    ]


def test_relations_are_followed_in_the_order_of_their_values() -> None:
    later, earlier = (
        f'[ tree:node <{name}> ; tree:value "{name}T00:00:00Z"^^xsd:dateTime ]' for name in ("2026-02-01", "2026-01-01")
    )
    assert page(f"<p> tree:relation {later}, {earlier}, [ tree:node <x> ] .")[1] == [
        "http://ex/x", "http://ex/2026-01-01", "http://ex/2026-02-01"
    ]  # fmt: skip
    ends, begins = (
        f'[ a tree:{kind}Relation ; tree:node <{kind}> ; tree:value "2026-01-01"^^xsd:date ]'
        for kind in ("LessThan", "GreaterThanOrEqualTo")
    )
    assert page(f"<p> tree:relation {begins}, {ends} .")[1] == ["http://ex/LessThan", "http://ex/GreaterThanOrEqualTo"]
    both = read_page(f"{PREFIXES}<p> tree:relation {begins}, {ends} .".encode(), RdfSyntax.TRIG, "http://ex/p")
    assert list(both.values) == ["http://ex/GreaterThanOrEqualTo"], "of the other it is not said where it begins"
    dates = ("2026-02-01", "2026-01-31+14:00", "2026-01-31Z")
    relations = ", ".join(f'[ tree:node <{n}> ; tree:value "{date}"^^xsd:date ]' for n, date in enumerate(dates))
    assert page(f"<p> tree:relation {relations} .")[1] == ["http://ex/1", "http://ex/2", "http://ex/0"]
    assert page(":f tree:view <p> , <q> .")[1] == []
    assert page(":f tree:view <q> , <r> .")[1] == ["http://ex/q"]


@dataclass
class Tree(Feed):
    """Pages by name: where each leads, and from when on, in days; "" says nothing of that. Each has its own number as a
    member, or what ``has`` says.
    """

    leads: dict[str, dict[str, str]] = field(default_factory=dict)
    has: dict[str, list[int]] = field(default_factory=dict)

    def page(self, number: int) -> str:
        name = str(number)
        relations = "".join(
            f"<> tree:relation [ tree:node <p{to}>{says} ] .\n"
            for to, day in self.leads.get(name, {}).items()
            for says in [f' ; tree:value "2026-01-{day}T00:00:00Z"^^xsd:dateTime' if day else ""]
        )
        members = "".join(
            f":feed tree:member :m{one} . :m{one} :number {one} .\n" for one in self.has.get(name, [number])
        )
        return f"{PREFIXES}{relations}{members}"


@pytest.mark.parametrize("restarts", [False, True])
def test_pages_that_are_found_later_are_read_in_the_order_of_values(restarts: bool) -> None:
    # 10 leads to 12, which comes before what was found earlier; 13, of which nothing is said, goes with 12.
    leads = {
        "0": {"20": "20", "10": "10", "15": "15"},
        "10": {"12": "12", "18": "18"},
        "12": {"13": ""},
        "15": {"14": "14"},
    }
    feed, log, now = Tree(leads=leads, members=1), Log(), [0.0]
    memory: dict[str, Any] = {}
    with feed.served() as port:
        connection = connect(port, log, now, memory)
        while len(log.bodies) < 8:
            take(connection, log)
            if restarts:
                connection = connect(port, log, now, memory)
    assert numbers(log) == [0, 10, 12, 13, 15, 14, 18, 20]


@pytest.mark.parametrize("restarts", [False, True])
def test_what_came_before_a_new_page_is_read_before_it(restarts: bool) -> None:
    feed = Tree(immutable=False, leads={"0": {"10": "10"}, "10": {"11": "11"}}, has={"0": [], "10": []})
    log, now, memory = Log(), [0.0], dict[str, Any]()
    with feed.served() as port:
        connection = connect(port, log, now, memory)
        read(connection, log)
        # The next page is found by one that is read before the last one, which has grown and has a sibling now.
        feed.leads = {"0": {"10": "10", "20": "20"}, "10": {"11": "11", "15": "15"}}
        feed.has["11"] = [11, 12]
        now[0] = 5
        read(connect(port, log, now) if restarts else connection, log)
        assert numbers(log) == [11, 12, 15, 20]


def test_a_page_that_cannot_be_read_for_a_moment_is_waited_for_before_a_new_page() -> None:
    feed = Tree(immutable=False, leads={"0": {"10": "10"}}, has={"0": []})
    log, now, memory = Log(), [0.0], dict[str, Any]()

    def take_all(connection: LdesConnection) -> None:
        while True:
            take(connection, log)

    def read_until_it_fails() -> float:
        with pytest.raises(SourceFailed, match="answers with 500") as caught:
            take_all(connect(port, log, now, memory))
        return caught.value.retry_in or 0

    with feed.served() as port:
        read(connect(port, log, now, memory), log)
        feed.leads["0"]["20"] = "20"
        feed.has["10"] = [10, 11]
        feed.broken.add("/p10")
        now[0] = 5
        now[0] += read_until_it_fails()
        assert numbers(log) == [10]
        feed.broken.clear()
        read(connect(port, log, now, memory), log)
        assert numbers(log) == [10, 11, 20]
        # For ever it is not.
        feed.leads["0"]["30"] = "30"
        feed.broken.add("/p20")
        now[0] = 100
        while now[0] < 110:
            now[0] += read_until_it_fails()
        assert numbers(log) == [10, 11, 20]
        while now[0] < 130:
            now[0] += read_until_it_fails()
        assert numbers(log) == [10, 11, 20, 30]


def test_pages_without_values_are_read_in_the_order_in_which_they_are_found() -> None:
    feed, log, now = Tree(leads={"0": {"1": "", "2": ""}, "1": {"3": ""}, "2": {"4": ""}}), Log(), [0.0]
    with feed.served() as port:
        connection = connect(port, log, now)
        while len(log.bodies) < 5:
            take(connection, log)
            now[0] += 0.1
    assert numbers(log) == [0, 1, 2, 3, 4]


def test_addresses_that_differ_in_their_fragment_are_one_page() -> None:
    assert page("<p> tree:relation [ tree:node <q#a> ], [ tree:node <q> ], [ tree:node <q#b> ] .")[1] == ["http://ex/q"]
    assert page(":f tree:view <q#view> .")[1] == ["http://ex/q"]
    feed, log = Feed(members=6), Log()
    with feed.served() as port:
        given = surroundings(settings(port, "p0#feed"), f"http://127.0.0.1:{port}")()
        feed.elsewhere = "p0#b"
        read(LdesConnection(given, lambda: 0.0), log)
    assert feed.asked == [("/p0", 200), ("/p1", 200)]
    assert numbers(log) == list(range(6))


def test_a_member_is_what_is_said_of_it_and_what_its_graph_says() -> None:
    found = read_page(
        (PREFIXES + ":f tree:member :a . :a :p [ :q [ :r :b ] ] . :b :p 1 . :a { :x :y :z }").encode(),
        RdfSyntax.TRIG,
        "http://ex/p",
    )
    text = found.members[0].quads.decode()
    assert text.count("\n") == 4
    assert "<http://ex/x> <http://ex/y> <http://ex/z> <http://ex/a> ." in text
    assert "/b> <http://ex/p>" not in text
    with pytest.raises(SourceFailed, match="is not a page in text/turtle"):
        read_page(b"<a", RdfSyntax.TURTLE, "http://ex/p")


def test_a_page_that_takes_long_to_read_is_read_beside_the_server_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = partial(n_quads, allowed=lambda size: 0.2)
    monkeypatch.setattr("endpoint.sources.ldes.page.n_quads", reading)
    with pytest.raises(SourceFailed, match=r"http://ex/p is not a page .*: it takes more than 0 s of processor time"):
        read_page(scoped_contexts(), RdfSyntax.JSON_LD, "http://ex/p")
