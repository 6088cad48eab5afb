from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, QuerySyntaxError, UpdateSyntaxError
from protocol.sparql.syntax import query_error, query_fault, refuse_misreading, require_update, update_error

BASE = "http://example.org/"


def assert_marked(error: ProtocolError, text: str, said: str) -> None:
    """The error says this, and its place is that of the mark."""
    offset = text.index("¦")
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    assert said in error.detail
    assert (error.line, error.column) == (line, column)
    assert error.detail.endswith(f"(line {line}, column {column})")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "ASK { SERVICE <http://localhost:1/sparql> { ?s ?p ?o } }",
        "SELECT * FROM <http://localhost:1/graph> { ?s ?p 'é'@en, '1'^^<http://e/t> }",
        "ASK { " + "".join(f"VALUES ?v{i} {{ 1 2 3 4 5 6 7 8 9 }} " for i in range(30)) + "FILTER(false) }",
    ],
)
def test_a_query_is_accepted_and_never_evaluated(text: str) -> None:
    assert query_fault(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * WHERE { ?s ?p ¦}", "unexpected }: expected a variable"),
        ("PREFIX : <urn:> SELECT * { :v1.2.3 :p.q.r :o. ?s :p.q.r ¦} # :v1.2.3", "unexpected }: expected a variable"),
        ("SELECT * {\r\n 'é😀' ?p 3 . ?s ?p ¦] }", "unexpected ]"),
        ("SELECT ?x ¦WERE { ?x ?y ?z }", "unexpected WERE"),
        ("SELECT ?x { ?x ?y ?z ¦FLTER(?x) }", "unexpected FLTER"),
        ("SELECT ?x { FILTER(?x + ¦) }", "unexpected )"),
        ("SELECT ?x { FILTER(¦FOO(?x)) }", "unexpected FOO"),
        ("SELECT ?x { ?x ?y ?z } ORDER ¦?x", "unexpected ?x"),
        ("SELECT ?x { ?x ?y ?z } LIMIT ¦x", "unexpected x"),
        ("SELECT * { ?s ¦foo:x 3 }", "the prefix foo: is not declared: write PREFIX foo: <…>"),
        ("SELECT * { ¦<x> ?p 3 }", "<x> is relative"),
        ("SELECT * { ?s ¦<http://e/a b> 3 }", "<http://e/a b> is not an IRI: a space is written %20 in one"),
        ("SELECT * { ?s ?p ¦<urn:{a}> }", "<urn:{a}> is not an IRI: { is written %7B in one"),
        ("SELECT * { ?s ?p ?o FILTER(?o << 3 && ?o ¦> 4) }", "unexpected >"),
        ("SELECT * { _:a ?p 1 . { ¦_:a ?p 2 } }", "unexpected _:a"),
        ('SELECT * {\n ?s ?p ¦"x .\n ?s ?q 1\n}\n', 'the string that begins with " is not closed in its line'),
        ("SELECT * { ?s ?p ?o FILTER(?o = 1 ¦& ?s = 2) }", "'&' starts nothing that SPARQL knows"),
        ("SELECT * { ?s ?p 1 ¦", "unexpected the end of the query"),
        ("¦", "unexpected the end of the query"),
        ("SELECT ?s (COUNT(?p) AS ?c) { ?s ?p ?o }¦", "The SELECT contains a variable that is unbound"),
        ("SELECT * { ?x ?y ?z } GROUP BY ?x¦", "SELECT * is not authorized with GROUP BY"),
    ],
)
def test_a_fault_is_located_at_the_token_that_does_not_fit(text: str, said: str) -> None:
    fault = query_fault(text.replace("¦", ""))
    assert fault is not None
    assert fault.offset == text.index("¦")
    assert said in fault.detail


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT *\n{ ?s ?p ¦}", "unexpected }: expected a variable"),
        ("SELECT * { ?s <\\u0061> '\\u0041' .\r\n\t¦; }", "unexpected ;"),
        ("SELECT * { ?s ?p TRUE ¦] }", "unexpected ]"),
        (r"S¦\u0045LECT * {}", "codepoint escapes are read in IRIs and strings only"),
        ("SELECT * { <relative> ?p ¦<http://[> }", "<http://[> is not an IRI"),
        ("¦", "unexpected the end of the query"),
    ],
)
def test_the_error_of_a_query_has_its_place_in_the_text_as_it_was_sent(text: str, said: str) -> None:
    error = query_error(text.replace("¦", ""), BASE)
    assert isinstance(error, QuerySyntaxError)
    assert_marked(error, text, said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("INSERT DATA {\n<a> ¦}", "unexpected }: expected a variable or an IRI"),
        ("CLEAR ALL ; ¦nonsense", "unexpected nonsense"),
        ("¦SELECT * {}", "SELECT begins a query: send it as application/sparql-query, or as the parameter query"),
        ("BASE <http://e/> PREFIX : <> ¦ask {}", "ask begins a query"),
        ("INSERT {} WHERE {} ; ¦SELECT * {}", "unexpected SELECT"),
        ("PREFIX ¦ex <http://e/> CLEAR ALL", "unexpected ex"),
        ("PREFIX ex: <http://e/>\nINSERT { ?s ex:p ¦o } WHERE {}", "unexpected o"),
        ("INSERT DATA { ¦ex:a <b> 3 }", "the prefix ex: is not declared: write PREFIX ex: <…>"),
        ("INSERT DATA { <a> <b> ?x }¦", "without variables, whose subjects are IRIs or blank nodes"),
        ('INSERT DATA { "a" <b> 1 }¦', "whose subjects are IRIs or blank nodes"),
        ("DELETE DATA { ¦<urn:a|b> <b> 1 }", "<urn:a|b> is not an IRI: | is written %7C in one"),
        ("INSERT DATA { _:b <p> 1 } ; INSERT DATA { ¦_:b <p> 2 }", "The blank node _:b cannot be shared"),
        ("INSERT DATA {\n<a> <b> ¦'x }\n", "the string that begins with ' is not closed in its line"),
        ("DELETE DATA { <a> <b> 1 ¦", "unexpected the end of the update"),
    ],
)
def test_the_error_of_an_update_has_its_place(text: str, said: str) -> None:
    written = text.replace("¦", "")
    error = update_error(written, BASE)
    assert isinstance(error, UpdateSyntaxError)
    assert_marked(error, text, said)
    with pytest.raises(UpdateSyntaxError, match="line"):
        require_update(written, BASE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PREFIX ex: <http://localhost:1/> CLEAR ALL",
        "LOAD <http://localhost:1/>",
        "LOAD<http://localhost:1/>;",
        # A keyword that runs into a prefix: no word begins this operation.
        "PREFIX ex: <http://localhost:1/> LOADex:a ;",
        "INSERT { ?s ?p ?o } WHERE { SERVICE <http://localhost:1/> { ?s ?p ?o } }",
    ],
)
def test_an_update_is_accepted_and_never_run(text: str) -> None:
    """Nothing listens there: fetching would be an OSError."""
    require_update(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { FILTER(?a¦<?b&&?c>?d) }",
        "SELECT * { FILTER(1¦<?b&&?c>?d) }",
        "SELECT * { FILTER('é'@en¦<ex:b&&ex:c>?d) }",
        "SELECT * { FILTER(?a¦<?b)FILTER(?c>?d) }",
        "SELECT * { FILTER(?x IN (?a¦<?b,?c>?d)) }",
    ],
)
def test_an_iri_that_only_oxigraph_takes_for_comparisons_is_refused_with_its_place(text: str) -> None:
    written = text.replace("¦", "")
    with pytest.raises(QuerySyntaxError) as caught:
        refuse_misreading(written)
    assert_marked(caught.value, text, "one IRI (the longest match, Query section 19.8): write a space after <")
    fault = query_fault(written, BASE)
    assert fault is not None
    assert fault.offset == text.index("¦")


@pytest.mark.parametrize(
    "text",
    [
        "BASE <http://ex/a,b> ASK { <a,b> <c&&d> <e,f> FILTER(?x < ?a && ?b > ?y) }",
        "BASE <http://ex/> ASK { ?s<?p&&q>?o . ?s <p)> 1,2 }",
        "ASK { FILTER(?a<?b && ?c>?d) FILTER(?a < ?b&&?c > ?d) FILTER(?a<?b||?c>?d) }",
        "ASK { FILTER('<?a&&?b>' = ?x) } # ?a<?b&&?c>?d",
    ],
)
def test_iris_and_comparisons_that_everybody_reads_alike_are_left(text: str) -> None:
    refuse_misreading(text, BASE)
    assert query_fault(text, BASE) is None


def test_what_is_no_query_either_way_is_refused_for_its_own_fault() -> None:
    text = "SELECT * { FILTER(?x = ) ?s ?a<?b&&?c>?d }"
    refuse_misreading(text)
    fault = query_fault(text)
    assert fault is not None
    assert fault.offset == text.index(")")


@pytest.mark.parametrize("unit", ["<a", "<a&&", "<,", "?a<?b&&", "?a<?b&&?c> "])
def test_looking_for_misreadings_takes_linear_time(unit: str) -> None:
    # A quadratic search of this would take minutes.
    text = unit * (400_000 // len(unit))
    refuse_misreading(f"SELECT * {{ {text[:400_000]} ")


def test_a_long_text_has_a_place_too() -> None:
    values = "1 " * 100_000
    error = update_error(f"INSERT DATA {{ <a> <b> 1 }} ;\nDELETE WHERE {{ VALUES ?x {{ {values} }} }}", BASE)
    assert error.line == 2
    assert query_error(f"SELECT * {{\n VALUES ?x {{ {values} }} ] }}").line == 2
