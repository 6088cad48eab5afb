"""Networks of queries: the output of one is a stream that others read (docs/language.md, "Registration")."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from protocol.errors import Conflict, ProtocolError, QuerySemanticError, StorageFull, Unavailable
from protocol.evaluations import Ended, Evaluation, Failed
from protocol.formats.long_tokens import LONGEST_TOKEN
from protocol.streams import StreamSettings, TimeKind
from spark_backend.streams.streams import Streams
from tests.spark_backend.stepped_backend import BASE, SteppedBackend

SEEN = """REGISTER STREAM seen AS
    CONSTRUCT { ?s <http://ex/seen> ?v } FROM STREAM <http://ex/s> [RANGE 5] WHERE { ?s <http://ex/v> ?v }"""
COUNTED = f"SELECT (COUNT(*) AS ?n) FROM STREAM <{BASE}/streams/seen> [RANGE 10] WHERE {{ ?s <http://ex/seen> ?v }}"


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    yield stepped
    stepped.close()


def post(stepped: SteppedBackend, at: int, *values: int) -> None:
    stepped.post("s", "".join(f"<http://ex/a> <http://ex/v> {value} . " for value in values), at)


def settle(stepped: SteppedBackend) -> None:
    """Let answers and progress go through the whole network."""
    for _ in range(4):
        stepped.run()
        stepped.backend._progress.say()


def counts(stepped: SteppedBackend, name: str = "counted") -> dict[int, int]:
    documents = {instant: json.loads(data) for instant, data in stepped.answers(name).items()}
    return {t: int(document["results"]["bindings"][0]["n"]["value"]) for t, document in documents.items()}


def test_what_a_query_constructs_is_a_stream_with_an_element_an_evaluation(stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    stepped.register("counted", COUNTED)
    for at, value in ((1, 1), (4, 2), (8, 3), (21, 4)):
        post(stepped, at, value)
    settle(stepped)
    output = stepped.backend.stream("seen")
    # Evaluated at 5 (two triples) and at 10; the windows that close at 15 and 20 are empty.
    assert (output.elements, output.triples, output.first, output.last, output.late) == (2, 3, 5, 10, 0)
    assert (output.watermark, output.settings.iri, output.query) == (20, f"{BASE}/streams/seen", "seen")
    assert counts(stepped) == {10: 3}


def test_its_watermark_follows_and_it_ends_with_the_query(stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    stepped.register("counted", COUNTED)
    post(stepped, 3, 1)
    stepped.backend.advance("s", 4_000)
    settle(stepped)
    assert stepped.backend.stream("seen").watermark == 4_000
    stepped.backend.end_stream("s")
    settle(stepped)
    assert stepped.backend.stream("seen").ended
    assert counts(stepped) == {10: 1}
    assert {notice.query for notice in stepped.notices if isinstance(notice, Ended)} == {"seen", "counted"}


@pytest.mark.parametrize("replaced", [False, True])
def test_an_output_that_could_not_be_dropped_is_no_other_querys(stepped: SteppedBackend, replaced: bool) -> None:
    stepped.register("seen", SEEN)
    post(stepped, 3, 1)
    post(stepped, 8, 2)
    settle(stepped)
    with patch.object(Streams, "drop", side_effect=OSError(errno.ENOSPC, "No space left on device")):
        if replaced:
            stepped.register("seen", SEEN.replace("REGISTER STREAM seen AS", ""))
        else:
            stepped.backend.remove("seen")
    assert stepped.backend.stream("seen").elements == 1
    stepped.register("seen", SEEN.replace("<http://ex/seen> ?v", "<http://ex/seen> 0"))
    assert stepped.backend.stream("seen").elements == 0
    post(stepped, 12, 3)
    settle(stepped)
    assert stepped.backend.stream("seen").last == 10


def test_an_evaluation_without_triples_is_an_empty_element_that_moves_time(stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN.replace("[RANGE 5]", "[RANGE 5 REPORT ON_WINDOW_CLOSE]"))
    stepped.register("counted", COUNTED)
    post(stepped, 3, 1)
    stepped.backend.advance("s", 30)
    settle(stepped)
    output = stepped.backend.stream("seen")
    assert (output.elements, output.triples, output.last) == (6, 1, 30)
    assert counts(stepped) == {10: 1}


def test_a_stream_named_by_an_iri_is_read_by_that_or_by_its_address(stepped: SteppedBackend) -> None:
    stepped.register("mine", SEEN.replace("STREAM seen", "STREAM <http://ex/out/seen-2>"))
    assert stepped.backend.stream("seen-2").settings.iri == "http://ex/out/seen-2"
    for name, iri in (("one", "http://ex/out/seen-2"), ("two", f"{BASE}/streams/seen-2")):
        stepped.register(name, COUNTED.replace(f"{BASE}/streams/seen", iri))
    post(stepped, 3, 1)
    stepped.backend.advance("s", 30)
    settle(stepped)
    assert counts(stepped, "one") == counts(stepped, "two") == {10: 1}


def test_several_answers_of_one_batch_and_blank_nodes_of_each_are_told_apart(stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN.replace("?s <http://ex/seen>", "_:b <http://ex/seen>"))
    stepped.register(
        "counted",
        COUNTED.replace("[RANGE 10]", "[RANGE 100]").replace("COUNT(*)", "COUNT(DISTINCT ?s)"),
    )
    for at in (1, 7, 12, 18):
        post(stepped, at, at)
    stepped.backend.advance("s", 200)
    settle(stepped)
    assert stepped.backend.stream("seen").elements == 4
    assert counts(stepped) == {100: 4}


def test_what_was_published_is_not_published_again_after_a_crash(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    stepped.register("counted", COUNTED)
    post(stepped, 1, 1)
    post(stepped, 6, 2)
    settle(stepped)
    before = stepped.backend.stream("seen")
    assert before.elements == 1
    stepped.close()
    # The checkpoint is lost, and so is the progress: everything is evaluated again.
    (tmp_path / "progress.json").unlink()
    again = SteppedBackend(tmp_path)
    try:
        settle(again)
        assert again.backend.stream("seen") == before
        post(again, 21, 3)
        settle(again)
        assert (again.backend.stream("seen").elements, again.backend.stream("seen").late) == (2, 0)
        assert counts(again) == {10: 2}
    finally:
        again.close()


@pytest.mark.parametrize("error", [Unavailable("the log cannot be opened"), StorageFull("the disk is full")])
def test_a_query_whose_output_cannot_be_written_waits_until_it_can_be_and_holds_up_no_other(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, error: ProtocolError
) -> None:
    stepped.register("seen", SEEN.replace("CONSTRUCT {", "CONSTRUCT ISTREAM {"))
    stepped.register(
        "other", COUNTED.replace(f"{BASE}/streams/seen", "http://ex/s").replace("http://ex/seen", "http://ex/v")
    )
    post(stepped, 1, 1)
    post(stepped, 12, 2)

    def refused(name: str, batch: object) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(stepped.backend._streams, "publish", refused)
        while stepped.pipeline.step():
            pass
        for _ in range(2):
            with pytest.raises(type(error)):
                stepped.turn()
        post(stepped, 22, 3)
        while stepped.pipeline.step():
            pass
    assert (stepped.answers("seen"), list(stepped.answers("other"))) == ({}, [10, 20])
    settle(stepped)
    assert list(stepped.answers("seen")) == [5, 15]
    assert stepped.backend.stream("seen").triples == 2
    told = [notice for notice in stepped.notices if notice.query == "other" and hasattr(notice, "data")]
    assert len(told) == 2


LONG = "x" * (LONGEST_TOKEN * 6 // 10)
TWICE = """REGISTER STREAM twice AS
    CONSTRUCT { ?s <http://ex/twice> ?x } FROM STREAM <http://ex/s> [RANGE 5]
    WHERE { ?s <http://ex/v> ?v BIND(CONCAT(STR(?v), STR(?v)) AS ?x) }"""


def test_an_answer_that_no_stream_takes_has_failed_and_those_after_it_are_published(stepped: SteppedBackend) -> None:
    stepped.register("twice", TWICE)
    stepped.register("other", SEEN.replace("REGISTER STREAM seen AS", ""))
    post(stepped, 1, 1)
    stepped.post("s", f'<http://ex/a> <http://ex/v> "{LONG}" .', 6)
    post(stepped, 11, 3)
    post(stepped, 21, 4)
    settle(stepped)
    failed = [one for one in stepped.notices if isinstance(one, Failed)]
    assert [(one.query, one.instant) for one in failed] == [("twice", 10)]
    assert "the stream twice does not take the answer" in failed[0].detail
    assert list(stepped.answers("twice")) == [5, 15]
    assert list(stepped.answers("other")) == [5, 10, 15]
    output = stepped.backend.stream("twice")
    assert (output.elements, output.last, output.watermark) == (2, 15, 20)
    # Whoever asks for it once more is told the same.
    assert [(type(one), one.instant) for one in stepped.backend.replay("twice", 5, 15)] == [
        (Failed, 10),
        (Evaluation, 15),
    ]


def test_the_latest_answer_is_one_that_was_published(stepped: SteppedBackend) -> None:
    stepped.register("twice", TWICE)
    post(stepped, 1, 1)
    stepped.post("s", f'<http://ex/a> <http://ex/v> "{LONG}" .', 6)
    post(stepped, 11, 3)
    settle(stepped)
    assert stepped.backend.query("twice").evaluated == 10
    latest = stepped.backend.latest("twice")
    assert latest is not None
    assert latest.instant == 5


def test_nobody_else_appends_to_an_output_or_ends_it(stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    for action in (
        lambda: stepped.post("seen", "<http://ex/a> <http://ex/b> 1 .", 5),
        lambda: stepped.backend.advance("seen", 5),
        lambda: stepped.backend.end_stream("seen"),
        lambda: stepped.backend.delete_stream("seen"),
    ):
        with pytest.raises(Conflict, match="output of the query seen"):
            action()
    with pytest.raises(Conflict, match="other settings"):
        stepped.backend.create_stream("seen", StreamSettings("http://ex/else", TimeKind.EVENT))


def test_a_stream_that_is_there_is_no_querys_output(stepped: SteppedBackend) -> None:
    stepped.event_stream("seen", "http://ex/other")
    with pytest.raises(Conflict, match="there is a stream seen, which is no query's"):
        stepped.register("seen", SEEN)
    with pytest.raises(Conflict, match="is that of the stream seen already"):
        stepped.register("q", SEEN.replace("STREAM seen", "STREAM <http://ex/other>"))
    assert stepped.backend.queries() == []


def test_a_query_whose_output_is_read_is_neither_ended_nor_replaced_by_one_without(stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    stepped.register("counted", COUNTED)
    stepped.register("live", COUNTED, standing=False)
    with pytest.raises(Conflict, match="is read by counted: delete them first"):
        stepped.backend.remove("seen")
    with pytest.raises(Conflict, match="is read by counted"):
        stepped.register("seen", SEEN.replace("REGISTER STREAM seen AS", ""))
    stepped.register("seen", SEEN.replace("[RANGE 5]", "[RANGE 2]"))  # goes on with the same output
    stepped.backend.remove("counted")
    stepped.backend.remove("seen")
    assert [stream.name for stream in stepped.backend.streams()] == ["s"]
    assert stepped.backend.queries() == []


def test_a_query_replaced_by_one_that_publishes_elsewhere_takes_its_output_along(stepped: SteppedBackend) -> None:
    stepped.register("q", SEEN)
    stepped.register("q", SEEN.replace("STREAM seen", "STREAM other"))
    assert [stream.name for stream in stepped.backend.streams()] == ["other", "s"]
    stepped.register("q", SEEN.replace("REGISTER STREAM seen AS", ""))
    assert [stream.name for stream in stepped.backend.streams()] == ["s"]


def test_a_cycle_is_refused_at_the_window_that_closes_it(stepped: SteppedBackend) -> None:
    further = f"""REGISTER STREAM further AS
        CONSTRUCT {{ ?s ?p ?o }} FROM STREAM <{BASE}/streams/seen> [RANGE 5] WHERE {{ ?s ?p ?o }}"""
    stepped.register("seen", SEEN)
    stepped.register("further", further)
    with pytest.raises(QuerySemanticError, match="by way of further") as raised:
        stepped.register("seen", SEEN.replace("http://ex/s>", f"{BASE}/streams/further>"))
    assert raised.value.line == 2
    with pytest.raises(QuerySemanticError, match="would read its own output:"):
        stepped.register("further", further.replace("streams/seen", "streams/further"))
    post(stepped, 1, 1)
    stepped.backend.advance("s", 30)
    settle(stepped)
    assert stepped.backend.stream("further").elements == 1


def test_a_stream_to_which_many_ways_lead_is_looked_at_once(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = "FROM NAMED WINDOW <http://ex/{0}> ON <{1}> [RANGE 5]"
    before = ["http://ex/s", "http://ex/s"]
    for level in range(5):
        names = [f"l{level}{side}" for side in "ab"]
        windows = " ".join(window.format(side, stream) for side, stream in zip("ab", before, strict=True))
        pattern = "{ WINDOW <http://ex/a> { ?s ?p ?o } } UNION { WINDOW <http://ex/b> { ?s ?p ?o } }"
        for name in names:
            stepped.register(
                name, f"REGISTER STREAM {name} AS CONSTRUCT {{ ?s ?p ?o }} {windows} WHERE {{ {pattern} }}"
            )
        before = [f"{BASE}/streams/{name}" for name in names]
    asked: list[str] = []
    real = stepped.backend._streams.owner

    def owner(log: str) -> str | None:
        asked.append(log)
        return real(log)

    monkeypatch.setattr(stepped.backend._streams, "owner", owner)
    further = SEEN.replace("http://ex/s>", f"{before[0]}>").replace("seen", "further")
    stepped.register("further", further)
    assert len(asked) == len(set(asked)) == 10


@pytest.mark.parametrize(
    "text",
    [
        SEEN.replace("REGISTER STREAM", "REGISTER QUERY"),
        "REGISTER STREAM seen AS SELECT ?s FROM STREAM <http://ex/s> [RANGE 5] WHERE { ?s ?p ?o }",
        "REGISTER STREAM seen AS ASK FROM STREAM <http://ex/s> [RANGE 5] WHERE { ?s ?p ?o }",
    ],
)
def test_only_a_graph_that_is_registered_as_a_stream_makes_one(stepped: SteppedBackend, text: str) -> None:
    stepped.register("seen", text)
    assert [stream.name for stream in stepped.backend.streams()] == ["s"]


def test_a_describe_is_published_too(stepped: SteppedBackend) -> None:
    stepped.register(
        "seen", "REGISTER STREAM seen AS DESCRIBE ?s FROM STREAM <http://ex/s> [RANGE 5] WHERE { ?s ?p 2 }"
    )
    stepped.register("counted", COUNTED.replace("http://ex/seen", "http://ex/v"))
    post(stepped, 1, 1, 2, 3)
    stepped.backend.advance("s", 30)
    settle(stepped)
    assert counts(stepped) == {10: 3}


def test_a_network_is_there_again_after_a_restart(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    stepped.register("counted", COUNTED)
    stepped.close()
    again = SteppedBackend(tmp_path)
    try:
        assert again.backend.stream("seen").query == "seen"
        post(again, 1, 1)
        again.backend.advance("s", 30)
        settle(again)
        assert counts(again) == {10: 1}
        with pytest.raises(ProtocolError, match="is read by counted"):
            again.backend.remove("seen")
    finally:
        again.close()


def test_an_output_is_what_it_was_where_the_endpoint_listens_elsewhere(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.register("seen", SEEN)
    stepped.register("counted", COUNTED)
    stepped.close()
    again = SteppedBackend(tmp_path, base="http://elsewhere.example:8001")
    try:
        post(again, 1, 1)
        again.backend.advance("s", 30)
        settle(again)
        assert counts(again) == {10: 1}
        again.register("seen", SEEN)
        assert again.backend.stream("seen").settings.iri == f"{BASE}/streams/seen"
    finally:
        again.close()
