"""Queries that are registered, replaced and removed, over the real log, clock and evaluator, without Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.errors import NotFound, ProtocolError, QuerySemanticError, UnsupportedFeature
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Ended, Evaluation, Gone
from protocol.language.model import ContinuousQuery
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget
from spark_backend.streams.catalogue import read_catalogue
from tests.spark_backend.engine_side import CLOSES, EVERY_2, EVERY_3, EX, PUBLISHES, answers, files, post
from tests.spark_backend.stepped_backend import SteppedBackend

UNKNOWN_STREAM = (
    f"SELECT ?s\nFROM STREAM <{EX}s> [RANGE 2]\n  FROM STREAM <{EX}nowhere> [RANGE 2]\nWHERE {{ ?s ?p ?o }}"
)
NOT_YET = f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s ?p ?o FILTER EXISTS {{ SERVICE <{EX}other> {{}} }} }}"


@pytest.mark.parametrize(
    ("text", "error"), [(UNKNOWN_STREAM, QuerySemanticError), (NOT_YET, UnsupportedFeature)]
)  # fmt: skip
@pytest.mark.parametrize("name", ["q", "new"])
def test_a_registration_that_fails_changes_nothing(
    tmp_path: Path, stepped: SteppedBackend, text: str, error: type[ProtocolError], name: str
) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1)
    before, described = files(tmp_path), stepped.backend.queries()
    with pytest.raises(error):
        stepped.register(name, text)
    assert files(tmp_path) == before
    assert stepped.backend.queries() == described
    post(stepped, 5)
    stepped.run()
    assert answers(stepped) == {2: ["e1"]}
    assert not [notice for notice in stepped.notices if isinstance(notice, Ended | Gone)]


def test_an_unknown_stream_is_named_with_its_line_and_column(stepped: SteppedBackend) -> None:
    with pytest.raises(QuerySemanticError, match=r"no stream <http://ex/nowhere>.*PUT /streams") as raised:
        stepped.register("q", UNKNOWN_STREAM)
    assert (raised.value.line, raised.value.column) == (3, 15)
    assert f"<{EX}s>" in raised.value.detail


def test_a_query_starts_at_the_watermark_and_since_moves_that(stepped: SteppedBackend) -> None:
    post(stepped, 1, 3, 5, 7)
    stepped.register("now", EVERY_2)
    stepped.register("beginning", EVERY_2, since=-(10**12))
    stepped.register("four", EVERY_2, since=4)
    stepped.register("three", EVERY_2, since=3)
    post(stepped, 9)
    stepped.run()
    assert list(stepped.answers("now")) == [8]
    assert list(stepped.answers("beginning")) == [2, 4, 6, 8]
    assert list(stepped.answers("four")) == [6, 8]
    assert list(stepped.answers("three")) == [4, 6, 8]
    assert stepped.backend.query("now").start == 6


def test_a_query_over_a_stream_without_elements_starts_with_the_first(stepped: SteppedBackend) -> None:
    stepped.register("q", CLOSES)
    stepped.run()
    assert stepped.backend.query("q").start is None
    post(stepped, 7, 11)
    stepped.run()
    assert answers(stepped) == {8: ["e7"], 10: []}


def test_a_replacement_ends_the_old_query_and_starts_at_the_watermark_of_now(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 5)
    stepped.run()
    told = len(stepped.notices)
    stepped.register("q", EVERY_3)
    assert stepped.notices[told:] == [Gone("q", "the query was replaced", replaced=True)]
    described = stepped.backend.query("q")
    assert (described.start, described.evaluated, described.evaluations) == (4, None, 0)
    post(stepped, 12)
    stepped.run()
    assert answers(stepped) == {2: ["e1"], 6: ["e5"]}
    assert len(stepped.backend.queries()) == 1


def test_registering_says_whether_the_name_is_new(stepped: SteppedBackend) -> None:
    from protocol.grammar.parser import parse

    query = parse(EVERY_2)
    assert isinstance(query, ContinuousQuery)
    assert stepped.backend.register("q", query, standing=True) is True
    assert stepped.backend.register("q", query, standing=False) is False
    assert stepped.backend.register("q", query, standing=True) is False


def test_answers_planned_for_a_replaced_query_are_not_told_as_the_new_ones(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    old = stepped.running("q")
    stepped.register("q", EVERY_3)
    stepped.pipeline.receive([(old.registered.key, Answer(2, b'{"s":{}}'))])
    assert answers(stepped) == {}


def test_nothing_is_told_of_a_query_after_its_end(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 5)
    running = stepped.running("q")
    write, removers = running.writer.write, []

    def write_while_it_is_removed(answer: Answer) -> tuple[bytes, int]:
        removers.append(threading.Thread(target=stepped.backend.remove, args=("q",)))
        removers[-1].start()
        removers[-1].join(0.2)  # has to wait for what is being told
        return write(answer)

    running.writer.write = write_while_it_is_removed  # type: ignore[method-assign]  # of this one object
    stepped.run()
    removers[0].join(10)
    assert [type(notice) for notice in stepped.notices] == [Evaluation, Gone]


def test_a_removed_query_is_unknown_and_answers_no_more(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1)
    stepped.backend.remove("q")
    post(stepped, 5)
    stepped.run()
    assert stepped.notices == [Gone("q", "the query was removed")]
    assert not list((tmp_path / "queries").glob("q.*"))
    ask = stepped.backend
    for action in (ask.query, ask.plan, ask.remove, ask.retained_from, lambda name: list(ask.replay(name, None, 9))):
        with pytest.raises(NotFound, match="no query q"):
            action("q")


@pytest.mark.parametrize(
    "unwritable", ["queries/.registry.json.new", ".catalogue.json.new", ".catalogue.copy.json.new"]
)
def test_a_query_that_could_not_be_written_down_is_not_there_and_one_that_could_not_be_removed_is(
    unwritable: str, opened: Callable[..., SteppedBackend], stepped: SteppedBackend, tmp_path: Path
) -> None:
    stepped.register("kept", EVERY_2)
    stepped.register("replaced", EVERY_2)

    def kept() -> tuple[object, ...]:
        catalogue = read_catalogue(tmp_path / "catalogue.json")
        return catalogue.streams, catalogue.queries, (tmp_path / "queries" / "registry.json").read_bytes()

    before = kept()
    # It cannot be written to.
    (tmp_path / unwritable).mkdir()
    for name, text in (("new", EVERY_3), ("replaced", EVERY_3), ("out", PUBLISHES)):
        with pytest.raises(OSError, match="directory"):
            stepped.register(name, text)
    with pytest.raises(OSError, match="directory"):
        stepped.backend.remove("kept")
    described = {query.name: query.query.text for query in stepped.backend.queries()}
    assert described == {"kept": EVERY_2, "replaced": EVERY_2}
    assert kept() == before
    (tmp_path / unwritable).rmdir()
    post(stepped, 1, 3, 5)
    stepped.run()
    assert set(stepped.answers("replaced")) == set(stepped.answers("kept")) == {2, 4}
    stepped = opened()
    assert {query.name: query.query.text for query in stepped.backend.queries()} == described
    stepped.register("out", PUBLISHES)
    stepped.backend.remove("kept")
    assert {query.name for query in stepped.backend.queries()} == {"out", "replaced"}


@pytest.mark.parametrize(
    ("asked", "lowered"),
    [
        (NO_LIMITS, NO_LIMITS),
        (EvaluationLimits(99_999.0, 10**14), NO_LIMITS),
        (EvaluationLimits(Budget().seconds, Budget().memory), NO_LIMITS),
        (EvaluationLimits(2.5, 10**14), EvaluationLimits(seconds=2.5)),
        (EvaluationLimits(99_999.0, 2**27), EvaluationLimits(memory=2**27)),
    ],
)
def test_of_what_was_asked_for_only_what_is_less_than_the_settings_is_told(
    opened: Callable[..., SteppedBackend], asked: EvaluationLimits, lowered: EvaluationLimits
) -> None:
    stepped = opened()
    stepped.event_stream("s", EX + "s")
    stepped.register("q", EVERY_2, limits=asked)
    for again in (stepped, opened()):
        description = again.backend.query("q")
        # The very same text with the very same limits is still to be recognised.
        assert (description.limits, description.lowered) == (asked, lowered)
