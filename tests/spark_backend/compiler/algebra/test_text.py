"""The algebra as a person reads it."""

from __future__ import annotations

from protocol.language import algebra as a
from spark_backend.compiler.algebra.text import algebra_text, prefixes, term_text
from spark_backend.compiler.plan import Plan, compile_query
from tests.spark_backend.compiler.one_shot import PREFIXES, Content, continuous

XSD = "http://www.w3.org/2001/XMLSchema#"
EMPTY = Content({None: "", "http://ex/w": ""})


def plan(text: str) -> Plan:
    return compile_query(continuous(text, EMPTY), passes=())


def lines(text: str) -> list[str]:
    """The algebra of a query as it was written, without any pass."""
    made = plan(text)
    assert made.algebra is not None
    return algebra_text(made.algebra, made.parameters, prefixes(PREFIXES + text))


def test_an_operator_is_a_line_and_its_operands_are_below_it() -> None:
    text = (
        "SELECT ?s ?v {GRAPH :w {?s :p ?v ; :q :x} OPTIONAL {?s :r ?w FILTER(?w > 3)} MINUS {?s a :No}} "
        "ORDER BY DESC(?v) ?s LIMIT 10 OFFSET 2"
    )
    assert lines(text) == [
        "Slice LIMIT 10 OFFSET 2",
        "  Project ?s ?v",
        "    OrderBy DESC(?v) ASC(?s)",
        "      Minus",
        "        LeftJoin on ?w > 3",
        "          Graph :w",
        "            BGP",
        "              ?s :p ?v .",
        "              ?s :q :x .",
        "          BGP",
        "            ?s :r ?w .",
        "        BGP",
        "          ?s rdf:type :No .",
    ]


def test_joins_and_unions_of_many_are_one_operator() -> None:
    assert lines("SELECT * {{?s :p 1} UNION {?s :p 2} UNION {?s :p 3} {?s :q ?a} {?s :q ?b}}") == [
        "Project ?s ?a ?b",
        "  Join",
        "    Union",
        "      BGP",
        "        ?s :p 1 .",
        "      BGP",
        "        ?s :p 2 .",
        "      BGP",
        "        ?s :p 3 .",
        "    BGP",
        "      ?s :q ?a .",
        "    BGP",
        "      ?s :q ?b .",
    ]


def test_groups_say_their_keys_and_aggregates() -> None:
    text = "SELECT ?s (GROUP_CONCAT(DISTINCT ?v; SEPARATOR='\"') AS ?all) (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s"
    assert any(
        'Group by ?s: _:1 = GROUP_CONCAT(DISTINCT ?v; SEPARATOR="\\""); _:0 = COUNT(*)' in line for line in lines(text)
    )


def test_exists_and_paths_say_what_is_asked_and_what_a_step_is() -> None:
    assert lines("SELECT ?s {?s :p ?v FILTER NOT EXISTS {?s :q [ :r 1 ]} }") == [
        "Project ?s",
        "  Filter !_:exists0",
        "    Extend _:exists0 = EXISTS",
        "      BGP",
        "        ?s :p ?v .",
        "      exists:",
        "        BGP",
        "          ?s :q _:1 .",
        "          _:1 :r 1 .",
    ]
    assert lines("SELECT ?s {?s (:p|:q)+ :b}")[1] == "  Path ?s (step)+ :b"


def test_constants_that_were_lifted_are_those_of_the_query() -> None:
    one, other = (plan(f"SELECT ?s {{?s :p ?v FILTER(?v > {constant} && ?s != :a)}}") for constant in (20, 21))
    assert one.sql == other.sql
    for made, constant in ((one, 20), (other, 21)):
        assert made.algebra is not None
        assert f"  Filter (?v > {constant}) && (?s != <http://ex/a>)" in algebra_text(made.algebra, made.parameters)


def test_terms_are_written_as_short_as_they_can_be() -> None:
    names = {"http://ex/": ":", "http://ex/deep/": "d:"}
    assert term_text("<http://ex/deep/x>", names) == "d:x"
    assert term_text("<http://ex/deep/er/x>", names) == "<http://ex/deep/er/x>"
    assert term_text(f'"05"^^<{XSD}integer>', names) == "05"
    assert term_text(f'"1.5"^^<{XSD}double>', names) == '"1.5"^^xsd:double'
    assert term_text(f'"x"^^<{XSD}integer>', names) == '"x"^^xsd:integer'
    assert term_text('"a^^<b>"@en', names) == '"a^^<b>"@en'
    assert len(term_text(f'"{"long " * 1000}"', names)) < 300


def test_prefixes_are_not_looked_for_in_strings() -> None:
    assert prefixes("PREFIX ex: <http://ex/> SELECT * {?s ?p 'PREFIX no: <http://no/>'}") == {"http://ex/": "ex:"}


def test_many_rows_and_long_filters_are_cut() -> None:
    values = lines(f"SELECT * {{VALUES ?v {{ {' '.join(map(str, range(30)))} }} }}")
    assert values[1] == "  Values (?v) { (0) (1) (2) (3) (4) and 25 more rows }"
    long = lines("SELECT * {?s :p ?v FILTER(" + " || ".join(f"?v = '{n}{'x' * 100}'" for n in range(60)) + ")}")
    assert all(len(line) < 1100 for line in long)


def test_an_estimate_stands_beside_its_triple_pattern() -> None:
    triple = a.TriplePattern(a.Variable("s"), a.Constant("<http://ex/p>"), a.Variable("o"))
    query = a.Query(a.BGP((triple,)), ())
    assert algebra_text(query, estimate=lambda asked: "about 3" if asked is triple else "") == [
        "BGP",
        "  ?s <http://ex/p> ?o .   # about 3",
    ]
