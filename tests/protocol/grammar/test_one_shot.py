"""One-shot queries with the liberties of printed ones, as standard SPARQL (docs/language.md)."""

from __future__ import annotations

from collections import Counter

import pyoxigraph as ox
import pytest

from protocol.errors import ProtocolError
from protocol.grammar.one_shot import as_standard, exact_text
from protocol.sparql.corrections import corrected

BASE = "http://ex/"
DATA = """PREFIX : <http://ex/> INSERT DATA {
  :s1 :in :long . :s2 :in :long . :s3 :in :long . :s4 :in :short . :s5 :in :short .
  :long :name 'L' ; :capacity 2 . :s1 :near :long, :short .
  :s6 :of 7 . :s7 :of 7 . :s8 :of 'seven' . GRAPH :g { :s9 :in :far ; :rank 9 } }"""
Rows = Counter[tuple[str | None, ...]]


@pytest.fixture(scope="module")
def store() -> ox.Store:
    store = ox.Store()
    store.update(DATA)
    return store


def answer(store: ox.Store, text: str) -> tuple[list[str], Rows]:
    with pytest.raises(SyntaxError):
        store.query(f"PREFIX : <{BASE}> {text}", base_iri=BASE)
    found = store.query(as_standard(f"PREFIX : <{BASE}> {text}", BASE))
    assert isinstance(found, ox.QuerySolutions)
    rows = Counter(tuple(map(shown, row)) for row in found)
    return [one.value for one in found.variables], rows


def shown(term: object) -> str | None:
    return term.value.removeprefix(BASE) if isinstance(term, ox.NamedNode | ox.Literal) else None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        # Each solution is kept, however often it is there, with the aggregate over those that have its keys.
        (
            "SELECT ?street ?n WHERE { ?s :in ?street } AGGREGATE { (?n, COUNT, {?street}) FILTER (?n > 2) }",
            {("long", "3"): 3},
        ),
        (
            "SELECT DISTINCT ?street ?n { ?s :in ?street } AGGREGATE { (?n, COUNT, ?street) }",
            {("long", "3"): 1, ("short", "2"): 1},
        ),
        # A key that is unbound is a key like any other, and no wildcard.
        (
            "SELECT ?s ?n { ?s :in ?street OPTIONAL { ?street :name ?name } } AGGREGATE { (?n, COUNT, {?name}) }",
            {("s1", "3"): 1, ("s2", "3"): 1, ("s3", "3"): 1, ("s4", "2"): 1, ("s5", "2"): 1},
        ),
        # Each aggregate is over the WHERE, before any FILTER of the clauses.
        (
            "SELECT ?n ?m { ?s :in ?x } AGGREGATE { (?n, COUNT, ?x) FILTER(?n = 2) (?m, COUNT(?s), {?x, ?s}) } LIMIT 1",
            {("2", "1"): 1},
        ),
        # What cannot be added up leaves the variable unbound.
        (
            "SELECT ?p ?sum { ?s ?p ?v FILTER(?p IN (:of, :capacity)) } AGGREGATE { (?sum, SUM(?v), ?p) }",
            {("of", None): 3, ("capacity", "2"): 1},
        ),
        ("FROM :g SELECT ?s { ?s :in ?street }", {("s9",): 1}),
        ("FROM NAMED :g SELECT ?g, COUNT(*) AS ?n { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g", {("g", "2"): 1}),
        ("SELECT COUNT(DISTINCT *) AS ?n { ?s :near [] }", {("1",): 1}),
        ("SELECT ?s { ?s :of 7 } UNION { ?s :near/^:in :s4 }", {("s6",): 1, ("s7",): 1, ("s1",): 1}),
        ("SELECT ?s { ?s :in|:near+ ?x } FILTER (?x = :short)", {("s4",): 1, ("s5",): 1, ("s1",): 1}),
        ("SELECT ?s { ?s :in :long FILTER MINUS { ?s :near :short } }", {("s2",): 1, ("s3",): 1}),
        ("SELECT ?x { ?s :in ?x } GROUP BY ?x HAVING COUNT(*) > 2 && BOUND(?x)", {("long",): 1}),
        # As the standard has it: an alias is not in scope there. In queries over streams it is.
        ("SELECT ?x, (COUNT(*) AS ?n) { ?s :in ?x } GROUP BY ?x HAVING (?n > 2)", {}),
        # The standard's, which the engine's parser does not take.
        ("SELECT ?s ?s { ?s :of 7 }", {("s6",): 1, ("s7",): 1}),
    ],
)
def test_the_answer_is_that_of_the_words(store: ox.Store, text: str, rows: dict[tuple[str | None, ...], int]) -> None:
    assert answer(store, text)[1] == Counter(rows)


def test_other_forms(store: ox.Store) -> None:
    graph = store.query(as_standard("FROM <http://ex/g> CONSTRUCT { ?s <u:p> [] } { ?s <http://ex/in> ?x }"))
    assert [str(triple.subject) for triple in graph] == ["<http://ex/s9>"]  # type: ignore[union-attr]
    for described, subjects in (("?s WHERE { ?s <http://ex/in> ?x }", 2), ("<http://ex/s9>", 2), ("<u:x>", 0)):
        found = store.query(as_standard(f"FROM <http://ex/g> DESCRIBE {described}"))
        assert len(list(found)) == subjects  # type: ignore[arg-type]
    ask = "ASK { ?s <http://ex/of> 7 } FILTER (?s = <http://ex/%s>)"
    assert [bool(store.query(as_standard(ask % name))) for name in ("s6", "s8")] == [True, False]


def test_a_column_is_there_for_each_variable_of_the_text_alone(store: ox.Store) -> None:
    names, _ = answer(store, "SELECT * { ?s :near/:name ?hidden . [] :of ?v } FILTER (?v = 7)")
    assert names == ["s", "hidden", "v"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT DISTINCT ?street ?total¦-sensor { ?s <u:p> ?street }", "no hyphen in its name: write ?total_sensor"),
        ("SELECT ?s { ?s ?p ?o } ¦GROUPBY ?s", "GROUPBY is two words: write GROUP BY"),
        ("SELECT ?s { { ?s ?p ?o }¦", "expected } for the { of line 1, column 11"),
        ("SELECT * { ?s ?p 'timestamp(?x)' FILTER(¦timestamp(?s) > 5) }", "reads no stream: add FROM STREAM"),
        ("SELECT ?n { ?s ?p ?o } AGGREGATE { (?n, COUNT, ¦?x) }", "?x is not a variable of the WHERE"),
        ("SELECT ?n { ?s ?p ?o } AGGREGATE { (?n, ¦MEDIAN(?o), ?s) }", "COUNT, SUM, AVG, MIN or MAX"),
        ("SELECT ?s { ?s ?p ?o ¦] }", "or }, found ]"),
        ("PREFIX x: <u:> ¦delete DATA { x:s x:p 1 }", "delete begins an update: POST it to /sparql as application/s"),
        ("SELECT ?s { ?s ?p '¦\\q' }", "is no escape"),
        ("SELECT ?s { ?s ¦<u:p ?o }", "expected a property: an IRI, a or a variable, found <"),
        ("SELECT ?s { ?s ?p ¦'o }", "the string that begins with ' is not closed in its line"),
        ("SELECT ?s { ?s ?p <<( ?s ?p 1 )>> ¦] }", "or }, found ]"),
        ("SELECT ?n { ?s ?p ?o BIND(¦RAND() AS ?r) } AGGREGATE { (?n, COUNT, ?r) }", "RAND() in the WHERE"),
        ("SELECT * { ?s ?p ?o BIND(1 AS ¦?s) }", "?s is bound already: BIND needs a new variable"),
        ("SELECT ?s ¦?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s", "?p is no key of the group: add it to GROUP BY"),
        ("SELECT (1 AS ¦?s) { ?s ?p ?o }", "?s is bound already: AS needs a new variable"),
        ("SELECT * { ?s ?p ?o FILTER(¦COUNT(?s) > 1) }", "COUNT is an aggregate"),
        ("SELECT * { ?s ?p _:a OPTIONAL { ¦_:a ?p ?q } }", "_:a is a blank node of another graph pattern"),
        ("SELECT * { VALUES (?a ?b) { (1¦) } }", "expected a value for ?b"),
        # What our parser does not read is the standard's to judge, where that has read on.
        ("SELECT * { ?s ?p ?o LATERAL { ?a ?b ?c } FILTER(?o > ¦) }", "unexpected )"),
        ("¦FROM <u:g> SELECT * { [] <u:p> [] }", "SELECT * selects no variable"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(text: str, said: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        as_standard(text.replace("¦", ""), BASE)
    assert said in raised.value.detail
    assert (raised.value.status, raised.value.line, raised.value.column) == (400, 1, text.index("¦") + 1)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s { ?s ?p ?o }",
        "SELECT ?s { ?s <u:p>+ ?o }",
        "SELECT ?s { <u:a> <u:p>+ ?o ; <u:p>* ?q . ?x <u:p>? ?s }".replace("<u:a>", "?a"),
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?s ?p ?o }",
        "SELECT (COUNT(?o) AS ?n) (count( Distinct ?s ) AS ?m) (SUM(?o / 2) AS ?k) { ?s ?p ?o }",
        "SELECT (?o + 1 AS ?z) (?o * 2 AS ?y) { ?s ?p ?o FILTER(?o > 1 || ?o < 0) }",
        "SELECT (BNODE() AS ?b) { ?s ?p ?o }",
        "SELECT * { <u:a> <u:p>* <u:b> }",
        "SELECT * { <u:a> <u:p>* <u:a> . [] <u:p> 1 }",
        "SELECT * { FILTER(1 + 1 = 2) }",
        "SELECT * { ?s ?p ?o LATERAL { ?s <u:p>* <u:o> } }",
        "SELECT * { ?s ?p",
    ],
)
def test_a_query_to_which_the_engine_has_the_standards_answer_is_left_to_the_letter(text: str) -> None:
    """So is what cannot be written in another way, and what our parser does not read."""
    assert exact_text(text) == text


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("SELECT * { ?s ?p ?o }", ["s", "p", "o"]),
        ("select distinct*{ ?z ?b ?a }", ["z", "b", "a"]),
        ("SELECT # all of them: *\n * { FILTER(?o > 0) ?s :rank ?o }", ["o", "s"]),
        ("SELECT REDUCED * { { SELECT * { ?y :rank ?x } } ?x ?w ?v }", ["y", "x", "w", "v"]),
        ("SELECT * FROM <\\u0067> { ?s ?p ?o } # \\u003F", ["s", "p", "o"]),
        ("SELECT * { :none :in* ?z ; :near ?a }", ["z", "a"]),
    ],
)
def test_a_star_selects_in_the_order_of_the_text(store: ox.Store, text: str, variables: list[str]) -> None:
    answer = store.query(exact_text(f"PREFIX : <{BASE}> {text}", BASE), base_iri=BASE)
    assert isinstance(answer, ox.QuerySolutions)
    assert [one.value for one in answer.variables] == variables


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT ?x { :none :in* ?x }", [["none"]]),
        ("SELECT ?x { ?x :in? :none }", [["none"]]),
        ("SELECT ?x { :s1 :in* ?x }", [["long"], ["s1"]]),
        ("SELECT ?x { 5 :in* ?x }", [["5"]]),
        ("SELECT ?x { GRAPH :g { :none :in* ?x } }", [["none"]]),
        ("SELECT ?x { GRAPH :nowhere { :none :in* ?x } }", []),
        ("SELECT ?s { ?s :capacity ?c FILTER EXISTS { :none :in* ?c } }", []),
        ("SELECT ?c { ?s :capacity ?c FILTER EXISTS { :none :in* :none } }", [["2"]]),
        # What a solution binds stands in EXISTS for the variable, also where it is a term that the graph does not have.
        ("SELECT ?s { GRAPH :g { ?s :in ?o } FILTER EXISTS { ?v :in* ?s } }", [["s9"]]),
        ("SELECT ?s { GRAPH :g { ?s :in ?o } FILTER EXISTS { ?s :in? ?v } }", [["s9"]]),
        ("SELECT ?s { GRAPH :g { ?s :in ?o } FILTER EXISTS { ?s :in* ?s } }", [["s9"]]),
        ("SELECT ?s { GRAPH :g { ?s :in ?o } FILTER EXISTS { ?s :in* ?o } }", []),
        ("SELECT ?s { GRAPH :g { ?s :in ?o } FILTER EXISTS { ?v :in* ?s FILTER(?v = ?o) } }", []),
        ("SELECT ?y { VALUES (?x ?y) { (:s1 :long) (:no :none) (:q :q) (UNDEF :z) } FILTER EXISTS { ?x :in* ?y } }",
         [["long"], ["q"], ["z"]]),
        ("SELECT ?s { ?s :near :short FILTER EXISTS { GRAPH :g { ?v :in ?o } ?v :in* ?w } }", []),
        ("SELECT ?x { :s1 (:in|:near) ?x }", [["long"], ["long"], ["short"]]),
        ("SELECT (COUNT(?x / ?y) AS ?n) { VALUES (?x ?y) { (1 2) (1 0) (2 4) (UNDEF 1) } }", [["2"]]),
        ("SELECT (count ( distinct ?x / ?y) AS ?n) (COUNT(DISTINCT *) AS ?m) { VALUES (?x ?y) { (1 2) (1 0) (2 4) } }",
         [["1", "3"]]),
        ("SELECT ?y { VALUES (?x ?y) { (1 2) (1 0) (2 0) } } GROUP BY ?y HAVING (COUNT(1 / ?y) = 0)", [["0"]]),
        ("SELECT (COUNT(1 / 0) AS ?n) { }", [["0"]]),
        ("SELECT (COUNT(DISTINCT *) AS ?n) { ?s :in|:no ?x } GROUP BY (STR(?x))", [["2"], ["3"]]),
        # Solutions differ by what has a name, and not by blank nodes and the middle of a path.
        ("SELECT (COUNT(DISTINCT *) AS ?n) (COUNT(*) AS ?m) { ?s :near [] }", [["1", "2"]]),
        ("SELECT ?x (COUNT(DISTINCT *) AS ?n) (COUNT(*) AS ?m) { [] :in ?x } GROUP BY ?x",
         [["long", "1", "3"], ["short", "1", "2"]]),
        ("SELECT (COUNT(DISTINCT *) AS ?n) (COUNT(*) AS ?m) { :long ^:in/:in ?o }", [["1", "3"]]),
        ("SELECT ?m { { SELECT (COUNT(DISTINCT *) AS ?m) { [] :in [] } } FILTER(?m < 2) }", [["1"]]),
        ("SELECT ?x { VALUES (?d ?t) { ('P1D'^^xsd:duration '2020-01-31'^^xsd:date) } BIND(?d + ?t AS ?x) }",
         [["2020-02-01"]]),
        ("SELECT ?x { VALUES (?a ?b) { ('P1D'^^xsd:duration '2020-01-31'^^xsd:date) } BIND(?b + ?a AS ?x) }",
         [["2020-02-01"]]),
    ],
)  # fmt: skip
def test_where_the_engine_departs_from_the_standard_it_is_asked_in_other_words(
    store: ox.Store, text: str, rows: list[list[str]]
) -> None:
    prefixes = f"PREFIX : <{BASE}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
    found = store.query(exact_text(f"{prefixes} {text}", BASE))
    assert isinstance(found, ox.QuerySolutions)
    assert sorted([shown(term) for term in row] for row in found) == rows


@pytest.mark.parametrize(
    ("group", "solutions"),
    [
        (":none :in* :none", 1),
        (":s1 :in? :s1", 1),
        (":none :in+ :none", 0),
        (":s1 :in* :none", 0),
        ("MINUS { ?s :in ?o } :none :in* :none", 1),
        ("{ SELECT * { MINUS { ?s :in* ?o } } } MINUS { :none :in* ?s }", 1),
        ("{ SELECT * { MINUS { :none :in* ?s } } }", 1),
        (":none :in* :none FILTER(!BOUND(?s))", 1),
    ],
)
def test_a_path_between_two_terms_has_solutions_without_a_variable(store: ox.Store, group: str, solutions: int) -> None:
    found = store.query(exact_text(f"PREFIX : <{BASE}> SELECT * {{ {group} }}"))
    assert isinstance(found, ox.QuerySolutions)
    assert (found.variables, [len(list(row)) for row in found]) == ([], [0] * solutions)


@pytest.fixture(scope="module")
def graphs() -> ox.Store:
    store = ox.Store()
    store.update(f"BASE <{BASE}> INSERT DATA {{ GRAPH <g1> {{ <s> <p> 1 }} GRAPH <g2> {{ <s> <p> 2 }} }}")
    return store


def exact_rows(store: ox.Store, text: str) -> list[list[str | None]]:
    """As the endpoint asks it: each row with the terms of its solution."""
    names = [str(graph.value) for graph in store.named_graphs() if isinstance(graph, ox.NamedNode)]
    found = store.query(corrected(exact_text(f"PREFIX : <{BASE}> {text}", BASE), lambda: names))
    assert isinstance(found, ox.QuerySolutions)
    return sorted(([shown(term) for term in row] for row in found), key=str)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT ?g ?x { GRAPH ?g { VALUES ?x { 1 } } }", [["g1", "1"], ["g2", "1"]]),
        ("SELECT ?g ?s { GRAPH ?g { VALUES ?x { 1 } OPTIONAL { ?s :p ?x } } }", [["g1", "s"], ["g2", None]]),
        (
            "SELECT ?g ?x { GRAPH ?g { { ?s ?p ?x } UNION { VALUES ?x { 3 } } } }",
            [["g1", "1"], ["g1", "3"], ["g2", "2"], ["g2", "3"]],
        ),
        ("SELECT ?g ?x { GRAPH ?g { VALUES ?x { 1 2 } FILTER NOT EXISTS { ?s :p ?x } } }", [["g1", "2"], ["g2", "1"]]),
        ("SELECT ?g ?x { GRAPH ?g { VALUES ?x { 1 2 } FILTER(?g = :g1) } }", []),
        ("SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { VALUES ?x { 1 2 } } } GROUP BY ?g", [["g1", "2"], ["g2", "2"]]),
        ("SELECT ?g ?x { VALUES ?g { :g1 :none } GRAPH ?g { VALUES ?x { 1 } } }", [["g1", "1"]]),
        ("SELECT ?g ?x { GRAPH ?g { ?s :p ?y OPTIONAL { VALUES ?x { 1 } OPTIONAL { ?z :p ?x } } } }",
         [["g1", "1"], ["g2", "1"]]),
        ("SELECT ?x { GRAPH :none { VALUES ?x { 1 } } }", []),
        ("SELECT ?x { GRAPH :g1 { VALUES ?x { 1 } } }", [["1"]]),
        ("SELECT ?n { GRAPH :none { { SELECT (COUNT(?s) AS ?n) { VALUES ?x { 1 } ?s :p ?x } } } }", []),
        (
            "SELECT ?g ?h ?x { GRAPH ?g { GRAPH ?h { ?s ?p ?x } } }",
            [["g1", "g1", "1"], ["g1", "g2", "2"], ["g2", "g1", "1"], ["g2", "g2", "2"]],
        ),
        ("SELECT ?g ?x { GRAPH ?g { GRAPH :g1 { ?s ?p ?x } } }", [["g1", "1"], ["g2", "1"]]),
        ("SELECT ?g ?x { GRAPH ?g { ?s ?p ?x GRAPH :g1 { ?s ?p ?x } } }", [["g1", "1"]]),
        ("SELECT ?x { GRAPH :none { GRAPH :g1 { ?s ?p ?x } } }", []),
        ("SELECT ?g ?x { GRAPH ?g { GRAPH ?g { } GRAPH :g1 { ?s ?p ?x } } }", [["g1", "1"], ["g2", "1"]]),
        ("SELECT ?g ?x { GRAPH ?g { GRAPH :g1 { ?s ?p ?x MINUS { ?s ?p 2 } } } }", [["g1", "1"], ["g2", "1"]]),
        ("SELECT ?g ?x { GRAPH ?g { VALUES ?x { 1 2 } MINUS { ?s ?p ?x } } }", [["g1", "2"], ["g2", "1"]]),
    ],
)  # fmt: skip
def test_what_is_in_graph_is_there_once_for_each_graph_of_the_dataset(
    graphs: ox.Store, text: str, rows: list[list[str | None]]
) -> None:
    assert exact_rows(graphs, text) == rows


def test_a_group_of_a_graph_with_a_pattern_that_says_which_is_left_to_the_letter() -> None:
    for text in (
        "SELECT ?g { GRAPH ?g { VALUES ?x { 1 2 } ?s ?p ?x } }",
        "SELECT ?g { GRAPH ?g { VALUES ?x { 1 2 } { ?s ?p ?x OPTIONAL { VALUES ?y { 1 } } } GRAPH <g> { ?s ?p ?x } } }",
        "SELECT ?s { GRAPH <g> { VALUES ?x { 1 2 } ?s ?p ?x } }",
        "SELECT ?s { GRAPH ?g { ?s ?p ?o } GRAPH ?h { ?s ?p ?o } }",
    ):
        assert exact_text(text) == text


def test_graphs_within_each_other_are_not_multiplied_where_that_changes_nothing(graphs: ox.Store) -> None:
    text = f"SELECT * {{ {' '.join(f'GRAPH ?g{number} {{' for number in range(9))} ?s ?p ?o {'}' * 10}"
    assert len(corrected(exact_text(text), lambda: [f"{BASE}g1", f"{BASE}g2"])) < 1_000
    assert len(exact_rows(graphs, text)) == 2**9


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("?y :q ?z { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } }", []),
        ("?y :q ?z { ?y :q ?w FILTER EXISTS { ?z :q ?x } }", [["c", "a"]]),
        ("?y :q ?z { ?y :q ?w FILTER NOT EXISTS { { ?z :q ?x } UNION { ?x :r ?z } } }", []),
        ("?y :q ?z { ?y :q ?w BIND(EXISTS { ?z :q ?x } AS ?v) } FILTER(?v)", [["c", "a"]]),
        ("?y :q ?z OPTIONAL { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } } FILTER(BOUND(?w))", [["c", "a"]]),
        ("?y :q ?z OPTIONAL { { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } } } FILTER(BOUND(?w))", []),
        ("?y :q ?z { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } } UNION { ?y :r ?w }", []),
        ("?y :q ?z GRAPH :g { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } }", []),
        ("?y :q ?z GRAPH ?g { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } }", []),
        ("?y :q ?z { ?y :q ?z FILTER NOT EXISTS { ?z :q ?x } }", [["c", "a"]]),
        # In EXISTS what its solution binds is known in every group; what stands beside a group in it is not.
        ("?y :q ?z FILTER EXISTS { ?y :q ?k { ?y :q ?w FILTER NOT EXISTS { ?z :q ?x } } }", [["c", "a"]]),
        ("?y :q ?z FILTER EXISTS { ?y :q ?k { ?y :q ?w FILTER NOT EXISTS { ?k :q ?x } } }", []),
    ],
)
def test_exists_knows_what_its_group_binds_and_nothing_of_what_stands_beside(text: str, rows: list[list[str]]) -> None:
    store = ox.Store()
    store.update(f"BASE <{BASE}> INSERT DATA {{ <c> <q> <a> GRAPH <g> {{ <c> <q> <b> }} }}")
    assert exact_rows(store, f"SELECT ?y ?z {{ {text} }}") == rows


def test_exists_with_nothing_beside_its_group_is_left_to_the_letter() -> None:
    for text in (
        "SELECT ?s { ?s ?p ?x FILTER EXISTS { ?s <u:q> ?y } FILTER NOT EXISTS { ?s <u:r> ?y } }",
        "SELECT ?s ?y { ?s ?p ?x OPTIONAL { ?s <u:q> ?y FILTER NOT EXISTS { ?y <u:r> ?x } } }",
        "SELECT ?s ?y { ?s ?p ?x { ?s <u:q> ?y FILTER NOT EXISTS { ?y <u:r> ?z } } }",
        "SELECT ?s ?y { ?s ?p ?x { SELECT ?s ?y { ?s <u:q> ?y FILTER NOT EXISTS { ?y <u:r> ?x } } } }",
    ):
        assert exact_text(text) == text


def test_a_blank_node_of_a_text_is_one_in_a_solution_and_another_in_another(store: ox.Store) -> None:
    text = """PREFIX : <http://ex/> SELECT ?x ?y ?z ?e {
      { ?s :in ?street BIND(BNODE('any text') AS ?x) BIND(BNODE(CONCAT('any ', 'text')) AS ?y) BIND(BNODE('z') AS ?z) }
      BIND(BNODE(7) AS ?e)
    }"""
    found = store.query(exact_text(text))
    assert isinstance(found, ox.QuerySolutions)
    rows = [tuple(row) for row in found]
    assert len(rows) == 5
    assert all(x == y != z and isinstance(x, ox.BlankNode) and e is None for x, y, z, e in rows)
    assert len({term for x, _, z, _ in rows for term in (x, z)}) == 10
