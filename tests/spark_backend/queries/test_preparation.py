"""What tasks need of a query is written once for what it reads, and anew where that is another."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import ProtocolError
from protocol.functions.python_functions import NO_FUNCTIONS
from protocol.windows.spec import StreamWindow
from spark_backend.compiler.plan import Plan
from spark_backend.layout import Layout
from spark_backend.queries.preparation import Preparation
from spark_backend.registry import Registry
from spark_backend.statics.tables import StaticTables
from spark_backend.streams.statistics import StreamStatistics
from tests.spark_backend.statics.test_tables import GRAPHS, Graphs, P, S

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


def compiled(preparation: Preparation, predicate: str = ":p") -> tuple[Plan, tuple[StreamWindow, ...]]:
    query = preparation.read(TEXT.format(predicate=predicate))
    return preparation.compile(query, query.windows), query.windows


def test_a_plan_tells_what_it_needs_of_the_store_and_what_of_that_is_there(preparation: Preparation) -> None:
    plan, _ = compiled(preparation)
    assert {pattern.predicate for pattern in plan.statics} == {P, "<http://ex/none>"}
    assert {pattern.predicate for pattern in preparation.matching(plan)} == {P}


def test_a_file_is_the_same_as_long_as_its_content_is(preparation: Preparation, graphs: Graphs) -> None:
    plan, windows = compiled(preparation)
    written = preparation.write("q", plan, windows, None)
    graphs.version += 1
    assert preparation.write("q", plan, windows, None) == written
    graphs.version += 1
    graphs.all.append(("", "<http://ex/new>", P, S))
    changed = preparation.write("q", plan, windows, None)
    assert changed != written
    assert preparation.write("q", plan, windows, 5_000) not in (changed, written)
    assert preparation.files(plan, changed) == [changed]


def test_a_text_that_is_no_query_is_refused_where_it_is_wrong(preparation: Preparation) -> None:
    with pytest.raises(ProtocolError, match="line 2"):
        compiled(preparation, "%")
