"""Examples 1 to 13 of the RSP-QL paper (its time units as milliseconds) through log, clock, compiler and evaluator.

Two slips of the paper, by its own definitions: Example 10's table says :adam where the graph of Example 1 says :alice;
Example 11 leaves out what comes at the very close of a window, which Definition 12 takes in (t in (o, c]).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.spark_backend.engine.test_examples import EX, EXAMPLE_10, NEARBY, OFFERS, RDF_TYPE, SHOPS, iri
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

PREFIX = f"PREFIX : <{EX}> "
ONLY_B = [("", iri("b"), RDF_TYPE, iri("Shop")), ("", iri("bob"), iri("owns"), iri("b"))]
W1, W2 = ":nearby [RANGE 5 STEP 2 T0 1", ":coupon [RANGE 2 STEP 2 T0 0"
ROWS = {
    8: {("carl", "a", "alice", "10% discount on ..."), ("eve", "a", "alice", "10% discount on ...")},
    16: {("diana", "b", "bob", "free coffee at ...")},
}
"""Example 10's timestamped solution mappings."""

Rows = dict[int, set[tuple[str, ...]]]


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[SteppedBackend]:
    backend = SteppedBackend(tmp_path, Graphs(SHOPS))
    for name in ("nearby", "coupon"):
        backend.event_stream(name, EX + name)
    yield backend
    backend.close()


def post_streams(stepped: SteppedBackend, after: int = 0, upto: int = 20) -> None:
    """The elements of Examples 3 and 5 with after < t <= upto, and that nothing else is coming until then."""
    for shopper, shop, at in NEARBY:
        if after < at <= upto:
            stepped.post("nearby", f"{iri(shopper)} {iri('isNearby')} {iri(shop)} .", at)
    for owner, coupon, at in OFFERS:
        if after < at <= upto:
            stepped.post("coupon", f'{iri(owner)} {iri("offers")} "{coupon}" .', at)
    for name in ("nearby", "coupon"):
        stepped.backend.advance(name, upto)


def told(stepped: SteppedBackend, name: str) -> Rows:
    """The solutions by instant, as sets of values in the order of the variables."""
    found: Rows = {}
    for instant, data in stepped.answers(name).items():
        document = json.loads(data)
        bindings = document["results"]["bindings"]
        rows = [tuple(b[v]["value"].removeprefix(EX) for v in document["head"]["vars"]) for b in bindings]
        assert len(rows) == len(set(rows))
        found[instant] = set(rows)
    return found


def answers(stepped: SteppedBackend, query: str) -> Rows:
    stepped.register("q", PREFIX + query)
    post_streams(stepped)
    stepped.run()
    return told(stepped, "q")


def bounds(stepped: SteppedBackend, window: str) -> dict[int, tuple[int, int]]:
    """(opening, end] of a window at each instant."""
    found = {}
    for instant, data in stepped.answers("q").items():
        opening, end = json.loads(data)["evaluation"]["windows"][window]
        found[instant] = (_ms(opening), _ms(end))
    return found


def _ms(text: str) -> int:
    """Of an instant of the first second of 1970."""
    assert text.startswith("1970-01-01T00:00:00")
    return int(f"{text[19:-1] or '.0'}00"[1:4])


def nearby(*triples: str) -> set[tuple[str, ...]]:
    """ "carl a" for :carl :isNearby :a."""
    return {tuple(triple.split()) for triple in triples}


def test_example_1_the_graph_of_shops_is_the_default_graph_at_every_evaluation(stepped: SteppedBackend) -> None:
    found = answers(stepped, f"SELECT ?s ?p ?o FROM NAMED WINDOW :w ON {W2}] WHERE {{ ?s ?p ?o }}")
    graph = {tuple(term[1:-1].removeprefix(EX) for term in triple) for _, *triple in SHOPS}
    assert found == {8: graph, 16: graph}


def test_example_2_alice_owns_shop_a(stepped: SteppedBackend) -> None:
    found = answers(stepped, f"SELECT ?person FROM NAMED WINDOW :w ON {W2}] WHERE {{ ?person :owns :a }}")
    assert found == {8: {("alice",)}, 16: {("alice",)}}


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("nearby", {2: nearby("diana a", "eve b"), 5: nearby("carl a"), 7: nearby("eve a"), 12: nearby("diana b")}),
        ("coupon", {8: {("alice", "10% discount on ...")}, 15: {("bob", "free coffee at ...")}}),
    ],
)
def test_examples_3_and_5_the_streams_have_these_statements_at_these_times(
    stepped: SteppedBackend, stream: str, expected: Rows
) -> None:
    assert answers(stepped, f"SELECT ?s ?o FROM STREAM :{stream} [NOW] WHERE {{ ?s :isNearby|:offers ?o }}") == expected
    described = stepped.backend.stream(stream)
    assert (described.elements, described.triples) == (sum(map(len, expected.values())),) * 2
    assert (described.first, described.last) == (min(expected), max(expected))


def test_example_4_the_graph_of_shops_varies_with_time(stepped: SteppedBackend) -> None:
    query = f"SELECT ?owner FROM NAMED WINDOW :w ON {W1} REPORT PERIODIC 1] WHERE {{ ?owner :owns ?shop }}"
    stepped.register("q", PREFIX + query, since=0)
    after = 0
    # Empty before 2, that of Example 1 from 2 to 13, without Alice from then on.
    for upto, graph in ((1, []), (13, SHOPS), (20, ONLY_B)):
        stepped.graphs.set(graph)
        stepped.backend.store_changed()
        post_streams(stepped, after, upto)
        stepped.run()
        after = upto
    both, bob = {("alice",), ("bob",)}, {("bob",)}
    assert told(stepped, "q") == {t: both if t <= 13 else bob for t in range(6, 21)}


def test_example_6_the_window_from_4_to_8_holds_carl_and_eve(stepped: SteppedBackend) -> None:
    found = answers(stepped, "SELECT ?s ?o FROM STREAM :nearby [RANGE 4 T0 4] WHERE { ?s :isNearby ?o }")
    assert found[8] == nearby("carl a", "eve a")
    assert bounds(stepped, EX + "nearby")[8] == (4, 8)


def test_example_7_windows_open_every_2_from_1_on_and_at_9_the_present_one_holds_eve(stepped: SteppedBackend) -> None:
    query = f"SELECT ?s ?o FROM NAMED WINDOW :w ON {W1} REPORT PERIODIC 1] WHERE {{ WINDOW :w {{ ?s :isNearby ?o }} }}"
    found = answers(stepped, query)
    assert found[6] == nearby("diana a", "eve b", "carl a")
    assert found[8] == nearby("carl a", "eve a")
    assert found[9] == found[10] == nearby("eve a")
    presents = bounds(stepped, EX + "w")
    assert [presents[t] for t in (6, 8, 9, 10)] == [(1, 6), (3, 8), (5, 9), (5, 10)]


def test_example_8_the_dataset_is_the_graph_of_shops_and_two_windows(stepped: SteppedBackend) -> None:
    query = f"""SELECT ?g ?s ?o FROM NAMED WINDOW :w1 ON {W1}]
    FROM NAMED WINDOW :w2 ON {W2} REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT]
    WHERE {{ {{ GRAPH ?g {{ ?s ?p ?o }} }} UNION {{ ?s :owns ?o BIND("" AS ?g) }} }}"""
    owners = {("", "alice", "a"), ("", "bob", "b")}
    assert answers(stepped, query) == {
        8: owners | {("w1", "carl", "a"), ("w1", "eve", "a"), ("w2", "alice", "10% discount on ...")},
        16: owners | {("w1", "diana", "b"), ("w2", "bob", "free coffee at ...")},
    }


def test_example_9_the_policy_is_satisfied_when_the_window_of_coupons_closes_with_content(
    stepped: SteppedBackend,
) -> None:
    policy = "REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT"
    query = f"ASK FROM NAMED WINDOW :w1 ON {W1}] FROM NAMED WINDOW :w2 ON {W2} {policy}] WHERE {{ }}"
    stepped.register("q", PREFIX + query)
    post_streams(stepped)
    stepped.run()
    assert list(stepped.answers("q")) == [8, 16]


def test_example_10_the_answer_has_three_solutions_at_8_and_16(stepped: SteppedBackend) -> None:
    assert answers(stepped, EXAMPLE_10) == ROWS


@pytest.mark.parametrize(
    ("t0", "close", "first"),
    [
        (0, 5, nearby("diana a", "eve b", "carl a")),
        (1, 6, nearby("diana a", "eve b", "carl a")),
        (2, 7, nearby("carl a", "eve a")),
    ],
)
def test_example_11_the_origin_decides_what_the_first_window_captures(
    stepped: SteppedBackend, t0: int, close: int, first: set[tuple[str, ...]]
) -> None:
    query = f"REGISTER QUERY q AS SELECT ?s ?o FROM STREAM :nearby [RANGE 5ms STEP 2ms T0 {t0}] WHERE {{ ?s ?p ?o }}"
    stepped.graphs.set([])
    found = answers(stepped, query)
    assert min(found) == close
    assert found[close] == first


def test_example_12_the_same_dataset_by_named_windows_and_merged_into_the_default_graph(
    stepped: SteppedBackend,
) -> None:
    decide = "REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT"
    merged = f"""SELECT ?shopper ?shop ?shop_owner ?coupon FROM STREAM {W1}] FROM STREAM {W2} {decide}]
    WHERE {{ ?shopper :isNearby ?shop . ?shop_owner :offers ?coupon ; :owns ?shop }}"""
    cqels = f"""SELECT RSTREAM ?shopper ?shop ?shop_owner ?coupon WHERE {{
      STREAM {W1} REPORT PERIODIC 1 NON_EMPTY_CONTENT] {{ ?shopper :isNearby ?shop }}
      STREAM {W2} {decide}] {{ ?shop_owner :offers ?coupon }}
      ?shop_owner :owns ?shop }}"""
    stepped.register("named", EXAMPLE_10)
    stepped.register("merged", PREFIX + merged)
    stepped.register("cqels", PREFIX + cqels)
    post_streams(stepped)
    stepped.run()
    assert told(stepped, "merged") == told(stepped, "named") == ROWS
    # The window of shoppers carries a policy too and adds instants: those of the coupons are among them.
    by_cqels = told(stepped, "cqels")
    assert {t: by_cqels[t] for t in ROWS} == ROWS


@pytest.mark.parametrize(
    ("system", "query", "instants"),
    [
        ("CQELS", "SELECT ?s WHERE { STREAM :nearby [RANGE 5ms STEP 2ms T0 1] { ?s ?p ?o } }", [2, 5, 7, 12]),
        ("C-SPARQL", "SELECT ?s FROM STREAM :nearby [RANGE 5ms STEP 2ms T0 1] WHERE { ?s ?p ?o }", range(6, 17, 2)),
        (
            "SPARQLStream",
            "SELECT ISTREAM ?s FROM STREAM :nearby [RANGE 5ms STEP 2ms T0 1] WHERE { ?s ?p ?o }",
            range(6, 17, 2),
        ),
    ],
)
def test_example_13_systems_report_at_content_changes_or_at_closes_with_content(
    stepped: SteppedBackend, system: str, query: str, instants: Sequence[int]
) -> None:
    stepped.register("q", PREFIX + query)
    post_streams(stepped)
    stepped.run()
    assert list(stepped.answers("q")) == list(instants)
    operator = json.loads(stepped.answers("q")[12])["evaluation"]["operator"]
    assert operator == {"CQELS": "ISTREAM", "C-SPARQL": "RSTREAM", "SPARQLStream": "ISTREAM"}[system]
