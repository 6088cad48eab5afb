"""Live queries: what listeners get, how often queries are evaluated, and what is left after a restart."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endpoint.live.registration import put_query, register_query, remove_query
from endpoint.readers.errors import QueryTimeout
from endpoint.store_queries.kept import KeptQueries
from endpoint.store_queries.question import question
from protocol.errors import UnsupportedFeature
from protocol.evaluation_limits import EvaluationLimits
from protocol.language.model import R2S, ContinuousQuery
from protocol.time import BEFORE_ALL, Instant, format_instant
from tests.endpoint.live.live_side import run, until
from tests.endpoint.store_queries.store_side import LiveSide, MemoryStore, live

P = "PREFIX : <http://e/> "
ALL = live(P + "SELECT ?s ?o { ?s :p ?o }")


def added(*values: int) -> str:
    return P + f"INSERT DATA {{ {' '.join(f':s :p {value} .' for value in values)} }}"


def rows(document: Any) -> list[str]:
    return [row["o"]["value"] for row in document["results"]["bindings"]]


def on_a_side(check: Callable[[LiveSide], Awaitable[None]], data: Path) -> None:
    async def checked() -> None:
        side = await LiveSide(MemoryStore(), data).start()
        try:
            await check(side)
        finally:
            await side.stop()

    run(checked())


def test_a_listener_gets_the_answer_now_and_each_that_is_another(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        listener = side.listen(ALL)
        await side.quiet()
        ((name, first),) = listener.taken()
        assert (name, rows(first), first["head"]) == ("message", [], {"vars": ["s", "o"]})
        assert first["evaluation"] == {"time": "1970-01-01T00:00:01Z", "operator": "RSTREAM", "windows": {}}
        side.store.update(added(1))
        await side.quiet()
        ((_, second),) = listener.taken()
        assert (rows(second), second["evaluation"]["time"]) == (["1"], "1970-01-01T00:00:01.010Z")
        side.store.update(added(1) + "; INSERT DATA { :s :q 5 }")
        await side.quiet()
        assert listener.taken() == []

    on_a_side(check, tmp_path)


def test_a_thousand_listeners_cost_one_evaluation_and_one_encoding_a_change(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        listeners = [side.listen(ALL) for _ in range(1000)]
        await side.quiet()
        assert len(side.store.asked) == 1
        for listener in listeners:
            listener.items.clear()
        side.store.update(added(1))
        await side.quiet()
        assert len(side.store.asked) == 2
        assert {len(one.items) for one in listeners} == {1}
        # The very same bytes, not equal ones: they were made once.
        assert len({id(one.items[0].event) for one in listeners}) == 1  # type: ignore[union-attr]

    on_a_side(check, tmp_path)


def test_a_burst_is_answered_ten_times_a_second_at_most(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        listener = side.listen(ALL)
        await side.quiet()
        listener.taken()
        for value in range(1000):
            side.store.update(added(value))
            await side.time.pass_by(0.001)
        assert len(side.store.asked) - 1 <= 11
        await side.quiet()
        last = listener.taken()[-1][1]
        assert len(rows(last)) == 1000

    on_a_side(check, tmp_path)


def test_changes_that_come_together_are_one_answer_within_a_tenth_of_a_second(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        listener = side.listen(ALL)
        await side.quiet()
        listener.taken()
        for value in range(5):
            side.store.update(added(value))
            await side.time.pass_by(0.005)
        await side.time.pass_by(0.07)
        await until(lambda: listener.items)
        ((_, document),) = listener.taken()
        assert len(rows(document)) == 5

    on_a_side(check, tmp_path)


def test_a_long_evaluation_is_followed_by_one_of_the_newest_state_and_holds_up_no_other(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        slow = side.listen(ALL)
        await side.quiet()
        slow.taken()
        side.store.held_back = asyncio.Event()
        side.store.update(added(0))
        await side.quiet()
        held, side.store.held_back = side.store.held_back, None
        asked = len(side.store.asked)
        quick = side.listen(live(P + "ASK { :s :p 9 }"))
        for value in range(1, 10):
            side.store.update(added(value))
            await side.quiet()
        assert [data["boolean"] for _, data in quick.taken()] == [False, True]
        # Of the slow one nothing is waiting but what it is asked already.
        assert side.store.asked[asked:] == ["PREFIX : <http://e/> ASK { :s :p 9 }"] * len(side.store.asked[asked:])
        held.set()
        await side.quiet()
        assert [len(rows(document)) for _, document in slow.taken()] == [1, 10]

    on_a_side(check, tmp_path)


def test_nobody_listens_and_nothing_is_evaluated(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        await put_query(side.hub, "all", ALL, None)
        for value in range(3):
            side.store.update(added(value))
            await side.quiet()
        assert side.store.asked == []
        latest = asyncio.ensure_future(side.hub.latest("all"))
        await side.quiet()
        _, answer = await latest
        assert answer is not None
        assert answer.data.count(b'"value":"http://e/s"') == 3
        assert len(side.store.asked) == 1

    on_a_side(check, tmp_path)


def test_a_failure_is_an_error_event_and_the_stream_goes_on_at_the_next_change(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        first = side.listen(ALL)
        await side.quiet()
        side.store.failure = QueryTimeout("the query was stopped after 60 s")
        side.store.update(added(1))
        await side.quiet()
        asked = len(side.store.asked)
        late = side.listen(ALL)
        await side.quiet()
        _, told = first.taken()
        (told_late,) = late.taken()
        for name, problem in (told, told_late):
            assert (name, problem["detail"]) == ("error", "the query was stopped after 60 s")
            # What a query that is answered once has.
            assert problem["status"] == QueryTimeout.status == 504
        # It was not evaluated again for the one who came later.
        assert len(side.store.asked) == asked
        side.store.failure = None
        side.store.update(added(2))
        await side.quiet()
        for listener in (first, late):
            ((name, document),) = listener.taken()
            assert (name, rows(document)) == ("message", ["1", "2"])

    on_a_side(check, tmp_path)


def heavy(number: int) -> ContinuousQuery:
    return live(P + f"SELECT ?o {{ ?s :p ?o . ?heavy :p ?o FILTER(?o != {number}) }}")


def test_queries_that_take_long_wait_for_each_other_and_nobody_waits_for_them(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        light = side.listen(ALL)
        await side.quiet()
        light.taken()
        side.store.heavy, side.store.held_back = "?heavy", asyncio.Event()
        many = [side.listen(heavy(number)) for number in range(10, 15)]
        await side.quiet()
        assert side.store.holding == 1
        side.store.update(added(1))
        new = side.listen(live(P + "ASK { :s :p ?o }"))
        await side.quiet()
        ((_, document),) = light.taken()
        assert rows(document) == ["1"]
        assert new.taken()[0][1]["boolean"] is True
        side.store.held_back.set()
        await side.quiet()
        assert [rows(listener.taken()[-1][1]) for listener in many] == [["1"]] * 5

    on_a_side(check, tmp_path)


def test_what_nobody_listens_to_any_more_is_not_evaluated_to_its_end(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        side.store.held_back = asyncio.Event()
        first, second = side.listen(ALL), side.listen(ALL)
        await side.quiet()
        await first.leave()
        await side.quiet()
        assert side.store.holding == 1
        await second.leave()
        await side.quiet()
        assert side.store.holding == 0
        # Who comes back is answered as anybody is.
        back = side.listen(ALL)
        await side.quiet()
        assert side.store.holding == 1
        side.store.held_back.set()
        await side.quiet()
        ((_, document),) = back.taken()
        assert rows(document) == []

    on_a_side(check, tmp_path)


@pytest.mark.parametrize("operator", R2S)
def test_who_was_away_gets_the_newest_or_the_difference_to_what_it_had(tmp_path: Path, operator: R2S) -> None:
    query = live(P + f"SELECT {operator} ?o {{ ?s :p ?o }}")

    async def check(side: LiveSide) -> None:
        side.store.update(added(1, 2))
        stays, leaves = side.listen(query), side.listen(query)
        await side.quiet()
        side.store.update(P + "DELETE DATA { :s :p 2 }" if operator is R2S.DSTREAM else added(3))
        await side.quiet()
        leaves.taken()
        await leaves.leave()
        for change in (added(4), added(5), P + "DELETE DATA { :s :p 1 . :s :p 4 }"):
            side.store.update(change)
            await side.quiet()
        back = side.listen(query, leaves.token)
        await side.quiet()
        ((name, document),) = back.taken()
        expected = {R2S.RSTREAM: ["2", "3", "5"], R2S.ISTREAM: ["5"], R2S.DSTREAM: ["1"]}
        assert (name, rows(document)) == ("message", expected[operator])
        # Another who has the newest is told nothing.
        assert len(stays.taken()) >= 1
        again = side.listen(query, back.token)
        await side.quiet()
        assert again.taken() == []

    on_a_side(check, tmp_path)


REMOVED = live(P + "SELECT DSTREAM ?o { ?s :p ?o }")


@pytest.mark.parametrize("token", [None, 17])
def test_who_breaks_off_before_its_first_event_gets_what_was_removed_meanwhile(
    tmp_path: Path, token: Instant | None
) -> None:
    async def check(side: LiveSide) -> None:
        side.store.update(added(1, 2))
        listener = side.listen(REMOVED, token)
        await side.quiet()
        assert [name for name, _ in listener.taken()] == ([] if token is None else ["Reset"])
        await listener.leave()
        side.store.update(P + "DELETE DATA { :s :p 1 }")
        back = side.listen(REMOVED, listener.token)
        await side.quiet()
        assert [(name, rows(document)) for name, document in back.taken()] == [("message", ["1"])]

    on_a_side(check, tmp_path)


def test_what_came_without_an_event_is_missed_when_it_is_gone(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        side.store.update(added(1, 2))
        listener = side.listen(REMOVED)
        await side.quiet()
        side.store.update(P + "DELETE DATA { :s :p 1 }")
        await side.quiet()
        side.store.update(added(3))
        await side.quiet()
        assert [rows(document) for _, document in listener.taken()] == [["1"]]
        await listener.leave()
        side.store.update(P + "DELETE DATA { :s :p 3 }")
        back = side.listen(REMOVED, listener.token)
        await side.quiet()
        assert [rows(document) for _, document in back.taken()] == [["3"]]

    on_a_side(check, tmp_path)


def test_what_is_no_longer_held_is_said_and_everything_given(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        side.store.update(added(1))
        listener = side.listen(live(P + "SELECT ISTREAM ?o { ?s :p ?o }"), 17)
        await side.quiet()
        (reset, _), (name, document) = listener.taken()
        assert (reset, name, rows(document)) == ("Reset", "message", ["1"])

    on_a_side(check, tmp_path)


def test_registered_queries_outlive_a_restart_and_their_listeners_have_what_they_had(tmp_path: Path) -> None:
    store = MemoryStore()

    async def before() -> Instant:
        side = await LiveSide(store, tmp_path).start()
        await put_query(side.hub, "all", ALL, None, EvaluationLimits(2.5))
        store.update(added(1))
        listener = side.listen("all")
        await side.quiet()
        assert len(listener.taken()) == 1
        # It does not change the answer.
        store.update(P + "INSERT DATA { :s :q 1 }")
        await side.quiet()
        await side.stop()
        assert listener.token is not None
        return listener.token

    async def after(token: Instant) -> None:
        side = await LiveSide(store, tmp_path).start()
        description = side.hub.queries.query("all")
        assert (description.query, description.limits.seconds, description.lane) == (ALL, 2.5, "store")
        listener = side.listen("all", token)
        await side.quiet()
        assert listener.taken() == []
        store.update(added(2))
        await side.quiet()
        assert [rows(document) for _, document in listener.taken()] == [["1", "2"]]
        await remove_query(side.hub, "all", forget=_nothing)
        await side.quiet()
        assert [name for name, _ in listener.taken()] == ["Ended"]
        assert listener.ended
        await side.stop()
        assert LiveSide(store, tmp_path).queries.queries() == []

    run_and = asyncio.run(asyncio.wait_for(before(), 60))
    run(after(run_and))


async def _nothing(name: str) -> None:
    pass


def test_a_query_that_takes_the_name_of_another_is_given_from_its_beginning(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        await put_query(side.hub, "q", ALL, None)
        first = side.listen("q")
        await side.quiet()
        first.taken()
        await put_query(side.hub, "q", live(P + "SELECT ?o { ?s :p ?o }"), None)
        await side.quiet()
        assert [name for name, _ in first.taken()] == ["Ended"]
        back = side.listen("q", first.token)
        await side.quiet()
        ((_, document),) = back.taken()
        assert document["head"] == {"vars": ["o"]}

    on_a_side(check, tmp_path)


def test_an_answer_that_comes_after_its_query_was_replaced_or_removed_is_not_noted(tmp_path: Path) -> None:
    kept = KeptQueries(tmp_path)

    async def check(side: LiveSide) -> None:
        for another in (live(P + "SELECT ?o { ?s :p ?o }"), None):
            await put_query(side.hub, "q", ALL, None)
            side.store.held_back = asyncio.Event()
            side.listen("q")
            await until(lambda: side.store.holding == 1)
            replaced = side.queries.find("q")
            assert replaced is not None
            if another is None:
                await remove_query(side.hub, "q", forget=_nothing)
            else:
                await put_query(side.hub, "q", another, None)
            side.store.held_back.set()
            side.store.held_back = None
            await until(lambda query=replaced: not query.evaluating)  # type: ignore[misc]
            assert kept.answer("q") is None

    on_a_side(check, tmp_path)


def test_what_a_crash_has_left_of_the_query_before_is_not_the_answer_of_the_one_in_its_place(tmp_path: Path) -> None:
    kept, store = KeptQueries(tmp_path), MemoryStore()
    store.update(added(1))

    async def before() -> None:
        side = await LiveSide(store, tmp_path).start()
        await put_query(side.hub, "q", live(P + "SELECT ISTREAM ?o { ?s :p ?o }"), None)
        await side.stop()

    run(before())
    (query,) = kept.queries()
    kept.note_answer("q", query.start - 1, "of the one before", store.lines(question(query.query, 0)))

    async def after() -> None:
        side = await LiveSide(store, tmp_path).start()
        listener = side.listen("q", query.start - 1)
        await side.quiet()
        (name, _), (_, document) = listener.taken()
        assert (name, rows(document)) == ("Reset", ["1"])
        await side.stop()

    run(after())


def test_the_time_of_an_answer_is_now_also_where_the_store_changes_before_it_is_read(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        await put_query(side.hub, "q", live("SELECT (NOW() AS ?o) {}"), None)
        query = side.queries.find("q")
        assert query is not None
        query.listeners += 1
        side.queries.look(query)
        side.store.update(added(1))
        await side.quiet()
        (asked,) = side.store.asked
        assert query.tried == side.store.version
        assert format_instant(side.store.version) in asked

    on_a_side(check, tmp_path)


def test_the_past_of_the_store_is_refused(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        with pytest.raises(UnsupportedFeature, match="the past of the store is not kept"):
            await put_query(side.hub, "q", ALL, 5)
        assert side.hub.queries.queries() == []

    on_a_side(check, tmp_path)


def test_the_beginning_of_a_live_query_is_the_answer_now(tmp_path: Path) -> None:
    async def check(side: LiveSide) -> None:
        side.store.update(added(1))
        assert (await put_query(side.hub, "q", ALL, BEFORE_ALL)).new
        listener = side.listen("q")
        await side.quiet()
        assert [rows(document) for _, document in listener.taken()] == [["1"]]
        # The same again is the same query, whose listeners stay.
        assert not (await put_query(side.hub, "q", ALL, BEFORE_ALL)).new
        await side.quiet()
        assert listener.taken() == []
        named = live(P + "REGISTER QUERY r AS SELECT ?o { ?s :p ?o }")
        made, new = await register_query(side.hub, named, BEFORE_ALL)
        assert (made.name, new) == ("r", True)

    on_a_side(check, tmp_path)


# Against a brute force

QUERIES = [
    live(P + text)
    for text in (
        "SELECT * { ?s :p ?o }",
        "SELECT ISTREAM * { ?s :p ?o }",
        "SELECT DSTREAM * { ?s :p ?o }",
        "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s",
        "SELECT ISTREAM ?s (SUM(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s",
        "SELECT ?o { ?s :p ?o } ORDER BY DESC(?o) ?s LIMIT 2",
        "SELECT DSTREAM ?s { ?s :p ?o OPTIONAL { ?s :q ?x } FILTER(!BOUND(?x)) }",
        "SELECT ISTREAM ?s ?x { ?s :p ?o OPTIONAL { ?o :q ?x } }",
        "SELECT DISTINCT ?o { { ?s :p ?o } UNION { GRAPH ?g { ?s :q ?o } } }",
        "SELECT ?g ?s FROM NAMED :g { GRAPH ?g { ?s :p ?o } }",
        "ASK { ?s :p ?o . ?s :q ?o }",
        "CONSTRUCT { ?o :of ?s } WHERE { ?s :p ?o }",
        "CONSTRUCT ISTREAM { [] :of ?s ; :is ?o } WHERE { ?s :p ?o }",
        "CONSTRUCT DSTREAM { ?o :of ?s } WHERE { ?s :p ?o MINUS { ?s :q ?o } }",
        "DESCRIBE ?s { ?s :p 1 }",
    )
]
TRIPLES = [f":s{s} :{p} {o}" for s in (1, 2) for p in "pq" for o in (1, 2)]
CHANGES = [
    f"{operation} {{ {f'GRAPH :g {{ {triple} }}' if graph else triple} }}"
    for operation in ("INSERT DATA", "DELETE DATA")
    for graph in (False, True)
    for triple in TRIPLES
] + ["CLEAR ALL", "INSERT { ?s :q ?o } WHERE { ?s :p ?o }", "DELETE WHERE { ?s :q 1 }"]

ACTIONS = st.one_of(
    st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3).map(lambda some: ("change", some)),
    st.just(("leave", None)),
    st.just(("restart", None)),
    st.just(("change while away", None)),
)


class Expected:
    """What one listener is to get of a query, by asking after every change."""

    def __init__(self, query: ContinuousQuery, store: MemoryStore) -> None:
        self._query = query
        self._store = store
        self.had: list[bytes] | None = None

    def answer(self) -> list[bytes]:
        return self._store.lines(question(self._query, 0)).splitlines()[1:]

    def check(self, events: list[tuple[str, Any]], *, forgotten: bool) -> None:
        """What came since the last check. ``forgotten``: what the listener had may no longer be held."""
        now = self.answer()
        if events and events[0][0] == "Reset":
            assert forgotten, "a reset without need"
            assert self._query.operator is not R2S.RSTREAM
            self.had = None
            events = events[1:]
        before = [] if self.had is None else self.had
        match self._query.operator:
            case R2S.RSTREAM:
                given = now if now != self.had else None
            case R2S.ISTREAM:
                given = [line for line in now if line not in before] or None
            case R2S.DSTREAM:
                given = [line for line in before if line not in now] or None
        messages = [data for name, data in events if name == "message"]
        assert len(messages) == (given is not None), (events, given)
        if given is not None:
            assert Counter(_lines(messages[0])) == Counter(given)
        self.had = now


def _lines(data: Any) -> list[bytes]:
    if isinstance(data, str):
        return data.encode().splitlines()
    if "boolean" in data:
        return [b"{}"] if data["boolean"] else []
    bindings = data["results"]["bindings"]
    return [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in bindings]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    chosen=st.sets(st.sampled_from(range(len(QUERIES))), min_size=1, max_size=4), actions=st.lists(ACTIONS, max_size=8)
)
def test_listeners_get_what_asking_after_every_change_would_give(chosen: set[int], actions: list[Any]) -> None:
    queries = [QUERIES[number] for number in sorted(chosen)]

    async def check(data: Path) -> None:
        store = MemoryStore()
        side = await LiveSide(store, data).start()
        expected = [Expected(query, store) for query in queries]
        listeners = [side.listen(query) for query in queries]

        async def compare(*, forgotten: bool = False) -> None:
            await side.quiet()
            for one, listener in zip(expected, listeners, strict=True):
                one.check(listener.taken(), forgotten=forgotten)

        await compare()
        for kind, changes in actions:
            if kind == "change":
                for change in changes:
                    store.update(P + change)
                await compare()
                continue
            tokens = [listener.token for listener in listeners]
            for listener in listeners:
                await listener.leave()
            if kind == "restart":
                await side.stop()
                side = await LiveSide(store, data).start()
            elif kind == "change while away":
                store.update(P + "INSERT DATA { :s1 :p 3 . :s3 :p 1 }; DELETE DATA { :s2 :p 2 }")
            # Whatever they were told of, also of an answer that gave them nothing.
            assert None not in tokens
            listeners = [side.listen(query, token) for query, token in zip(queries, tokens, strict=True)]
            await compare(forgotten=kind == "restart")
        await side.stop()

    with tempfile.TemporaryDirectory() as directory:
        run(check(Path(directory)))


def test_a_query_that_could_not_be_removed_is_there_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("Input/output error")

    async def check(side: LiveSide) -> None:
        await put_query(side.hub, "q", ALL, None)
        with monkeypatch.context() as failing:
            failing.setattr(KeptQueries, "remove", broken)
            with pytest.raises(OSError, match="Input/output error"):
                await remove_query(side.hub, "q", forget=_nothing)
        assert side.queries.find("q") is not None
        await remove_query(side.hub, "q", forget=_nothing)
        assert side.queries.find("q") is None
        assert KeptQueries(tmp_path).queries() == []

    on_a_side(check, tmp_path)
