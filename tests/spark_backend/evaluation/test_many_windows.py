"""Many due windows in one evaluation give what one at a time gives, whatever is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from protocol.errors import QuerySyntaxError
from protocol.windows.spec import CountWindow, StreamWindow, TimeWindow, Unit
from spark_backend.compiler.plan import compile_query
from spark_backend.registry import PreparedQuery
from tests.spark_backend.compiler.generated.queries import constructs, ordered_queries, queries
from tests.spark_backend.compiler.generated.terms import graphs
from tests.spark_backend.compiler.one_shot import Content, continuous, turtle
from tests.spark_backend.evaluation.evaluated_log import Element, Site

WINDOWS = (
    StreamWindow("s", TimeWindow(10, 5, 0), None, False),
    StreamWindow("s", TimeWindow(7, 3, -1), "http://ex/w1", True),
    StreamWindow("s", CountWindow(4, Unit.TRIPLES, 1), "http://ex/w2", True),
)

_elements = st.lists(st.tuples(st.integers(1, 30), graphs.map(turtle)), max_size=6)
_instants = st.lists(st.integers(1, 36), min_size=2, max_size=6, unique=True).map(sorted)


def answered_alike(text: str, elements: list[Element], instants: list[int]) -> None:
    try:
        query = replace(continuous(text, Content({})), windows=WINDOWS)
        plan = compile_query(query, present=lambda _: False)
    except QuerySyntaxError:  # BIND of a variable already in scope, and the like
        assume(False)
    with TemporaryDirectory() as directory:
        site = Site(Path(directory))
        site.append(elements)
        name = site.registry.write_prepared("q", PreparedQuery(plan, WINDOWS, {}))
        together = site.answers(name, instants)
        assert together == [answer for instant in instants for answer in site.answers(name, [instant])]
        assert [answer.error for answer in together] == [None] * len(instants)
        site.close()


_asked = st.one_of(queries, queries, ordered_queries, constructs)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=12, deadline=None, suppress_health_check=SLOW)
@given(_asked, _elements, _instants)
def test_many_windows_at_once_give_what_each_gives_alone(
    text: str, elements: list[Element], instants: list[int]
) -> None:
    answered_alike(text, elements, instants)


@pytest.mark.long
@settings(max_examples=1000, deadline=None, suppress_health_check=SLOW)
@given(_asked, _elements, _instants)
def test_many_windows_of_many_queries_give_what_each_gives_alone(
    text: str, elements: list[Element], instants: list[int]
) -> None:
    answered_alike(text, elements, instants)
