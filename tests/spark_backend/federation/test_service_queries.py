"""Continuous queries with SERVICE, against Oxigraph over the window with the services' data as named graphs."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.errors import ProtocolError, ServiceFailed, Unavailable
from protocol.evaluations import Evaluation, Failed
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from spark_backend.budget import Budget
from spark_backend.federation.records import ServiceRecords
from spark_backend.files import link_or_copy
from spark_backend.queries.registration.preparation import Preparation
from spark_backend.queries.registration.query_files import QueryFiles
from spark_backend.registry import PreparedQuery
from spark_backend.spark.task import has_translation
from tests.spark_backend.federated_endpoints import Endpoints, store
from tests.spark_backend.service_cases import (
    ELEMENTS,
    JOINED,
    NOWHERE,
    PREFIX,
    QUERIES,
    SENSORS,
    STREAM,
    backend,
    case,
    endpoints,
    oracle,
    post_all,
    solutions,
)
from tests.spark_backend.stepped_backend import SteppedBackend


def evaluated(
    directory: Path, asked: Endpoints, query: str = JOINED, functions: PythonFunctions = NO_FUNCTIONS
) -> SteppedBackend:
    """A backend in which the query ``q`` was evaluated over all elements, to the end of its stream."""
    made = backend(directory, asked, functions=functions)
    made.register("q", query)
    post_all(made)
    made.run()
    return made


@pytest.mark.parametrize("name", QUERIES)
def test_the_answers_are_those_of_one_dataset(name: str, tmp_path: Path) -> None:
    query = case(name)
    made = evaluated(tmp_path, endpoints(), query)
    answers = made.answers("q")
    assert sorted(answers) == [5000, 10000, 15000, 20000, 25000]
    for instant, data in answers.items():
        assert solutions(json.loads(data)) == oracle(query, instant), instant
    made.close()


def test_a_query_for_which_no_thread_could_be_started_is_evaluated_later(tmp_path: Path) -> None:
    def no_thread(work: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    made = backend(tmp_path, endpoints())
    made.register("q", JOINED)
    post_all(made)
    lanes = made.backend._lanes
    apart, lanes.apart = lanes.apart, no_thread
    with pytest.raises(RuntimeError, match="can't start"):
        made.run()
    lanes.apart = apart
    made.run()
    assert sorted(made.answers("q")) == [5000, 10000, 15000, 20000, 25000]
    made.close()


def test_a_query_that_could_not_be_registered_leaves_no_directory_for_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    made = backend(tmp_path, endpoints())
    for owner, part in (QueryFiles, "save"), (Preparation, "write"):
        with monkeypatch.context() as failing:
            failing.setattr(owner, part, full)
            with pytest.raises(OSError, match="No space"):
                made.register("q", JOINED)
        assert list(tmp_path.rglob("services/*")) == []
    made.register("q", JOINED)
    post_all(made)
    made.run()
    assert sorted(made.answers("q")) == [5000, 10000, 15000, 20000, 25000]
    made.close()


def test_only_what_agrees_is_asked_for_once_an_instant(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path, asked, JOINED + " ORDER BY ?s")
    assert [iri for iri, _ in asked.requests] == [SENSORS] * 5
    values = [re.search(r"VALUES \(\?s\) \{ (.*?) \}", query) for _, query in asked.requests]
    sent = [set() if found is None else set(found[1].split()) for found in values]
    assert sent[0] == {"(<http://ex/a>)", "(<http://ex/b>)", "(<http://ex/c>)"}, "and no blank node"
    assert sent[4] == {"(<http://ex/c>)"}
    made.close()


def test_terms_that_a_filter_drops_are_not_sent(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path, asked, JOINED[:-2] + " FILTER(?v > 20) }")
    assert [query.count("<http://ex/a>") for _, query in asked.requests] == [1, 1, 0]
    assert [query.count("<http://ex/c>") for _, query in asked.requests] == [0, 0, 0]
    made.close()


def test_many_terms_are_sent_in_several_requests_of_one_session(tmp_path: Path) -> None:
    asked = endpoints()
    asked.stores[SENSORS] = store(" . ".join(f":n{n} :in :r{n}, [ :x {n} ]" for n in range(250)) + " .")
    made = backend(tmp_path, asked)
    made.register("q", JOINED)
    made.post("s", PREFIX + " . ".join(f":n{n} :t 1" for n in range(250)) + " .", 1000)
    made.backend.advance("s", 5000)
    made.run()
    assert len(asked.requests) == 3
    assert asked.sessions == 1
    (data,) = made.answers("q").values()
    rooms = [row["r"]["value"] for row in json.loads(data)["results"]["bindings"]]
    assert len(rooms) == len(set(rooms)) == 500, "blank nodes of several requests are different ones"
    made.close()


def test_replays_and_restarts_read_what_was_recorded(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path, asked, JOINED.replace("SELECT", "SELECT ISTREAM"))
    live = made.answers("q")
    asked.stores[SENSORS] = store(":a :in :elsewhere .")
    before = len(asked.requests)
    assert made.replayed("q") == live
    made.close()
    again = backend(tmp_path, asked)
    again.run()
    assert again.replayed("q") == live
    latest = again.backend.latest("q")
    assert latest is not None
    assert latest.data == live[25000]
    assert len(asked.requests) == before
    again.close()


def test_a_crash_between_asking_and_answering_asks_no_more(tmp_path: Path) -> None:
    asked = endpoints()
    made = backend(tmp_path, asked)
    made.register("q", JOINED)
    post_all(made)

    class Crash(BaseException):
        """The process is no more."""

    def crash(answers: object, lane: object = None) -> None:
        raise Crash

    made.backend._delivery.receive = crash  # type: ignore[method-assign]
    with pytest.raises(Crash):
        made.run()
    assert len(asked.requests) == 1
    made.close()
    asked.stores[SENSORS] = store("")
    again = backend(tmp_path, asked)
    again.run()
    first = again.answers("q")[5000]
    assert solutions(json.loads(first)) == oracle(JOINED, 5000), "as it was answered then"
    assert len(asked.requests) == 5
    again.close()


def test_an_instant_at_which_it_failed_is_an_error_and_not_tried_again(tmp_path: Path) -> None:
    asked = endpoints()
    failing = True

    def fail(iri: str, query: str) -> None:
        if failing:
            raise ServiceFailed("it is out for lunch")

    asked.before = fail
    made = backend(tmp_path, asked)
    made.register("q", JOINED)
    made.post("s", PREFIX + ELEMENTS[0][1], 1000)
    made.backend.advance("s", 5000)
    made.run()
    failing = False
    made.post("s", PREFIX + ELEMENTS[2][1], 6000)
    made.backend.advance("s", 10000)
    made.run()
    failures = [notice for notice in made.notices if isinstance(notice, Failed)]
    assert [(one.instant, one.detail) for one in failures] == [
        (5000, f"SERVICE <{SENSORS}> failed: it is out for lunch")
    ]
    assert list(made.answers("q")) == [10000]
    assert list(made.backend.replay("q", None, 10000)) == [*failures, Evaluation("q", 10000, made.answers("q")[10000])]
    assert list(made.backend.replay("q", 5000, 10000)) == [Evaluation("q", 10000, made.answers("q")[10000])]
    assert len(asked.requests) == 2
    made.close()


def test_a_silent_failure_binds_nothing(tmp_path: Path) -> None:
    asked = endpoints()
    made = backend(tmp_path, asked)
    made.register("q", JOINED.replace("SERVICE", "SERVICE SILENT").replace(SENSORS, NOWHERE))
    made.register("of", f"{PREFIX}SELECT * {STREAM}{{ WINDOW :w {{ ?s :ask ?e }} SERVICE SILENT ?e {{ ?s :in ?r }} }}")
    made.post("s", PREFIX + f":a :t 1 ; :ask <{NOWHERE}> , <{SENSORS}> , 5 . [] :t 2 .", 1000)
    made.backend.advance("s", 5000)
    made.run()
    (data,) = made.answers("q").values()
    assert [sorted(row) for row in json.loads(data)["results"]["bindings"]] == [["s", "v"]] * 2
    (data,) = made.answers("of").values()
    found = [(row["e"]["value"], row.get("r", {}).get("value")) for row in json.loads(data)["results"]["bindings"]]
    assert sorted(found, key=str) == [("5", None), (NOWHERE, None), (SENSORS, "http://ex/kitchen")]
    made.close()


def test_solutions_that_cannot_be_are_a_failure(tmp_path: Path) -> None:
    asked = endpoints()
    asked.solutions = lambda iri, query, variables: [(None, "<http://ex/s>")]  # type: ignore[method-assign]
    made = backend(tmp_path, asked)
    made.register("q", JOINED)
    made.post("s", PREFIX + ":a :t 1 .", 1000)
    made.backend.advance("s", 5000)
    made.run()
    (failed,) = (notice for notice in made.notices if isinstance(notice, Failed))
    assert "a solution without ?r" in failed.detail
    made.close()


def test_what_was_given_for_other_terms_is_left_out(tmp_path: Path) -> None:
    """An endpoint may pass over VALUES: a solution is still given once, however many requests are made."""
    asked = endpoints()
    asked.solutions = lambda iri, query, variables: [  # type: ignore[method-assign]
        ("<http://ex/r>", f"<http://ex/n{n}>") for n in range(300)
    ]
    made = backend(tmp_path, asked)
    made.register("q", JOINED)
    made.post("s", PREFIX + " . ".join(f":n{n} :t 1" for n in range(250)) + " .", 1000)
    made.backend.advance("s", 5000)
    made.run()
    (data,) = made.answers("q").values()
    assert len(json.loads(data)["results"]["bindings"]) == 250
    made.close()


def test_records_go_with_their_query_and_with_what_retention_takes(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path, asked)
    (records,) = (tmp_path / "services").iterdir()
    assert len(list(records.iterdir())) == 5
    made.backend._records.forget_before(records.name, 10000)
    assert sorted(path.name for path in records.iterdir()) == [
        "10000.0.json",
        "15000.0.json",
        "20000.0.json",
        "25000.0.json",
    ]
    made.register("q", JOINED + " LIMIT 1")
    assert not records.exists()
    made.backend.remove("q")
    assert not list((tmp_path / "services").iterdir())
    made.close()


def test_a_backup_has_the_records(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path / "data", asked)
    live = made.answers("q")
    (tmp_path / "copy").mkdir()
    made.backend.backup(tmp_path / "copy")
    made.close()
    asked.stores.clear()
    again = backend(tmp_path / "copy", asked)
    assert again.replayed("q") == live
    again.close()


def same(term: object) -> object:
    return term


def test_the_records_of_a_query_that_cannot_be_evaluated_for_a_while_are_kept(tmp_path: Path) -> None:
    asked, functions = endpoints(), PythonFunctions.of({"http://ex/same": same})
    made = evaluated(
        tmp_path, asked, JOINED.removesuffix("}") + "FILTER(<http://ex/same>(?v) = ?v) }", functions=functions
    )
    live = made.answers("q")
    made.close()
    asked.stores.clear()
    backend(tmp_path, asked).close()
    again = backend(tmp_path, asked, functions=functions)
    assert again.replayed("q") == live
    again.close()


def test_the_records_of_a_query_that_the_catalogue_has_lost_are_there_when_it_is_restored(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path, asked)
    live = made.answers("q")
    made.close()
    kept = {path: path.read_bytes() for path in tmp_path.glob("catalogue*.json")}
    assert len(kept) == 2
    for path in kept:
        path.unlink()
    backend(tmp_path, asked).close()
    for path, content in kept.items():
        path.write_bytes(content)
    asked.stores.clear()
    again = backend(tmp_path, asked)
    assert again.replayed("q") == live
    again.close()


def test_a_backup_links_the_records_before_anybody_has_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = evaluated(tmp_path / "data", endpoints())
    done: list[str] = []

    def linked(source: Path, target: Path) -> None:
        done.append(source.name)
        link_or_copy(source, target)

    real = made.backend._streams.backup

    def at_rest(directory: Path, at_once: Callable[[], None]) -> None:
        # One that has come meanwhile is in it, too.
        (records,) = (tmp_path / "data" / "services").iterdir()
        (records / "30000.0.json").write_bytes((records / "25000.0.json").read_bytes())
        done.append("at rest")
        real(directory, at_once)

    monkeypatch.setattr("spark_backend.federation.records.link_or_copy", linked)
    monkeypatch.setattr(made.backend._streams, "backup", at_rest)
    (tmp_path / "copy").mkdir()
    made.backend.backup(tmp_path / "copy")
    assert sorted(done[:5]) == sorted(f"{instant}.0.json" for instant in range(5000, 30000, 5000))
    assert done[5:] == ["at rest", "30000.0.json"]
    (copied,) = (tmp_path / "copy" / "services").iterdir()
    assert len(list(copied.iterdir())) == 6
    made.close()


def test_a_query_that_has_ended_meanwhile_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = backend(tmp_path, endpoints())
    made.register("q", JOINED)
    post_all(made)
    registered, budget = made.running("q").registered, Budget()
    with monkeypatch.context() as ending:
        # Its records go between two looks at them.
        ending.setattr(ServiceRecords, "has", lambda *_: True)
        with pytest.raises(Unavailable, match="has ended meanwhile"):
            list(made.backend._federated.answers(registered.key, registered.prepared, [5000], budget))
    made.backend.remove("q")
    with pytest.raises(Unavailable, match="has ended meanwhile"):
        list(made.backend._federated.answers(registered.key, registered.prepared, [5000], budget))
    made.close()


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    asked = endpoints()
    made = evaluated(tmp_path, asked)
    (record,) = (tmp_path / "services").glob("*/10000.0.json")
    record.write_text(record.read_text().replace("kitchen", "chicken"))
    running = made.running("q").registered
    (answer,) = made.backend._delivery.evaluations.answers(running.key, running.prepared, [10000], Budget())
    assert "is damaged" in str(answer.error)
    made.close()


@pytest.mark.parametrize(
    ("pattern", "status", "detail"),
    [
        ("WINDOW :w { ?s :t ?v } SERVICE <http://forbidden.example/> { ?s :in ?r }", 403, "may not fetch"),
        ("WINDOW :w { ?s :t ?v } SERVICE ?e { ?s :in ?r }", 501, r"\?e has to be bound"),
        ("WINDOW :w { ?s :t ?e } OPTIONAL { ?s :in ?r SERVICE ?x { ?s :in ?r } }", 501, r"\?x has to be bound"),
        ("WINDOW :w { ?s :t ?v } FILTER EXISTS { SERVICE <%s> { ?s :in ?r } }", 501, "SERVICE in EXISTS"),
        ("WINDOW :w { ?s :t ?v } SERVICE <%s> { WINDOW :w { ?s :in ?r } }", 501, "not at another endpoint"),
        ("WINDOW :w { ?s :t ?v } SERVICE <%s> { GRAPH :w { ?s :in ?r } }", 501, "not at another endpoint"),
        (
            "WINDOW :w { ?s :t ?v } SERVICE <%s> { ?s :in ?r FILTER(timestamp(?r) > 1) }",
            501,
            "TIMESTAMP is of a stream",
        ),
    ],
)
def test_what_is_not_asked_is_refused_at_its_place(pattern: str, status: int, detail: str, tmp_path: Path) -> None:
    made = backend(tmp_path, endpoints())
    with pytest.raises(ProtocolError, match=detail) as caught:
        made.register("q", f"{PREFIX}SELECT * {STREAM}{{ {pattern.replace('%s', SENSORS)} }}")
    assert caught.value.status == status
    assert caught.value.line == 1
    made.close()


def test_large_windows_beside_services_are_left_to_spark_sql(tmp_path: Path) -> None:
    made = backend(tmp_path, endpoints())
    made.register("q", JOINED)
    query = made.running("q")
    assert has_translation(PreparedQuery(query.plan, query.windows, {}))
    made.close()


def test_the_plan_names_what_is_asked(tmp_path: Path) -> None:
    made = backend(tmp_path, endpoints())
    made.register("q", JOINED)
    plan = made.backend.plan("q")
    assert f"service_0: SERVICE <{SENSORS}> {{ ?s <http://ex/in> ?r . }}" in plan
    assert "given ?s by VALUES, 100 solutions a request" in plan
    assert "its own: others would wait" in plan
    made.close()
