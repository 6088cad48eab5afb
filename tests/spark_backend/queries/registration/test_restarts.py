"""Queries after a restart: those that are there, those that were changed, and those that cannot be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.errors import Conflict
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.streams import StreamSettings, TimeKind
from protocol.time import Instant
from spark_backend.streams.catalogue import read_catalogue
from tests.spark_backend.engine_side import EVERY_2, EVERY_3, EX, NEWS, PUBLISHES, answers, post, progress, warnings_of
from tests.spark_backend.stepped_backend import BASE, SteppedBackend


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("query", [EVERY_2, NEWS])
def test_a_standing_query_goes_on_after_a_restart_and_tells_nothing_twice(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend, query: str, offset: bool
) -> None:
    stepped.register("q", query)
    stepped.register("live", query, standing=False)
    post(stepped, 1, 3, 5)
    stepped.run()
    described = stepped.backend.query("q")
    again = opened(offset=offset)
    assert [found.name for found in again.backend.queries()] == ["q"]
    found = again.backend.query("q")
    assert (found.start, found.evaluated, found.standing) == (described.start, 4, True)
    assert found.query.text == query
    again.run()
    assert again.notices == []
    post(again, 7)
    again.run()
    assert answers(stepped) == {2: ["e1"], 4: ["e3"]}
    assert answers(again) == {6: ["e5"]}


def test_a_relative_name_means_after_a_restart_the_stream_that_it_meant_before(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2.replace(f"<{EX}s>", "<s>"))
    assert [known.stream for known in stepped.backend.query("q").query.windows] == [f"{BASE}/streams/s"]
    stepped.event_stream("since", f"{BASE}/s")
    again = opened()
    post(again, 3, stream="since")
    post(again, 1, 3)
    again.run()
    assert answers(again) == {2: ["e1"]}


def test_a_query_that_was_replaced_or_removed_does_not_come_back(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2)
    stepped.register("q", EVERY_3)
    stepped.register("made live", EVERY_3)
    stepped.register("made live", EVERY_3, standing=False)
    stepped.register("gone", EVERY_2)
    stepped.backend.remove("gone")
    again = opened()
    assert [(found.name, found.query.text) for found in again.backend.queries()] == [("q", EVERY_3)]


def test_what_was_planned_but_not_told_before_a_crash_is_told_after_it(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 3, 5)
    again = opened(offset=False)
    again.run()
    assert answers(again) == {2: ["e1"], 4: ["e3"]}


def same(term: object) -> object:
    return term


def test_a_query_whose_function_is_gone_is_kept_and_goes_on_when_it_is_back(tmp_path: Path) -> None:
    functions = PythonFunctions.of({"http://ex/same": same})
    first = SteppedBackend(tmp_path, functions=functions)
    first.event_stream("s", "http://ex/s")
    first.register("q", "SELECT (<http://ex/same>(?s) AS ?t) FROM STREAM <http://ex/s> [RANGE 2] { ?s ?p ?o }")
    assert first.backend.dormant() == frozenset()
    first.close()
    without = SteppedBackend(tmp_path)
    assert without.backend.dormant() == {"q"}
    assert without.backend.queries() == []
    (warning,) = warnings_of(without)
    assert warning.startswith("the standing query q cannot be evaluated: ")
    without.close()
    again = SteppedBackend(tmp_path, functions=functions)
    assert again.backend.dormant() == frozenset()
    assert again.backend.query("q").standing
    again.close()


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize(
    ("operator", "window"),
    [
        pytest.param("ISTREAM", "RANGE 20 STEP 10", marks=pytest.mark.slow),
        ("RSTREAM", "ELEMENTS 9 STEP 10 PARTITION BY OBJECT"),
        pytest.param("ISTREAM", "LANDMARK STEP 10", marks=pytest.mark.slow),
    ],
)
def test_a_query_that_could_not_be_evaluated_for_a_while_goes_on_where_it_was_over_all_there_was(
    operator: str, window: str, tmp_path: Path
) -> None:
    function = PythonFunctions.of({"http://ex/same": same})
    text = f"SELECT {operator} (<http://ex/same>(?s) AS ?t) FROM STREAM <{EX}s> [{window}] WHERE {{ ?s ?p ?o }}"

    def answered(name: str, functions: Sequence[PythonFunctions]) -> tuple[list[Instant], dict[Instant, bytes]]:
        """The instants told, each in each start, and the answers."""
        instants, documents = list[Instant](), dict[Instant, bytes]()
        for start, there in enumerate(functions):
            stepped = SteppedBackend(tmp_path / name, functions=there)
            if not start:
                stepped.backend.create_stream("s", StreamSettings(EX + "s", time=TimeKind.EVENT, retention=10))
                stepped.register("q", text)
            for begin in range(1 + 120 * start, 120 * (start + 1), 40):
                post(stepped, *range(begin, begin + 40))
                stepped.run()
                progress(stepped)
            instants += stepped.answers("q")
            documents |= stepped.answers("q")
            if there is NO_FUNCTIONS:
                with pytest.raises(Conflict, match="read by q"):
                    stepped.backend.delete_stream("s")
            stepped.close()
        return instants, documents

    instants, documents = answered("paused", [function, NO_FUNCTIONS, function])
    assert (instants, documents) == answered("throughout", [function, function, function])
    assert len(instants) == len(documents) > 30


@pytest.mark.parametrize("name", ["out", f"<{EX}out>", "<out>"])
def test_a_query_says_the_same_wherever_the_endpoint_listens(name: str, tmp_path: Path) -> None:
    text = (
        f"REGISTER STREAM {name} AS CONSTRUCT {{ ?s <p> ?t }} FROM STREAM <{EX}s> [RANGE 2] "
        "WHERE { ?s ?p ?o BIND(IRI('t') AS ?t) }"
    )
    first = SteppedBackend(tmp_path, base="http://here.example")
    first.event_stream("s", EX + "s")
    first.register("q", text, base="http://here.example/sparql")
    post(first, 1, 3)
    first.run()
    first.close()
    again = SteppedBackend(tmp_path, base="http://there.example")
    assert again.backend.dormant() == frozenset()
    post(again, 5)
    again.run()
    told = first.answers("q") | again.answers("q")
    assert told == {t: f"<{EX}e{t - 1}> <http://here.example/p> <http://here.example/t> .\n".encode() for t in (2, 4)}
    again.close()


def test_an_output_whose_iri_an_earlier_version_did_not_keep_stops_no_other(tmp_path: Path) -> None:
    first = SteppedBackend(tmp_path, base="http://here.example")
    first.event_stream("s", EX + "s")
    first.register("q", PUBLISHES.replace("STREAM out", "STREAM <out>"), base="http://here.example/sparql")
    first.register("other", f"SELECT * FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o }}")
    first.close()
    catalogue = read_catalogue(tmp_path / "catalogue.json")
    catalogue.queries = {name: replace(entry, base=None) for name, entry in catalogue.queries.items()}
    catalogue.save()
    again = SteppedBackend(tmp_path, base="http://there.example")
    assert again.backend.dormant() == {"q"}
    assert [query.name for query in again.backend.queries()] == ["other"]
    (warning,) = warnings_of(again)
    assert "the output out has the IRI http://here.example/out" in warning
    again.close()


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_query_whose_function_is_gone_can_be_removed_and_replaced(tmp_path: Path, how: str) -> None:
    first = SteppedBackend(tmp_path, functions=PythonFunctions.of({"http://ex/same": same}))
    first.event_stream("s", "http://ex/s")
    first.register(
        "q",
        "REGISTER STREAM out AS CONSTRUCT { ?s ?p ?f } FROM STREAM <http://ex/s> [RANGE 2] "
        "WHERE { ?s ?p ?o BIND(<http://ex/same>(?o) AS ?f) }",
    )
    first.close()
    without = SteppedBackend(tmp_path)
    assert without.backend.dormant() == {"q"}

    def end() -> None:
        if how == "removed":
            without.backend.remove("q")
        else:
            without.register("q", "SELECT * FROM STREAM <http://ex/s> [RANGE 2] WHERE { ?s ?p ?o }")

    (output,) = {stream.settings.iri for stream in without.backend.streams()} - {"http://ex/s"}
    without.register("reader", f"SELECT * FROM STREAM <{output}> [RANGE 2] WHERE {{ ?s ?p ?o }}")
    with pytest.raises(Conflict, match="is read by reader"):
        end()
    without.backend.remove("reader")
    end()
    assert without.backend.dormant() == frozenset()
    assert warnings_of(without) == ()
    left = [] if how == "removed" else ["q"]
    assert [stream.name for stream in without.backend.streams()] == ["s"]
    assert [query.name for query in without.backend.queries()] == left
    without.close()
    again = SteppedBackend(tmp_path)
    assert again.backend.dormant() == frozenset()
    assert [query.name for query in again.backend.queries()] == left
    again.close()
