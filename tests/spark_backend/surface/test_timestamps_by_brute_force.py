"""Any pattern with ``timestamp()`` in it gives what solutions that carry their triples give."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings, TimeKind
from protocol.time import format_instant
from spark_backend.compiler.passes import PASSES, Pass
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.statics.tables import StaticTables
from tests.spark_backend.compiler.one_shot import Graphs
from tests.spark_backend.evaluation.evaluated_log import Element, request
from tests.spark_backend.surface import witnesses as w

EX = "http://ex/"
INSTANTS = (3000, 6000, 9000)
WINDOWS = "FROM STREAM :s [RANGE 4s STEP 1s] FROM STREAM :u [RANGE 6s STEP 1s]"
WIDTHS = {"s": 4000, "u": 6000}
STATIC = [(":a", ":p", ":b"), (":c", ":q", ":a"), (":b", ":q", ":b")]


def streams(seed: int) -> dict[str, list[tuple[int, w.Triple]]]:
    """Two streams of nine seconds over few nodes, so that triples come again and in both."""
    draw = random.Random(seed)
    nodes, predicates = [":a", ":b", ":c"], [":p", ":q"]
    return {
        name: [
            (second * 1000, (draw.choice(nodes), draw.choice(predicates), draw.choice(nodes)))
            for second in range(1, 10)
            for _ in range(draw.randrange(3))
        ]
        for name in WIDTHS
    }


STREAMS = streams(7)


def absolute(s: str, p: str, o: str) -> tuple[str, str, str]:
    """A triple of prefixed names as the log has it."""
    return f"<{EX}{s[1:]}>", f"<{EX}{p[1:]}>", f"<{EX}{o[1:]}>"


def content(instant: int) -> dict[w.Triple, int | None]:
    found: dict[w.Triple, int | None] = dict.fromkeys(STATIC)
    for name, elements in STREAMS.items():
        for time, triple in elements:
            if instant - WIDTHS[name] < time <= instant:
                found[triple] = max(time, found.get(triple) or 0)
    return found


class Site:
    """The two logs, and an evaluator over them."""

    def __init__(self, root: Path) -> None:
        self._layout = Layout(root)
        self._layout.make()
        self._registry = Registry(self._layout.queries)
        self._statics = StaticTables(
            self._layout.statics, Graphs({None: " ".join(f"{s} {p} {o} ." for s, p, o in STATIC)})
        )
        for name, written in STREAMS.items():
            settings = StreamSettings(EX + name, TimeKind.EVENT, allowed_lateness=0, retention=10**9)
            log = StreamLog.open(self._layout.streams / name, settings, lambda: 0)
            elements: list[Element] = [(time, [absolute(*triple)]) for time, triple in written]
            log.append(request(elements))
            log.close()
        self._evaluator = Evaluator(root)

    def answers(self, text: str, passes: Sequence[Pass]) -> list[Counter[tuple[str | None, ...]]]:
        query = parse(f"PREFIX : <{EX}> {text}")
        assert isinstance(query, ContinuousQuery)
        plan = compile_query(query, present=lambda one: self._statics.file(one) is not None, passes=passes)
        read = tuple(replace(window, stream=window.stream.removeprefix(EX)) for window in query.windows)
        files = {one.table: file for one in plan.statics if (file := self._statics.file(one)) is not None}
        prepared = self._registry.write_prepared("q", PreparedQuery(plan, read, files))
        found = []
        for _, answer in self._evaluator.evaluate([("q", prepared, INSTANTS)]):
            assert answer.error is None, f"{text}\n{answer.error}"
            rows = map(json.loads, answer.solutions)
            found.append(Counter(tuple(row[v]["value"] if v in row else None for v in plan.variables) for row in rows))
        return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("timestamps"))


VARIABLES = ["?x", "?y", "?z"]
UNSEEN = "?w"
"""A variable of what is asked by EXISTS alone."""


def _triples(variables: Sequence[str]) -> st.SearchStrategy[w.Triple]:
    parts = st.sampled_from([*variables, *variables, ":a", ":b"])
    return st.tuples(parts, st.sampled_from([":p", ":q", ":p", "?z"]), parts)


def _conditions(variables: Sequence[str]) -> st.SearchStrategy[w.Truth]:
    named = st.sampled_from(variables)
    asked = st.one_of(named.map(lambda name: (name,)), _triples(variables))
    times = st.builds(w.Condition, asked, st.sampled_from(["<", ">", "=", "<="]), asked)
    terms = st.builds(w.Terms, named, st.sampled_from(["=", "!="]), named)
    return st.one_of(times, times, st.builds(w.Together, times, st.sampled_from(["&&", "||"]), terms))


triples = _triples(VARIABLES)
conditions = _conditions(VARIABLES)
matches = st.builds(w.Match, triples)
matches_inside = st.builds(w.Match, _triples([*VARIABLES, UNSEEN]))
conditions_inside = _conditions([*VARIABLES, UNSEEN])
inside = st.one_of(
    matches_inside,
    st.builds(w.Only, matches_inside, conditions_inside),
    st.builds(w.Only, st.builds(w.Both, matches_inside, matches_inside), conditions_inside),
    st.builds(w.Either, matches_inside, st.builds(w.Only, matches_inside, conditions_inside)),
)


def _larger(smaller: st.SearchStrategy[w.Pattern]) -> st.SearchStrategy[w.Pattern]:
    return st.one_of(
        st.builds(w.Both, smaller, smaller),
        st.builds(w.Either, smaller, smaller),
        st.builds(w.Without, smaller, smaller),
        st.builds(w.Perhaps, smaller, smaller, st.none() | conditions),
        st.builds(w.Only, smaller, conditions),
        st.builds(w.WhereThere, smaller, inside, st.booleans(), st.none() | conditions),
        st.builds(
            w.Inner,
            smaller | st.builds(w.Both, matches, matches),
            st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True).map(tuple),
            st.sampled_from(["", "DISTINCT", "GROUP BY"]),
        ),
    )


patterns = st.recursive(matches, _larger, max_leaves=4)
# Nothing but a time joins what is asked for with what it is asked of.
Y_WHERE_X_IS_OLDER = w.WhereThere(
    w.Match(("?y", ":p", "?z")), w.Only(w.Match(("?x", ":p", "?x")), w.Condition(("?x",), "<", ("?y",))), True
)
# Of the triples outside of EXISTS one has the term that is asked for there, another the time.
X_WHERE_Z_IS_NEWER = w.WhereThere(
    w.Both(w.Match(("?x", ":p", "?y")), w.Match(("?y", ":q", "?z"))),
    w.Only(
        w.Match((UNSEEN, ":p", ":b")),
        w.Together(w.Condition((UNSEEN,), "<", ("?z",)), "&&", w.Terms(UNSEEN, "!=", "?x")),
    ),
    True,
)
# Nothing joins what the sub-select is of.
X_OF_A_PRODUCT_IS_OLDER = w.Only(
    w.Both(
        w.Match(("?y", ":q", "?z")),
        w.Inner(w.Both(w.Match(("?x", ":p", ":a")), w.Match(("?z", ":p", "?y"))), ("?x", "?y"), ""),
    ),
    w.Condition(("?x",), "<", ("?y",)),
)


def agree(site: Site, pattern: w.Pattern, also: w.Asked, passes: Sequence[Pass] = PASSES) -> None:
    shown = [*((name,) for name in VARIABLES), also]
    calls = " ".join(f"({w.call(one)} AS ?t{place})" for place, one in enumerate(shown))
    text = f"SELECT ?x ?y ?z {calls} {WINDOWS} {{ {w.text(pattern)} }}"
    for instant, found in zip(INSTANTS, site.answers(text, passes), strict=True):
        expected: Counter[tuple[str | None, ...]] = Counter()
        for one in w.solutions(pattern, content(instant)):
            times = [w.timestamp(one, of) for of in shown]
            terms = [None if term is None else EX + term[1:] for term in map(one.terms.get, VARIABLES)]
            expected[(*terms, *(None if time is None else format_instant(time) for time in times))] += 1
        assert found == expected, f"{text}\nat {instant}: missing {expected - found}, surplus {found - expected}"


def test_a_query_that_asks_for_times_is_over_windows_contents_whatever_may_be_pruned() -> None:
    query = parse(
        f"PREFIX : <{EX}> SELECT ?x {WINDOWS} {{ {{ ?x :p ?y }} UNION {{ ?x :q ?z }} FILTER(timestamp(?x) = ?x) }}"
    )
    assert isinstance(query, ContinuousQuery)
    assert compile_query(query, present=lambda pattern: False, passes=()).intervals is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=patterns, also=triples)
@example(pattern=Y_WHERE_X_IS_OLDER, also=("?x",))
@example(pattern=X_WHERE_Z_IS_NEWER, also=("?x",))
@example(pattern=X_OF_A_PRODUCT_IS_OLDER, also=("?x",))
def test_any_pattern_tells_the_times_of_the_triples_its_solutions_are_made_of(
    site: Site, pattern: w.Pattern, also: w.Asked
) -> None:
    agree(site, pattern, also)


@pytest.mark.long
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pattern=st.recursive(matches, _larger, max_leaves=6),
    also=triples,
    without=st.none() | st.sampled_from([*PASSES, PASSES]),
)
def test_any_larger_pattern_does_too_with_the_compilers_passes_and_without(
    site: Site, pattern: w.Pattern, also: w.Asked, without: Pass | Sequence[Pass] | None
) -> None:
    agree(site, pattern, also, () if without is PASSES else [one for one in PASSES if one is not without])
