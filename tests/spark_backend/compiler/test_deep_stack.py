"""How deep and how long a query may be: what is within the limits of the grammar is compiled, or refused."""

from __future__ import annotations

import sys
import threading
from functools import cache

import duckdb
import pytest

from protocol.errors import UnsupportedFeature
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.deep_stack import with_deep_stack
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.compiler.shape_statement import nesting
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.compiler.sql.tree.nodes import named


def descended(levels: int) -> int:
    return 0 if levels == 0 else 1 + descended(levels - 1)


def query(group: str) -> ContinuousQuery:
    found = parse(f"PREFIX : <http://ex/> SELECT * FROM STREAM :s [RANGE 10s] {{ ?s :p ?o {group} }}")
    assert isinstance(found, ContinuousQuery)
    return found


@cache
def compiled(group: str) -> Plan:
    return compile_query(query(group))


@cache
def parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def test_work_has_the_whole_limit_however_deep_the_caller_is() -> None:
    levels = sys.getrecursionlimit() - 100

    def deep(calls: int) -> int:
        return deep(calls - 1) if calls else with_deep_stack(lambda: descended(levels))

    assert deep(levels // 2) == levels


def test_what_recurses_deeper_is_refused_and_what_is_raised_is_raised_to_the_caller() -> None:
    with pytest.raises(UnsupportedFeature, match="nests too deeply"):
        with_deep_stack(lambda: descended(200_000))
    with pytest.raises(ValueError, match="invalid literal"):
        with_deep_stack(lambda: int("x"))


LONG_AND_DEEP = [
    "{" * 90 + "?s :q ?v" + "}" * 90,
    "FILTER(" + "(" * 90 + "?o" + ")" * 90 + " > 1)",
    "FILTER(" + "STR(" * 90 + "?o" + ")" * 90 + " = 'x')",
    "FILTER(?o" + " + 1" * 300 + " > 1)",
    "FILTER(" + "!" * 300 + "?o)",
    "FILTER(" + " && ".join(f"?o > {number}" for number in range(600)) + ")",
    "FILTER(" + " || ".join(f"?o = {number}" for number in range(200)) + ")",
    " ".join(f"FILTER(?o > {number})" for number in range(600)),
    "".join(f"OPTIONAL {{ ?s :q{number} ?v{number} " for number in range(50)) + "}" * 50,
    "".join(f"OPTIONAL {{ ?s :q{number} ?v{number} }} " for number in range(90)),
    " UNION ".join(f"{{ ?s :q ?v{number} }}" for number in range(100)),
    "FILTER EXISTS { ?s :p ?o " * 40 + "}" * 40,
    ". ?s " + "(" * 90 + ":q" + ")*" * 90 + " ?v",
    "{ SELECT ?s { " * 40 + "?s :q ?v" + " } }" * 40,
    "".join(f"MINUS {{ ?s :q {number} ; :r ?v }} " for number in range(60)),
    "".join(f"FILTER NOT EXISTS {{ ?s :q {number} ; :r ?v }} " for number in range(60)),
    "FILTER(" + " || ".join(f"EXISTS {{ ?s :q {number} ; :r ?v }}" for number in range(40)) + ")",
    "BIND(?o AS ?v0) " + " ".join(f"BIND(?v{number} + {number} AS ?v{number + 1})" for number in range(60)),
]


@pytest.mark.parametrize("group", LONG_AND_DEEP)
def test_long_and_deep_queries_are_compiled(group: str) -> None:
    assert compiled(group).variables[0] == "s"


@pytest.mark.parametrize("group", LONG_AND_DEEP)
def test_duckdb_counts_less_than_ten_levels_from_one_parenthesis_to_the_next(group: str) -> None:
    text = named(compiled(group).sql)
    parser().execute(f"SET max_expression_depth TO {10 * max(1, nesting(text))}")
    assert parser().extract_statements(text)


@pytest.mark.parametrize(
    "group",
    [
        "FILTER(?o" + " + 1" * 1_900 + " > 1)",
        "FILTER(" + "!" * 1_900 + "?o)",
        "{ ?s :q ?v } UNION " * 600 + "{ ?s :q ?v }",
        "OPTIONAL { ?s :q ?v } " * 900,
        "BIND(?o AS ?v) OPTIONAL { ?s :q ?w } MINUS { ?s :q ?w } " + "{ ?s :r ?w } " * 900,
    ],
)
def test_what_is_deeper_than_what_compiles_is_refused_with_a_place(group: str) -> None:
    with pytest.raises(UnsupportedFeature, match="too deeply") as refused:
        compile_query(query(group))
    assert refused.value.line == 1


def test_two_threads_compile_at_once() -> None:
    """Each waits in the midst of it for the other."""
    met = threading.Barrier(2, timeout=60)
    plans: dict[int, Plan] = {}

    def compiled(number: int) -> None:
        waited: list[int] = []

        def present(_: StaticPattern) -> bool:
            if not waited:
                waited.append(met.wait())
            return True

        plans[number] = compile_query(query(f"FILTER(?o > {number}) OPTIONAL {{ ?s :q{number} ?v }}"), present=present)

    threads = [threading.Thread(target=compiled, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not met.broken
    assert plans[1].shape != plans[2].shape
    for number, plan in plans.items():
        alone = compile_query(query(f"FILTER(?o > {number}) OPTIONAL {{ ?s :q{number} ?v }}"))
        assert (plan.shape, plan.parameters) == (alone.shape, alone.parameters)


def test_two_threads_read_texts_at_once() -> None:
    texts = [f"SELECT * FROM STREAM <u:s> [RANGE {n}s] {{ _:b <u:p> ?x FILTER(?x > {n}) }}" for n in range(1, 60)]
    alone = [parse(text) for text in texts]
    found: dict[int, list[object]] = {}

    def read(number: int) -> None:
        found[number] = [parse(text) for text in texts]

    threads = [threading.Thread(target=read, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: alone, 1: alone}


def test_a_long_chain_of_binds_is_refused_before_its_sql_fills_the_memory() -> None:
    binds = " ".join(f"BIND(?v{number} + 1 AS ?v{number + 1})" for number in range(250))
    with pytest.raises(UnsupportedFeature, match=r"too many expressions.*line 1"):
        compile_query(query(f"BIND(?o AS ?v0) {binds}"))
