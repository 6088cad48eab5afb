"""Windows joined with large graphs: what narrows what changes no answer, and nothing is joined many to many before.

That is told by rows, not by time: no operator has more of them than the largest pattern has matches.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import duckdb
import pytest

from protocol.terms import facets
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.nodes import named
from spark_backend.compiler.sql.values import has_value_key, number_of
from spark_backend.evaluation import evaluator, narrowing
from tests.benchmarks.join_orders.asked import WorldSite
from tests.benchmarks.join_orders.worlds import (
    EX,
    FIRST,
    PARKING,
    STEP,
    TYPE,
    Queries,
    World,
    iri,
    make_world,
    parking_world,
)

_LIMIT = 60.0
_TOO_MUCH = 3.0
"""Seconds of an instant, of which those that are compared take half a one at the most; two would take minutes."""
XSD = "http://www.w3.org/2001/XMLSchema#"


def has_key(term: str) -> bool:
    """Whether values of its kind have keys."""
    kind, number = facets(term)
    columns = sql.number(kind), number_of(number)
    ((found,),) = duckdb.execute(f"SELECT {named(has_value_key(*columns).written)}").fetchall()
    return bool(found)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in (4, 5))])
def test_random_joins_have_the_answers_that_oxigraph_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    if seed % 2:
        # Of small graphs, everything is narrowed that a few rows can be narrowed by.
        monkeypatch.setattr(narrowing, "WORTH", 1)
        monkeypatch.setattr(narrowing, "WORTH_OF_SEVERAL", 1)
    else:  # what is not narrowed is stopped soon, and made anew
        monkeypatch.setattr(evaluator, "_SECONDS", 0.0)
        monkeypatch.setattr(evaluator, "_ROWS_A_SECOND", 1e9)
    monkeypatch.setattr(narrowing, "AGAIN", 1)
    random = Random(seed)
    instants = [FIRST, FIRST + STEP, FIRST + 2 * STEP]
    world = make_world(random, most=1500, instants=len(instants))
    site = WorldSite(tmp_path, world)
    queries = Queries(world, instants[-1])
    asked = 0
    for text in (queries.make(random) for _ in range(5)):
        theirs = site.oxigraph(text, instants, _TOO_MUCH)
        if theirs is not None and max(found.total() for found in theirs[1].values()) < 2000:
            assert site.ours(text, instants, _LIMIT)[1] == theirs[1], text
            asked += 1
    site.close()
    assert asked


def test_types_of_a_repository_are_not_joined_many_to_many(tmp_path: Path) -> None:
    """Two types of 12,645 triples each in one SELECT: what a window holds is asked of them first."""
    instants = [FIRST + STEP * place for place in range(16)]
    site = WorldSite(tmp_path, parking_world(len(instants)))
    _, ours = site.ours(PARKING, instants, _LIMIT)
    theirs = site.oxigraph(PARKING, instants, _LIMIT)
    rows = site.most_rows(PARKING, instants, _LIMIT)
    site.close()
    assert theirs is not None
    assert ours == theirs[1]
    assert theirs[1][instants[-1]].total() > 0
    assert rows <= 12_645


def _rows_of_one_solution(site: WorldSite, text: str) -> int:
    """How many rows an operator has at the most, of a query with one solution, which is Oxigraph's."""
    _, ours = site.ours(text, [FIRST], _LIMIT)
    rows = site.most_rows(text, [FIRST], _LIMIT)
    theirs = site.oxigraph(text, [FIRST], _LIMIT)
    site.close()
    assert ours is not None
    assert theirs is not None
    assert ours == theirs[1]
    assert ours[FIRST].total() == 1
    return rows


def _rows_of_no_solution(site: WorldSite, text: str) -> int:
    """How many rows an operator has at the most, of a query that has no solution."""
    _, ours = site.ours(text, [FIRST], _LIMIT)
    rows = site.most_rows(text, [FIRST], _LIMIT)
    site.close()
    assert ours == {FIRST: {}}
    return rows


def test_a_hub_of_the_store_is_joined_with_what_asks_for_it(tmp_path: Path) -> None:
    """A subject with 2,000 objects of two predicates each: four million rows, of which the window asks for one."""
    hub = [(iri("hub"), iri(name), iri(f"{name}{place}")) for name in ("p", "q") for place in range(2000)]
    small = [(iri("e"), iri("p"), iri("p7")), (iri("e"), iri("q"), iri("q8"))]
    streamed = ((1, (iri("o"), iri("of"), iri("e"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: [*hub, *small]}))
    text = f"SELECT * {{ GRAPH <{EX}w> {{ ?o {iri('of')} ?e }} ?e {iri('p')} ?p . ?e {iri('q')} ?q }}"
    assert _rows_of_one_solution(site, text) <= 2000


@pytest.mark.parametrize("asked", ["FILTER EXISTS", "FILTER NOT EXISTS", "MINUS"])
def test_what_meets_only_in_the_solutions_it_is_asked_of_is_not_multiplied(tmp_path: Path, asked: str) -> None:
    """Two patterns with 8,000 matches each, of which the window asks for one pair at a time."""
    hubs = [(iri(f"{name}{place}"), iri(name), iri(f"{name}hub")) for name in ("p", "q") for place in range(8000)]
    levels = [(subject, iri("level"), iri(f"{subject[1:-1]}l")) for subject, _, _ in hubs]
    streamed = tuple(
        (1, triple)
        for place, other in enumerate(("qhub", "none"))
        for triple in ((iri(f"o{place}"), iri("of"), iri("phub")), (iri(f"o{place}"), iri("by"), iri(other)))
    )
    site = WorldSite(tmp_path, World(((None, streamed),), {None: [*hubs, *levels]}))
    inside = f"?a {iri('p')} ?x . ?a {iri('level')} ?c . ?b {iri('q')} ?y . ?b {iri('level')} ?d"
    text = f"SELECT * {{ ?o {iri('of')} ?x . ?o {iri('by')} ?y {asked} {{ {inside} }} }}"
    _, ours = site.ours(text, [FIRST], _LIMIT)
    rows = site.most_rows(text, [FIRST], _LIMIT)
    site.close()
    assert ours is not None
    ((found, times),) = ours[FIRST].items()
    assert times == 1
    assert ("qhub" in found) == (asked == "FILTER EXISTS")
    assert rows <= 16_000


def test_what_exists_for_no_solution_keeps_what_it_is_asked_of_from_being_joined(tmp_path: Path) -> None:
    """A hub of 300 triples in four patterns: eight thousand million solutions, of which nothing is to be left."""
    hub = [(iri(f"e{place}"), iri("tag"), iri("hub")) for place in range(300)]
    streamed = ((1, (iri("o"), iri("tag"), iri("hub"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: hub}))
    patterns = " ".join(f"?{name} {iri('tag')} ?h ." for name in "abcd")
    window, never = f"GRAPH <{EX}w> {{ ?o {iri('tag')} ?h }}", f"{iri('e7')} {iri('tag')} {iri('hub')}"
    text = f"SELECT * {{ {window} {patterns} FILTER NOT EXISTS {{ {never} }} }}"
    assert _rows_of_no_solution(site, text) <= 300


@pytest.mark.parametrize(
    "asked",
    [
        f"NOT EXISTS {{ {iri('e7')} {iri('tag')} ?h FILTER(?a != ?h) }}",
        f"NOT EXISTS {{ ?a {iri('tag')} ?h }} || ?a = ?h",
    ],
)
def test_what_is_asked_of_each_match_of_one_pattern_is_asked_before_it_is_joined(tmp_path: Path, asked: str) -> None:
    """A hub of 300 triples in three patterns: 27 million solutions, of which nothing is to be left."""
    hub = [(iri(f"e{place}"), iri("tag"), iri("hub")) for place in range(300)]
    streamed = ((1, (iri("o"), iri("tag"), iri("hub"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: hub}))
    patterns = " ".join(f"?{name} {iri('tag')} ?h ." for name in "abc")
    text = f"SELECT * {{ GRAPH <{EX}w> {{ ?o {iri('tag')} ?h }} {patterns} FILTER({asked}) }}"
    assert _rows_of_no_solution(site, text) <= 300


def test_what_only_a_path_connects_is_not_multiplied(tmp_path: Path) -> None:
    """3,000 labels, and 3,000 that the window asks for: nine million pairs, of which a path leads to one each."""
    names = [(iri(f"e{place}"), iri("label"), f'"{place}"') for place in range(3000)]
    asked = [(iri(f"o{place}"), iri("of"), iri("hub")) for place in range(3000)]
    rooms = [(iri(f"o{place}"), iri("in"), iri(f"e{place}")) for place in range(3000)]
    streamed = ((1, (iri("o"), iri("by"), iri("hub"))),)
    site = WorldSite(tmp_path, World(((None, streamed),), {None: [*names, *asked, *rooms]}))
    text = f"SELECT * {{ ?o {iri('by')} ?h . ?p {iri('of')} ?h . ?p {iri('in')}+ ?e . ?e {iri('label')} ?l }}"
    _, ours = site.ours(text, [FIRST], _LIMIT)
    rows = site.most_rows(text, [FIRST], _LIMIT)
    site.close()
    assert ours is not None
    assert ours[FIRST].total() == 3000
    assert rows <= 3000


def test_what_a_third_pattern_joins_is_not_multiplied_before_that(tmp_path: Path) -> None:
    """Two graphs of some thousand triples of one type: nothing joins one with the window but by way of the other."""
    few = [(iri(f"k{place}"), iri("knows"), iri("e")) for place in range(50)]
    graphs = {
        None: [(iri(f"c{place}"), TYPE, iri("T")) for place in range(4000)],
        f"{EX}g": [(iri(f"b{place}"), TYPE, iri("T")) for place in range(5000)]
        + [*few, *((subject, TYPE, iri("T")) for subject, _, _ in few)],
    }
    streamed = ((1, (iri("o"), iri("by"), iri("e"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), graphs))
    window = f"GRAPH <{EX}w> {{ ?o {iri('by')} ?e }}"
    graph = f"GRAPH <{EX}g> {{ ?k {iri('knows')} ?e . ?k {TYPE} ?t . ?b {TYPE} ?t }}"
    text = f"SELECT * {{ {window} {graph} ?c {TYPE} ?t FILTER(?t < ?o) }}"
    assert _rows_of_no_solution(site, text) <= 9050


@pytest.mark.parametrize(
    "rest",
    [
        # What both alternatives match is narrowed where it is matched.
        f"{{ ?a {TYPE} ?t . ?b {TYPE} ?t }} UNION {{ ?a {TYPE} ?t . ?b {TYPE} ?t . ?b {iri('none')} ?n }}",
        f"?a {iri('next')}?/{TYPE} ?t . ?b {TYPE} ?t",
        f"?a {TYPE} ?t . ?b {TYPE} ?u FILTER(sameTerm(?t, ?u))",
        f"?a {TYPE} ?t . ?b {TYPE} ?t . ?t ?q ?t",
        f"{iri('d')} {iri('after')}+ ?a . ?a {TYPE} ?u . ?b {TYPE} ?u",
    ],
    ids=["union", "step or none", "same term", "of itself", "path from a node"],
)
def test_products_over_a_type_are_of_what_is_asked_for(tmp_path: Path, rest: str) -> None:
    """3,000 of a type beside one of another: nine million pairs, of which the window asks for one."""
    hub = [(iri(f"e{place}"), TYPE, iri("hub")) for place in range(3000)]
    small = [
        (iri("e"), TYPE, iri("rare")),
        (iri("rare"), iri("in"), iri("rare")),
        (iri("d"), iri("after"), iri("e")),
    ]
    streamed = ((1, (iri("o"), iri("of"), iri("rare"))), (1, (iri("p"), iri("next"), iri("q"))))
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: [*hub, *small]}))
    text = f"SELECT * {{ GRAPH <{EX}w> {{ ?o {iri('of')} ?t }} {rest} }}"
    assert _rows_of_one_solution(site, text) <= 3_001


def test_where_one_pattern_has_no_match_nothing_is_joined(tmp_path: Path) -> None:
    """A hub of 3,000 triples in two patterns, and a window that holds nothing that the last pattern asks for."""
    hub = [(iri(f"e{place}"), TYPE, iri("hub")) for place in range(3000)]
    streamed = ((1, (iri("o"), iri("of"), iri("hub"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: hub}))
    text = f"SELECT * {{ GRAPH <{EX}w> {{ ?o {iri('of')} ?t . ?x {iri('by')} ?y }} ?a {TYPE} ?t . ?b {TYPE} ?t }}"
    _, ours = site.ours(text, [FIRST], _LIMIT)
    rows = site.most_rows(text, [FIRST], _LIMIT)
    _, counted = site.ours(text.replace("*", "(COUNT(*) AS ?n)"), [FIRST], _LIMIT)
    site.close()
    assert ours == {FIRST: {}}
    assert rows <= 3_000
    assert counted is not None
    assert counted[FIRST].total() == 1


@pytest.mark.parametrize("condition", ["?t != ?t", "?t IN (1, 2)"])
def test_a_condition_of_one_pattern_is_asked_before_it_is_joined(tmp_path: Path, condition: str) -> None:
    """3,000 with the same value in three patterns: 27 thousand million solutions without the condition."""
    hub = [(iri(f"e{place}"), iri("level"), iri("hub")) for place in range(3000)]
    streamed = ((1, (iri("o"), iri("level"), iri("hub"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: hub}))
    patterns = " ".join(f"?{name} {iri('level')} ?t ." for name in "abc")
    text = f"SELECT * {{ GRAPH <{EX}w> {{ ?o {iri('level')} ?t }} {patterns} FILTER({condition}) }}"
    assert _rows_of_no_solution(site, text) <= 3_000


_LEVELS = [
    *(
        f'"{lexical}"^^<{XSD}{datatype}>'
        for datatype, texts in {
            "integer": ("0", "7", "16777217", "9007199254740993", "123456789012345678", "x"),
            "decimal": ("0", "7", "-0.0", "0.1", "1.000000059604644776", "9007199254740993.0", "1" + "0" * 30),
            "double": ("0", "7", "-0.0", "0.1", "1.000000059604644775390625", "1e30", "NaN", "INF"),
            "float": ("0", "7", "-0.0", "0.1", "1.00000012", "1", "16777216", "NaN", "INF"),
            "boolean": ("true", "1", "0"),
            "date": ("2026-01-01", "2026-01-01Z"),
        }.items()
        for lexical in texts
    ),
    *(
        f'"2026-01-01T{time}"^^<{XSD}dateTime>'
        for time in ("00:00:00Z", "01:00:00+01:00", "00:00:00", "00:00:00.0000001Z")
    ),
    *('"7"', '"7"@en', f'"0"^^<{EX}d>', f'"7"^^<{EX}d>', iri("7"), "_:b7"),
]


_KEYED = [term for term in _LEVELS if has_key(term)]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (_LEVELS, _LEVELS),
        (_KEYED, _KEYED),
        (_LEVELS, _KEYED),
        # What is nearly the same number is the same float, and a time without a zone may be one with a zone.
        (_KEYED, [*_KEYED, f'"16777216"^^<{XSD}float>', f'"2026-01-01T00:00:00"^^<{XSD}dateTime>']),
    ],
    ids=["all kinds", "with keys", "with keys on one side", "one of them nearly the same"],
)
def test_values_that_are_equal_are_found_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: list[str], right: list[str]
) -> None:
    """Every pair of terms, as Oxigraph compares it: by keys where all have them, else one by one."""
    monkeypatch.setattr(narrowing, "WORTH", 0)
    monkeypatch.setattr(narrowing, "AGAIN", 1)
    graph = [(iri(f"b{place}"), iri("value"), term) for place, term in enumerate(right)]
    streamed = tuple((1, (iri(f"a{place}"), iri("level"), term)) for place, term in enumerate(left))
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: graph}))
    window, value, none = f"GRAPH <{EX}w> {{ ?a {iri('level')} ?v }}", iri("value"), iri("none")
    for text in (
        f"SELECT ?a ?b {{ {window} ?b {value} ?w FILTER(?v = ?w) }}",
        f"SELECT ?a ?b {{ {window} OPTIONAL {{ ?a {none} ?x }} ?b {value} ?w FILTER(?a != ?b && ?w = ?v) }}",
        f"SELECT ?a ?b {{ {window} {{ SELECT ?b ?w {{ ?b {value} ?w . ?c {value} ?w }} }} FILTER(?v = ?w) }}",
    ):
        theirs = site.oxigraph(text, [FIRST], _LIMIT)
        assert theirs is not None
        assert theirs[1][FIRST].total() > len(_KEYED) > 15
        assert site.ours(text, [FIRST], _LIMIT)[1] == theirs[1]
    site.close()


@pytest.mark.parametrize("equal", ["?v = ?w", "?w = ?v && ?a != ?b"])
def test_what_is_to_be_equal_is_not_multiplied_before_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, equal: str
) -> None:
    """300 numbers and 300 others of the same type, written in another way: of 90,000 pairs one is equal."""
    monkeypatch.setattr(narrowing, "WORTH", 300)
    monkeypatch.setattr(narrowing, "AGAIN", 100)
    levels = [(iri(f"a{place}"), iri("level"), f'"{place}"^^<{XSD}integer>') for place in range(300)]
    depths = [(iri(f"b{place}"), iri("depth"), f'"{place + 299}.0"^^<{XSD}decimal>') for place in range(300)]
    kinds = [(subject, TYPE, iri("kind")) for subject, _, _ in (*levels, *depths)]
    streamed = ((1, (iri("o"), iri("of"), iri("kind"))),)
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: [*levels, *depths, *kinds]}))
    window = f"GRAPH <{EX}w> {{ ?o {iri('of')} ?kind }}"
    patterns = f"?a {TYPE} ?kind . ?a {iri('level')} ?v . ?b {TYPE} ?kind . ?b {iri('depth')} ?w"
    text = f"SELECT * {{ {window} {patterns} FILTER({equal}) }}"
    assert _rows_of_one_solution(site, text) <= 10


@pytest.mark.parametrize("graph", [None, f"{EX}w"], ids=["beside the store's triples", "in the store alone"])
def test_little_that_is_joined_many_times_with_itself_is_stopped_and_narrowed(
    tmp_path: Path, graph: str | None
) -> None:
    """Sixty triples are too few to be looked for, and six patterns of them are 46 thousand million solutions."""
    hub = [(iri(f"e{place}"), iri("tag"), iri("hub")) for place in range(60)]
    streamed = ((1, (iri("o"), iri("of"), iri("hub"))), (1, (iri("p"), iri("by"), iri("q"))))
    site = WorldSite(tmp_path, World(((graph, streamed),), {None: hub}))
    window = f"?o {iri('of')} ?h . ?o {iri('by')} ?x"
    if graph is not None:
        window = f"GRAPH <{graph}> {{ {window} }}"
    patterns = " ".join(f"?{name} {iri('tag')} ?t ." for name in "abcdef")
    text = f"SELECT * {{ {window} {{ SELECT DISTINCT * {{ {patterns} }} }} }}"
    assert _rows_of_no_solution(site, text) <= 60


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { GRAPH <w> { ?s <tag> ?x } GRAPH <g> { ?s <tag> ?x } ?s <tag> ?x }",
        "SELECT * { GRAPH <w> { ?s <tag> ?x } GRAPH <g> { ?s <tag> ?x } FILTER NOT EXISTS { ?s <tag> ?x } }",
        "SELECT * { GRAPH <w> { ?s <tag> ?x } ?s <tag> ?x MINUS { GRAPH <g> { ?s <tag> ?x } } }",
        "SELECT DISTINCT ?s { GRAPH <w> { ?s <tag> ?x } GRAPH <g> { ?s <tag> ?y } GRAPH ?h { ?s <tag> ?x } }",
        "SELECT * { { GRAPH <w> { ?s <tag> ?x } } UNION { GRAPH <g> { ?s <tag> ?x } } ?s <tag> ?x }",
        "SELECT * { GRAPH <w> { ?s <tag> ?x FILTER EXISTS { ?s <tag> ?x } } FILTER EXISTS { ?s <tag> ?x } }",
    ],
)
def test_one_pattern_in_several_graphs_is_matched_in_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(narrowing, "WORTH", 0)
    monkeypatch.setattr(narrowing, "AGAIN", 1)

    def tags(factor: int) -> list[tuple[str, str, str]]:
        return [(iri(f"e{place}"), iri("tag"), iri(f"t{place % 7}")) for place in range(0, 60, factor)]

    streamed = tuple((1, triple) for triple in tags(2))
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: tags(3), f"{EX}g": tags(5)}))
    text = f"BASE <{EX}> {text}"
    theirs, (_, ours) = site.oxigraph(text, [FIRST], _LIMIT), site.ours(text, [FIRST], _LIMIT)
    site.close()
    assert theirs is not None
    assert ours == theirs[1]
    assert theirs[1][FIRST].total()


@pytest.mark.parametrize("worth", [1, 10**9], ids=["narrowed", "joined"])
def test_a_triple_of_two_windows_and_the_store_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    monkeypatch.setattr(narrowing, "WORTH", worth)
    chain = [(iri(f"e{place}"), iri("next"), iri(f"e{place + 1}")) for place in range(4)]
    tags = [(iri(f"e{place}"), iri("tag"), iri("x")) for place in range(5)]
    streamed = tuple((FIRST - STEP, triple) for triple in (*chain, *tags))
    site = WorldSite(tmp_path, World(((None, streamed), (None, streamed[:5])), {None: [*chain[2:], *tags]}))
    for path, solutions in (("/", 3), ("+/", 6), ("?/", 7)):
        text = f"SELECT * {{ ?s {iri('next')}{path}{iri('next')} ?o . ?s {iri('tag')} ?t . ?o {iri('tag')} ?t }}"
        _, ours = site.ours(text, [FIRST], _LIMIT)
        assert ours is not None
        theirs = site.oxigraph(text, [FIRST], _LIMIT)
        assert theirs is not None
        assert ours == theirs[1]
        assert ours[FIRST].total() == solutions, path
    site.close()


def test_what_bars_at_one_instant_does_not_at_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "WORTH", 1)
    tags = [(iri(f"e{place}"), iri("tag"), iri(f"t{place % 2}")) for place in range(6)]
    streamed = tuple((FIRST - STEP, (iri(f"o{place}"), iri("of"), iri(f"e{place}"))) for place in range(6))
    later = (FIRST + 1, (iri("t1"), iri("part"), iri("hub")))
    site = WorldSite(tmp_path, World(((None, (*streamed, later)),), {None: tags}))
    for asked in ("FILTER NOT EXISTS", "MINUS"):
        text = f"SELECT * {{ ?o {iri('of')} ?e . ?e {iri('tag')} ?t {asked} {{ ?t {iri('part')} {iri('hub')} }} }}"
        _, ours = site.ours(text, [FIRST, FIRST + STEP], _LIMIT)
        assert ours is not None
        assert [found.total() for found in ours.values()] == [6, 3]
    site.close()


def test_what_bars_for_one_query_does_not_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "WORTH", 1)
    tags = [(iri(f"t{place}"), iri("tag"), iri("x")) for place in range(3)]
    streamed = tuple(
        (1, triple)
        for place in range(3)
        for triple in (
            (iri(f"o{place}"), iri("of"), iri(f"t{place}")),
            (iri(f"t{place}"), iri("part"), iri(f"hub{place}")),
        )
    )
    site = WorldSite(tmp_path, World(((f"{EX}w", streamed),), {None: tags}))
    window, hub = f"GRAPH <{EX}w> {{ ?o {iri('of')} ?t }}", f"GRAPH <{EX}w> {{ ?t {iri('part')} HUB }}"
    text = f"SELECT ?t {{ {window} ?t {iri('tag')} ?x . ?s {iri('tag')} ?x FILTER NOT EXISTS {{ {hub} }} }}"
    due = [(name, site._prepared(text.replace("HUB", iri(f"hub{name}"))), [FIRST]) for name in "012"]
    (step,) = site.evaluator.plan(due).steps
    found = {
        name: {json.loads(one)["t"]["value"][-1] for one in answer.solutions}
        for name, answer in site.evaluator.run(step)
    }
    site.close()
    assert found == {
        "0": {"1", "2"},
        "1": {"0", "2"},
        "2": {"0", "1"},
    }
