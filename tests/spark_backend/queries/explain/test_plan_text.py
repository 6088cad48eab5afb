"""The plan of a query as text: what is there before, after and between evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import Unavailable
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.answers.answer import Answer
from spark_backend.compiler.plan import compile_query
from spark_backend.compiler.statistics import Occurrences, Statistics
from spark_backend.evaluation.step import MeasuredStatement
from spark_backend.queries.explain.plan_text import Circumstances, explain
from spark_backend.queries.measurements import Measurements
from spark_backend.site import Site, SiteChoice
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

EX = "http://ex/"
TEXT = """PREFIX ex: <http://ex/>
SELECT ISTREAM ?s ?v FROM NAMED WINDOW ex:w ON ex:s [RANGE 10s STEP 5s]
WHERE { WINDOW ex:w { ?s ex:p ?v } ?s ex:in ex:house FILTER(?v > 20) } ORDER BY ?v"""


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path, Graphs([("", f"<{EX}a>", f"<{EX}in>", f"<{EX}house>")]))
    backend.event_stream("s", EX + "s")
    yield backend
    backend.backend.stop()


def compiled(text: str = TEXT) -> ContinuousQuery:
    query = parse(text)
    assert isinstance(query, ContinuousQuery)
    return query


def explained(circumstances: Circumstances, text: str = TEXT) -> str:
    query = compiled(text)
    return explain(query, compile_query(query), circumstances)


def section(text: str, heading: str) -> list[str]:
    """The lines below a heading."""
    lines = text.split("\n")
    start = next(place for place, line in enumerate(lines) if line.startswith(heading)) + 1
    return [line[2:] for line in lines[start : lines.index("", start)]]


def test_a_query_that_never_ran_is_described_too(stepped: SteppedBackend) -> None:
    stepped.register("q", TEXT)
    text = stepped.backend.plan("q")
    assert section(text, "Evaluations") == ["not evaluated yet, since the server was started"]
    (site,) = section(text, "Site")
    assert site.startswith("DuckDB over the stream log, inside Spark's tasks: ")
    assert site.endswith("Spark SQL takes over above 8,000,000 triples (--spark-above)")
    assert [line.split() for line in section(text, "Rows")] == [
        ["estimated", "last", "evaluation"],
        ["window_0", "-"],
        ["read", "-", "-"],
        ["solutions", "-"],
        ["given", "out", "-"],
    ]


def test_after_evaluations_there_are_rows_times_and_instants(stepped: SteppedBackend) -> None:
    stepped.register("q", TEXT)
    for second in range(1, 12):
        stepped.post("s", f"<{EX}a> <{EX}p> {18 + second // 2} .", second * 1000)
        stepped.post("s", f"<{EX}b> <{EX}p> 99 .", second * 1000)
    stepped.run()
    text = stepped.backend.plan("q")
    last, usual, so_far = section(text, "Evaluations")
    assert last.startswith("last   1970-01-01T00:00:10Z, DuckDB: ")
    assert last.endswith(" ms")
    assert usual.endswith("of the last 2")
    assert so_far == "so far 2"
    heading, window, read, solutions, given_out = (line.split() for line in section(text, "Rows"))
    assert heading == ["estimated", "at", "1970-01-01T00:00:10Z", "last", "evaluation"]
    assert (window, read) == (["window_0", "20"], ["read", "20", "7"])  # a triple is in a window once
    assert (solutions, given_out) == (["solutions", "3"], ["given", "out", "3"])
    assert "the windows hold about 20 triples, not more than 8,000,000" in section(text, "Site")[0]
    assert section(text, "Windows") == [
        "window_0: <http://ex/w>, over <http://ex/s>",
        "  range PT10S, step PT5S",
        "  first opens at 1969-12-31T23:59:50Z",
        "  reports on NON_EMPTY_CONTENT and ON_WINDOW_CLOSE",
    ]
    (static,) = section(text, "Static patterns")
    assert static.startswith(f"? <{EX}in> <{EX}house> in the default graph: 1 match, static_")
    assert section(text, "Parameters") == ["c0 = 20"]
    algebra = "\n".join(section(text, "Algebra"))
    assert "OrderBy ASC(?v)" in algebra
    assert "?s ex:in ex:house ." in algebra
    assert "?s ex:p ?v .   # about 20 triples of this predicate" in algebra
    assert "?v > 20" in algebra
    assert section(text, "SQL (DuckDB)")[0] == "SELECT"


def test_measured_it_has_the_operators_of_an_evaluation_that_gives_nothing_out(stepped: SteppedBackend) -> None:
    stepped.register("q", TEXT)
    assert section(stepped.backend.plan("q", measured=True), "Operators (not measured)") == [
        "there is nothing to evaluate yet"
    ]
    for second in range(1, 12):
        stepped.post("s", f"<{EX}a> <{EX}p> {15 + second} .", second * 1000)
    stepped.run()
    told = len(stepped.notices)
    text = stepped.backend.plan("q", measured=True)
    assert "Operators (of an evaluation at 1970-01-01T00:00:10Z: tables of windows " in text
    lines = section(text, "Operators")
    assert lines[0].startswith("ORDER_BY ")
    (static,) = (line for line in lines if "main.static_" in line)
    assert "   # 1 row (" in static
    # Narrowed, where a slow machine has found the evaluation before worth it.
    of_window = [line for line in lines if ".window_" in line or ".narrowed_" in line]
    assert any(" rows (about " in line for line in of_window), "\n".join(lines)
    assert " (about " in lines[0]
    stepped.run()
    assert len(stepped.notices) == told
    assert section(text, "Evaluations") == section(stepped.backend.plan("q"), "Evaluations")
    assert "Operators" not in stepped.backend.plan("q")


def test_one_query_is_measured_at_a_time(stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    stepped.register("q", TEXT)
    for second in (1, 12):
        stepped.post("s", f"<{EX}a> <{EX}p> 30 .", second * 1000)
    stepped.run()
    measure = stepped.pipeline.measured

    def with_another_one(*asked: Any) -> MeasuredStatement:
        with pytest.raises(Unavailable, match="another query"):
            stepped.backend.plan("q", measured=True)
        return measure(*asked)

    monkeypatch.setattr(stepped.pipeline, "measured", with_another_one)
    assert "Operators (of" in stepped.backend.plan("q", measured=True)
    monkeypatch.undo()
    assert "Operators (of" in stepped.backend.plan("q", measured=True)


def test_what_spark_sql_evaluates_is_not_measured_and_that_is_said(tmp_path: Path) -> None:
    backend = SteppedBackend(tmp_path, sites=SiteChoice(Site.SPARK))
    backend.event_stream("s", EX + "s")
    backend.register("q", TEXT)
    for second in (1, 12):
        backend.post("s", f"<{EX}a> <{EX}p> 30 .", second * 1000)
    text = backend.backend.plan("q", measured=True)
    backend.backend.stop()
    assert section(text, "Operators (not measured)") == ["it is evaluated by Spark SQL"]


def test_a_pattern_without_a_match_is_said_to_be_left_out(stepped: SteppedBackend) -> None:
    stepped.graphs.set([])
    stepped.register("q", TEXT)
    assert section(stepped.backend.plan("q"), "Static patterns")[0].endswith("the default graph: no match, left out")


def test_a_replaced_query_begins_anew(stepped: SteppedBackend) -> None:
    stepped.register("q", TEXT)
    stepped.post("s", f"<{EX}a> <{EX}p> 30 .", 6000)
    stepped.backend.advance("s", 10_000)
    stepped.run()
    assert "so far 1" in stepped.backend.plan("q")
    stepped.register("q", TEXT)
    assert "not evaluated yet" in stepped.backend.plan("q")


def test_what_failed_last_is_said_and_no_rows_of_it() -> None:
    went_well = Answer(5000, b"{}\n{}", read=7, seconds=0.0042)
    failed = Answer(10_000, error="Error: it broke\nin two lines", read=9, seconds=2.5)
    measurements = Measurements().with_answer(went_well, 1).with_answer(failed, 0)
    text = explained(Circumstances(measurements=measurements))
    assert section(text, "Evaluations") == [
        "last   1970-01-01T00:00:10Z, DuckDB: failed: Error: it broke",
        "usual  4.2 ms in the median, 4.2 ms in the mean of the only one",
        "so far 2, 1 of them failed",
    ]
    assert [line.split()[-1] for line in section(text, "Rows")[2:]] == ["-", "-", "-"]


def test_the_site_is_told_with_its_reason() -> None:
    many = Circumstances(rows=[9_000_000], instant=5000)
    assert "about 9,000,000 triples, more than 8,000,000" in section(explained(many), "Site")[0]
    assert section(explained(many), "Site")[0].startswith("Spark SQL ")
    forced = Circumstances(rows=[9_000_000], instant=5000, sites=SiteChoice(Site.DUCKDB))
    assert section(explained(forced), "Site")[0].endswith("it is forced (--site duckdb)")
    always = Circumstances(sites=SiteChoice(Site.SPARK))
    assert section(explained(always), "Site")[0].endswith("it is forced (--site spark)")


def test_a_large_window_that_spark_sql_cannot_be_asked_about_is_said_to_stay_in_duckdb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "spark_backend.spark_sql.translation.plans.refusal", lambda plan, windows: "no median in Spark SQL"
    )
    text = explained(Circumstances(rows=[9_000_000], instant=5000))
    first, second = section(text, "Site")
    assert first.startswith("DuckDB ")
    assert "about 9,000,000 triples, more than 8,000,000" in first
    assert second == "not Spark SQL: no median in Spark SQL"
    assert "SQL (Spark)" not in text


def test_the_sql_is_that_of_the_site() -> None:
    by_spark = explained(Circumstances(sites=SiteChoice(Site.SPARK)), TEXT.replace("ex:p ?v", "ex:p+ ?v"))
    program = section(by_spark, "SQL (Spark)")
    assert any("until nothing is new" in line for line in program)
    assert "SQL (DuckDB)" not in by_spark
    assert "SQL (Spark)" not in explained(Circumstances())


def test_triple_patterns_are_estimated_by_the_log() -> None:
    statistics = Statistics(1000, {f"<{EX}p>": Occurrences(250, 5, 100)})
    text = explained(Circumstances(rows=[40_000], instant=5000, statistics=statistics))
    assert any(line.endswith("ex:p ?v .   # about 10,000 triples of this predicate") for line in text.split("\n"))


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (TEXT, "SELECT ISTREAM of (?s, ?v)"),
        ("ASK FROM STREAM <http://ex/s> [RANGE 1s] { ?s ?p 1 }", "ASK RSTREAM of ()"),
        ("CONSTRUCT { ?s <http://ex/q> [] } FROM STREAM <http://ex/s> [RANGE 1s] { ?s ?p 1 }", "CONSTRUCT RSTREAM"),
        ("DESCRIBE ?s FROM STREAM <http://ex/s> [RANGE 1s] { ?s ?p 1 }", "DESCRIBE RSTREAM"),
    ],
)
def test_every_form_has_a_plan(text: str, head: str) -> None:
    written = explained(Circumstances(), text)
    assert written.split("\n")[0] == head
    assert section(written, "SQL (DuckDB)")
    assert ("\nTemplate" in written) == head.startswith(("CONSTRUCT", "DESCRIBE"))


def test_a_long_chain_of_operators_has_a_plan() -> None:
    sum_of_many = "?v" + " + 1" * 300
    text = f"SELECT * FROM STREAM <http://ex/s> [RANGE 1s] {{?s ?p ?v FILTER(({sum_of_many}) > 2)}}"
    assert "SQL (DuckDB)" in explained(Circumstances(), text)
