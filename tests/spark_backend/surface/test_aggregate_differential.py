"""C-SPARQL's AGGREGATE against Oxigraph: by section 3.1, the join of a pattern with the aggregates of its groups."""

from __future__ import annotations

import itertools

import pytest

from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions


def content(values: str) -> Content:
    return Content(
        {
            None: f":a :p 1 , {values} ; :in :r , :s . :b :p 3e0 ; :in :r . :c :p 4 , 0.5 ; :in :s . :d :in :t .",
            "http://ex/w": ":a :p 7 ; :in :r . :e :p 7 , 8 ; :in :u .",
        },
        {None: ":a :p 10 . :e :in :r ."},
    )


CONTENT, NUMBERS = content("'x' , 2.5"), content("2.5")
"""Which of a string and a number is the greater one SPARQL leaves open."""
PATTERNS = ["?x :p ?v ; :in ?k", "?x :in ?k OPTIONAL { ?x :p ?v }", "GRAPH :w { ?x :p ?v ; :in ?k }"]
FUNCTIONS = ["COUNT-ALL", "COUNT", "SUM", "AVG", "MIN", "MAX"]
KEYS = ["?k", "?x", "?k ?x"]


def clause(function: str, keys: str, new: str) -> str:
    written = "COUNT" if function == "COUNT-ALL" else f"{function}(?v)"
    return f"({new}, {written}, {{{', '.join(keys.split())}}})"


def joined(function: str, keys: str, new: str, pattern: str) -> str:
    called = "COUNT(*)" if function == "COUNT-ALL" else f"{function}(?v)"
    return f"{{ SELECT {keys} ({called} AS {new}) {{ {pattern} }} GROUP BY {keys} }}"


@pytest.mark.parametrize(("pattern", "function"), list(itertools.product(PATTERNS, FUNCTIONS)))
def test_each_solution_has_the_aggregate_of_its_group(pattern: str, function: str) -> None:
    for keys in KEYS:
        text = f"SELECT * {{ {pattern} }} AGGREGATE {{ {clause(function, keys, '?n')} }}"
        oracle = f"SELECT * {{ {{ {pattern} }} {joined(function, keys, '?n', pattern)} }}"
        assert_same_solutions(text, NUMBERS if function in ("MIN", "MAX") else CONTENT, oracle=oracle)


def test_several_clauses_and_their_filters_are_over_the_same_solutions() -> None:
    pattern = PATTERNS[0]
    clauses = f"{clause('COUNT-ALL', '?k', '?n')} {clause('COUNT', '?x', '?m')} FILTER(?n > 1) FILTER(?m < ?n)"
    groups = f"{joined('COUNT-ALL', '?k', '?n', pattern)} {joined('COUNT', '?x', '?m', pattern)}"
    assert_same_solutions(
        f"SELECT * {{ {pattern} }} AGGREGATE {{ {clauses} }}",
        CONTENT,
        oracle=f"SELECT * {{ {{ {pattern} }} {groups} FILTER(?n > 1) FILTER(?m < ?n) }}",
    )


def test_it_may_be_ordered_cut_and_grouped_again() -> None:
    pattern = PATTERNS[0]
    for head, tail in (("?x ?n", "ORDER BY DESC(?n) ?x LIMIT 2"), ("?n (COUNT(*) AS ?c)", "GROUP BY ?n")):
        assert_same_solutions(
            f"SELECT {head} {{ {pattern} }} AGGREGATE {{ {clause('COUNT-ALL', '?x', '?n')} }} {tail}",
            CONTENT,
            ordered="ORDER" in tail,
            oracle=f"SELECT {head} {{ {{ {pattern} }} {joined('COUNT-ALL', '?x', '?n', pattern)} }} {tail}",
        )
