"""Queries of one shape are evaluated by one statement, and each has the answers it would have alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.windows.spec import StreamWindow, TimeWindow
from spark_backend.answers.answer import Answer
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.registry import PreparedQuery
from tests.spark_backend.evaluation.evaluated_log import Element, Site

XSD = "http://www.w3.org/2001/XMLSchema#"
SUBJECTS = [f"<http://ex/{name}>" for name in "abc"]
NUMBERS = [f'"{number}"^^<{XSD}integer>' for number in range(4)]
VALUES = [*NUMBERS, f'"1.5"^^<{XSD}decimal>', f'"2.0"^^<{XSD}double>', '"1"', *SUBJECTS]
SHAPES = (
    "SELECT * {{ GRAPH <http://ex/w> {{ {s} <http://ex/p> ?v }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s <http://ex/p> {v} }} }}",
    "SELECT ?s (AVG(?v) AS ?n) {{ GRAPH <http://ex/w> {{ ?s <http://ex/p> ?v }} FILTER(?v >= {n}) }} GROUP BY ?s",
    "SELECT (AVG(?v) AS ?m) (COUNT(*) AS ?n) {{ GRAPH <http://ex/w> {{ {s} <http://ex/p> ?v }} }}",
    "SELECT ?s {{ GRAPH <http://ex/w> {{ ?s <http://ex/p> ?v }} }} GROUP BY ?s HAVING(SUM(?v) > {n})",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s <http://ex/p> ?v OPTIONAL {{ ?s <http://ex/q> ?o FILTER(?o != {n}) }} }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v OPTIONAL {{ {s} <http://ex/q> ?o }} }} }} ORDER BY ?v LIMIT 3",
    "SELECT * {{ GRAPH <http://ex/w> {{ {{ ?s <http://ex/p> {v} }} UNION {{ {s} <http://ex/q> ?v }} }} }}",
    "SELECT DISTINCT ?v {{ GRAPH <http://ex/w> {{ ?s ?p ?v MINUS {{ ?s <http://ex/q> {v} }} }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v FILTER(?v = {v} || ?s != {s} && ?v < {n}) }} }} ORDER BY ?s",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v {{ SELECT ?s {{ ?s ?q {n} }} LIMIT 1 }} }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ {s} (<http://ex/p>|<http://ex/q>)+ ?v }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s (<http://ex/p>|^<http://ex/q>)* {v} }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v FILTER EXISTS {{ ?s <http://ex/q> {v} }} }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v FILTER(?v > {n} || EXISTS {{ {s} ?q ?y FILTER(?y = ?v) }}) }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v OPTIONAL {{ {s} ?q ?w FILTER NOT EXISTS {{ ?v ?y ?w }} }} }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v BIND(RAND() AS ?r) FILTER(?r > 0.3 && ?v != {v}) }} }}",
    "SELECT * {{ GRAPH <http://ex/w> {{ ?s ?p ?v BIND(?v + 1 AS ?w) FILTER(?w > {n}) }} }}",
)

_triples = st.tuples(
    st.sampled_from(SUBJECTS), st.sampled_from(["<http://ex/p>", "<http://ex/q>"]), st.sampled_from(VALUES)
)
_elements = st.lists(st.tuples(st.integers(1, 30), st.lists(_triples, max_size=4)), max_size=10)
_constants = st.fixed_dictionaries(
    {"s": st.sampled_from(SUBJECTS), "n": st.sampled_from(NUMBERS), "v": st.sampled_from(NUMBERS)}
)
_instants = st.lists(st.integers(1, 35), min_size=1, max_size=5, unique=True).map(sorted)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def together(site: Site, due: list[tuple[str, str, list[int]]]) -> dict[str, list[Answer]]:
    answers: dict[str, list[Answer]] = {key: [] for key, _, _ in due}
    for key, answer in site.evaluator.evaluate(due):
        answers[key].append(answer)
    return {key: sorted(some, key=lambda answer: answer.instant) for key, some in answers.items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    _elements,
    st.sampled_from(SHAPES),
    st.lists(st.tuples(_constants, _instants), min_size=2, max_size=4),
)
def test_each_has_the_answers_it_has_alone(
    elements: list[Element], shape: str, queries: list[tuple[dict[str, str], list[int]]]
) -> None:
    with TemporaryDirectory() as directory:
        site = Site(Path(directory))
        site.append(elements)
        due = [
            (f"q{number}", site.prepare(f"q{number}", shape.format(**constants), TimeWindow(10, 5, 0)), instants)
            for number, (constants, instants) in enumerate(queries)
        ]
        alone = {key: site.answers(name, instants) for key, name, instants in due}
        assert all(answer.error is None for answers in alone.values() for answer in answers)
        assert together(site, due) == alone
        site.close()


def statements(site: Site, monkeypatch: pytest.MonkeyPatch, due: list[tuple[str, str, list[int]]]) -> int:
    """How many answering statements an evaluation runs."""
    count = 0
    evaluated = Evaluator._together

    def counted(self: Evaluator, *arguments: Any) -> object:
        nonlocal count
        count += 1
        return evaluated(self, *arguments)

    monkeypatch.setattr(Evaluator, "_together", counted)
    together(site, due)
    return count


def test_fifty_queries_that_differ_in_constants_are_one_statement(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    window = TimeWindow(10, 5, 0)
    due = [(f"q{n}", site.prepare(f"q{n}", SHAPES[2].format(n=n), window), [10, 15]) for n in range(50)]
    assert statements(site, monkeypatch, due) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT * { GRAPH <http://ex/w> { ?s <http://ex/p> ?v } }", "SELECT * { GRAPH <http://ex/w> { ?s ?p ?v } }"),
        (
            "SELECT * { GRAPH <http://ex/w> { ?s ?p ?v FILTER(?v > 1) } }",
            "SELECT * { GRAPH <http://ex/w> { ?s ?p ?v FILTER(?v > 1.0) } }",
        ),
        (
            "SELECT ?s { GRAPH <http://ex/w> { ?s ?p ?v } } LIMIT 1",
            "SELECT ?s { GRAPH <http://ex/w> { ?s ?p ?v } } LIMIT 2",
        ),
        ("SELECT ?a { GRAPH <http://ex/w> { ?a ?p 1 } }", "SELECT ?b { GRAPH <http://ex/w> { ?b ?p 1 } }"),
        (
            "SELECT * { GRAPH <http://ex/w> { ?s ?p ?v FILTER(regex(str(?v), 'a')) } }",
            "SELECT * { GRAPH <http://ex/w> { ?s ?p ?v FILTER(regex(str(?v), 'b')) } }",
        ),
    ],
    ids=["predicates", "kinds of numbers", "limits", "names of variables", "arguments of functions"],
)
def test_queries_that_differ_in_more_are_not(
    site: Site, monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:  # fmt: skip
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    window = TimeWindow(10, 5, 0)
    due = [(key, site.prepare(key, text, window), [10]) for key, text in (("one", one), ("other", other))]
    assert statements(site, monkeypatch, due) == 2


def test_queries_of_other_windows_are_evaluated_apart(site: Site) -> None:
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    text = SHAPES[0].format(s=SUBJECTS[0])
    narrow, wide = site.prepare("n", text, TimeWindow(2, 1, 0)), site.prepare("w", text, TimeWindow(10, 1, 0))
    answers = together(site, [("n", narrow, [8]), ("w", wide, [8])])
    assert {key: len(some[0].solutions) for key, some in answers.items()} == {"n": 0, "w": 1}


def test_an_evaluation_that_fails_takes_no_other_down(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    window = TimeWindow(10, 10, 0)
    due = [(f"q{n}", site.prepare(f"q{n}", SHAPES[2].format(n=n), window), [10, 20]) for n in range(3)]
    evaluated = Evaluator._together

    def failing(self: Evaluator, members: list[Any], instants: tuple[int, ...]) -> object:
        if 20 in instants and any(key == "q1" for key, _ in members):
            raise duckdb.OutOfMemoryException("too much")
        return evaluated(self, members, instants)

    monkeypatch.setattr(Evaluator, "_together", failing)
    answers = together(site, due)
    failed = [(key, answer.instant) for key, some in answers.items() for answer in some if answer.error]
    assert failed == [("q1", 20)]
    assert [len(answers[key][0].solutions) for key in ("q0", "q1", "q2")] == [1, 1, 1]


def test_the_blank_nodes_of_two_queries_of_one_shape_are_different(site: Site) -> None:
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    text = "CONSTRUCT {{ [] <http://ex/v> ?v }} WHERE {{ GRAPH <http://ex/w> {{ ?s ?p ?v FILTER(?v > {n}) }} }}"
    names = [site.prepare(f"q{n}", text.format(n=n), TimeWindow(10, 10, 0), Form.CONSTRUCT) for n in range(2)]
    answers = together(site, [(f"q{n}", name, [10]) for n, name in enumerate(names)])
    assert len({answers[key][0].triples[0] for key in answers}) == 2


def test_described_resources_are_solutions_with_their_descriptions(site: Site) -> None:
    # A window that is the default graph: DESCRIBE looks nowhere else.
    window = TimeWindow(10, 10, 0)
    member = StreamWindow("s", window, None, False)
    due = []
    for key, predicate in (("one", "p"), ("other", "q")):
        text = f"DESCRIBE ?s {{ ?s <http://ex/{predicate}> ?v FILTER(?v > 0) }}"
        plan = compile_query(
            ContinuousQuery(text, read_query(text), Form.DESCRIBE, R2S.RSTREAM, (member,)), present=lambda _: False
        )
        due.append((key, site.registry.write_prepared(key, PreparedQuery(plan, (member,), {})), [10, 20]))
    a, b = SUBJECTS[:2]
    triples = [(a, "<http://ex/p>", NUMBERS[1]), (a, "<http://ex/q>", b), (b, "<http://ex/p>", NUMBERS[2])]
    site.append([(3, triples), (12, [(b, "<http://ex/q>", NUMBERS[3])])])
    answers = together(site, due)
    lines = [" ".join(triple) + " ." for triple in triples]
    assert [answer.triples for answer in answers["one"]] == [["\n".join(lines[:2]), lines[2]], []]
    assert [len(answer.solutions) for answer in answers["one"]] == [2, 0]
    assert [answer.triples for answer in answers["other"]] == [[], [f"{b} <http://ex/q> {NUMBERS[3]} ."]]


def test_the_time_of_what_is_evaluated_together_is_shared_equally(site: Site) -> None:
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    window = TimeWindow(10, 5, 0)
    due = [(f"q{n}", site.prepare(f"q{n}", SHAPES[2].format(n=n), window), [10, 15, 20]) for n in range(4)]
    began = perf_counter()
    answers = [answer for some in together(site, due).values() for answer in some]
    took = perf_counter() - began
    (share,) = {answer.seconds for answer in answers}
    assert len(answers) == 12
    assert 0 < share * 12 <= took


def test_each_evaluation_says_how_long_it_took_also_one_that_fails(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.append([(5, [(SUBJECTS[0], "<http://ex/p>", NUMBERS[2])])])
    due = [(f"q{n}", site.prepare(f"q{n}", SHAPES[2].format(n=n), TimeWindow(10, 10, 0)), [10]) for n in range(3)]
    evaluated = Evaluator._together

    def failing(self: Evaluator, members: list[Any], instants: tuple[int, ...]) -> object:
        if any(key == "q1" for key, _ in members):
            raise duckdb.OutOfMemoryException("too much")
        return evaluated(self, members, instants)

    monkeypatch.setattr(Evaluator, "_together", failing)
    seconds = {key: answer.seconds for key, (answer,) in together(site, due).items()}
    assert min(seconds[key] for key in ("q0", "q1", "q2")) > 0
