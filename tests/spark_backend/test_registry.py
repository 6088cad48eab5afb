"""The query registry as other processes see it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.windows.spec import (
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Partition,
    Report,
    SessionWindow,
    Strategy,
    StreamWindow,
    TimeWindow,
    TriplePart,
    Unit,
)
from spark_backend.compiler.plan import compile_query
from spark_backend.registry import PreparedQuery, RegisteredQuery, Registry

REPORT = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.PERIODIC}), 500)
BY_SUBJECT = Partition((TriplePart.SUBJECT,), ("http://ex/p",))
WINDOWS = (
    StreamWindow("s", TimeWindow(1000, 500, -1000, REPORT), "http://ex/w", True),
    StreamWindow("t", TimeWindow(1000, 1000, 0, offset=500), None, False),
    StreamWindow("t", CountWindow(5, Unit.ELEMENTS, 2, -7, REPORT), "http://ex/count", True),
    StreamWindow("t", NowWindow(), "http://ex/now", True),
    StreamWindow("t", SessionWindow(9, None, REPORT, BY_SUBJECT), "http://ex/session", True),
    StreamWindow("t", LandmarkWindow(7, None, 7, None), "http://ex/landmark", True),
)
TEXT = "CONSTRUCT { ?s <http://ex/q> ?a } { SELECT ?s (AVG(?v) AS ?a) { ?s ?p ?v FILTER(REGEX(?p, 'x')) } GROUP BY ?s }"


def prepared(text: str = TEXT, form: Form = Form.CONSTRUCT) -> PreparedQuery:
    plan = compile_query(ContinuousQuery(text, read_query(text), form, R2S.ISTREAM, WINDOWS))
    return PreparedQuery(plan, WINDOWS, {"static_1": "static_1-abc.arrow"})


def entry(key: str = "q.1", start: int | None = None) -> RegisteredQuery:
    return RegisteredQuery(key, WINDOWS, f"{key}-x.json", start, family=f"of {key}")


def test_a_prepared_query_comes_back_as_it_was(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    for one in (
        prepared(),
        prepared("SELECT (SUM(?v) AS ?z) { ?s ?p ?v }", Form.SELECT),
        prepared("ASK { ?s ?p ?v }", Form.ASK),
    ):
        assert Registry(tmp_path).read_prepared(registry.write_prepared("q.1", one)) == one


def test_the_same_prepared_query_is_the_same_file_and_another_is_another(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    name = registry.write_prepared("q.1", prepared())
    assert registry.write_prepared("q.1", prepared()) == name
    assert registry.write_prepared("q.1", replace(prepared(), statics={})) != name
    assert registry.write_prepared("q.2", prepared()) != name


@contextmanager
def threads_in_short_turns() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def test_threads_that_write_the_same_prepared_query_at_once_all_find_it(tmp_path: Path) -> None:
    registry, one = Registry(tmp_path), prepared()

    def written(start: int) -> PreparedQuery:
        return registry.read_prepared(registry.write_prepared("q.1", replace(one, start=start)))

    starts = [start for start in range(100) for _ in range(4)]
    with threads_in_short_turns(), ThreadPoolExecutor(4) as threads:
        assert [query.start for query in threads.map(written, starts)] == starts


def test_a_registry_comes_back_as_it_was(tmp_path: Path) -> None:
    queries = [entry(), entry("ü/ 2", -5).with_prepared("other.json")]
    Registry(tmp_path).write(queries)
    assert Registry(tmp_path).read() == {query.key: query for query in queries}


def test_a_registry_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text(f"[{entry().document}]")
    assert Registry(tmp_path).read() == {"q.1": entry()}


def test_a_reader_is_told_of_each_change_once(tmp_path: Path) -> None:
    writer, reader = Registry(tmp_path), Registry(tmp_path)
    assert not reader.has_changed()
    assert reader.read() == {}
    writer.write([entry()])
    assert reader.has_changed()
    assert set(reader.read()) == {"q.1"}
    assert not reader.has_changed()
    writer.write([])
    assert reader.has_changed()
    assert reader.read() == {}
    assert not reader.has_changed()


def test_the_writer_is_told_which_version_evaluations_are_planned_by(tmp_path: Path) -> None:
    writer, reader = Registry(tmp_path), Registry(tmp_path)
    reader.tell_planned()
    assert writer.version == 0
    writer.write([entry()])
    reader.read()
    first = writer.version
    assert reader.planned is None
    reader.tell_planned()
    assert writer.planned == first
    writer.write([])
    reader.tell_planned()
    told = writer.planned
    assert told == first < writer.version
    (tmp_path / "planned.json").write_text("damaged")
    assert writer.planned is None


@pytest.mark.parametrize("lost", [None, "registry.json", "planned.json"])
def test_versions_go_on_after_a_restart(tmp_path: Path, lost: str | None) -> None:
    before, reader = Registry(tmp_path), Registry(tmp_path)
    for _ in range(3):
        before.write([entry()])
    reader.read()
    reader.tell_planned()
    if lost is not None:
        (tmp_path / lost).write_text("[]")  # as an earlier release has it, or what is no document
    after = Registry(tmp_path)
    after.write([])
    assert after.version == 4
    assert (after.planned or 0) < after.version


def test_no_part_of_a_file_is_left_behind(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    registry.write([entry()])
    name = registry.write_prepared("q.1", prepared())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "registry.json"])
    registry.remove_prepared(name)
    registry.remove_prepared(name)
    assert [path.name for path in tmp_path.iterdir()] == ["registry.json"]
