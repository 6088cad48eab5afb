"""What tasks need of a query is written once for what it reads, and anew where that is another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ProtocolError
from protocol.functions.python_functions import NO_FUNCTIONS
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import Plan
from spark_backend.layout import Layout
from spark_backend.queries.registration.preparation import Preparation
from spark_backend.registry import Registry
from spark_backend.statics.tables import StaticTables
from spark_backend.streams.catalogue import QueryEntry
from spark_backend.streams.statistics import StreamStatistics
from tests.spark_backend.statics.test_tables import GRAPHS, Graphs, P, S, rows

TEXT = """PREFIX : <http://ex/> SELECT * FROM NAMED WINDOW :w ON :stream [RANGE 10s STEP 10s] {{
  WINDOW :w {{ ?s :seen ?x }} ?s {predicate} ?v . OPTIONAL {{ ?s :none ?n }} }}"""


@pytest.fixture
def graphs() -> Graphs:
    return Graphs(*GRAPHS)


@pytest.fixture
def preparation(tmp_path: Path, graphs: Graphs) -> Preparation:
    layout = Layout(tmp_path)
    layout.make()
    statics = StaticTables(layout.statics, graphs)
    return Preparation(
        Registry(layout.queries), statics, StreamStatistics(layout.streams), NO_FUNCTIONS, "http://ex/sparql"
    )


def compiled(preparation: Preparation, predicate: str = ":p") -> tuple[Plan, ContinuousQuery]:
    entry = QueryEntry("q", "q.1", TEXT.format(predicate=predicate), None, ["http://ex/stream"])
    query, _ = preparation.read(entry, {})
    return preparation.compile(query, query.windows), query


def test_a_plan_tells_what_it_needs_of_the_store_and_what_of_that_is_there(preparation: Preparation) -> None:
    plan, _ = compiled(preparation)
    assert {pattern.predicate for pattern in plan.statics} == {P, "<http://ex/none>"}
    assert {pattern.predicate for pattern in plan.present} == {P}


def test_a_file_is_the_same_as_long_as_its_content_is(preparation: Preparation, graphs: Graphs) -> None:
    plan, query = compiled(preparation)
    same, written = preparation.write("q", query, query.windows, plan, None)
    assert same is plan
    graphs.version += 1
    assert preparation.write("q", query, query.windows, plan, None) == (plan, written)
    graphs.version += 1
    graphs.all.append(("", "<http://ex/new>", P, S))
    same, changed = preparation.write("q", query, query.windows, plan, None)
    assert same is plan
    assert changed != written
    _, later = preparation.write("q", query, query.windows, plan, 5_000)
    assert later not in (changed, written)
    assert preparation.files(plan, changed) == [changed]


def test_what_was_left_out_and_is_there_since_makes_another_plan(preparation: Preparation, graphs: Graphs) -> None:
    plan, query = compiled(preparation)
    graphs.version += 1
    graphs.all.append(("", S, "<http://ex/none>", S))
    other, _ = preparation.write("q", query, query.windows, plan, None)
    assert other.present == frozenset(plan.statics)
    assert other.sql != plan.sql


def test_what_is_written_is_of_one_version_of_the_store(
    tmp_path: Path, preparation: Preparation, graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.all = [("", S, P, '"before"')]
    graphs.version += 1
    plan, query = compiled(preparation)
    quads = graphs.quads

    def changed_meanwhile(
        subject: str | None, predicate: str | None, object: str | None, names: Sequence[str] | None
    ) -> list[tuple[str, str, str, str]]:
        found = list(quads(subject, predicate, object, names))
        if graphs.version == 2:
            graphs.all = [("", S, predicate, '"after"') for predicate in (P, "<http://ex/none>")]
            graphs.version += 1
        return found

    graphs.version += 1
    monkeypatch.setattr(graphs, "quads", changed_meanwhile)
    other, prepared = preparation.write("q", query, query.windows, plan, None)
    layout = Layout(tmp_path)
    read = Registry(layout.queries).read_prepared(prepared)
    assert [rows(layout.statics, read.statics[pattern.table])[0][3] for pattern in other.statics] == ['"after"'] * 2


def test_what_is_written_while_a_change_is_committed_is_of_one_version_of_the_store(
    tmp_path: Path, preparation: Preparation, graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.all = [("", S, predicate, '"before"') for predicate in (P, "<http://ex/none>")]
    graphs.version += 1
    plan, query = compiled(preparation)
    quads = graphs.quads

    def changed_in_between(*pattern: Any) -> list[tuple[str, str, str, str]]:
        found = list(quads(*pattern))
        graphs.all = [("", S, predicate, '"after"') for predicate in (P, "<http://ex/none>")]
        return found

    def settled(self: Graphs) -> int:
        # The new state is there before it has its version.
        self.version = 3 if '"after"' in self.all[0] else 2
        return self.version

    graphs.version += 1
    monkeypatch.setattr(graphs, "quads", changed_in_between)
    monkeypatch.setattr(Graphs, "settled_version", property(settled))
    plan, prepared = preparation.write("q", query, query.windows, plan, None)
    layout = Layout(tmp_path)
    read = Registry(layout.queries).read_prepared(prepared)
    assert [rows(layout.statics, read.statics[pattern.table])[0][3] for pattern in plan.statics] == ['"after"'] * 2


def test_a_text_that_is_no_query_is_refused_where_it_is_wrong(preparation: Preparation) -> None:
    with pytest.raises(ProtocolError, match="line 2"):
        compiled(preparation, "%")
