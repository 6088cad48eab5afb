"""What printed queries write and no grammar of SPARQL has (docs/language.md, "Liberties of printed queries")."""

from __future__ import annotations

import pytest

from protocol.errors import QuerySyntaxError
from protocol.grammar.one_shot import as_standard
from protocol.grammar.parser import parse, read_query
from protocol.language.model import ContinuousQuery

STREAM = "FROM STREAM <u:s> [RANGE 10s]"


def continuous(text: str) -> ContinuousQuery:
    query = parse(text)
    assert isinstance(query, ContinuousQuery)
    return query


@pytest.mark.parametrize(
    ("printed", "standard"),
    [
        (f"{STREAM} SELECT ?a {{ ?a ?b ?c }}", "SELECT ?a { ?a ?b ?c }"),
        (f"PREFIX : <u:> {STREAM} ASK {{ :a ?b ?c }}", "PREFIX : <u:> ASK { :a ?b ?c }"),
        (f"SELECT ?a, ?b ?c, (1 AS ?d) {STREAM} {{ ?a ?b ?c }}", "SELECT ?a ?b ?c (1 AS ?d) { ?a ?b ?c }"),
        (f"SELECT COUNT (DISTINCT *) AS ?n {STREAM} {{ ?a ?b ?c }}", "SELECT (COUNT(DISTINCT *) AS ?n) { ?a ?b ?c }"),
        (
            f"SELECT ?a, SUM(?c) / 2 as ?n {STREAM} {{ ?a ?b ?c }} GROUP BY ?a",
            "SELECT ?a (SUM(?c) / 2 AS ?n) { ?a ?b ?c } GROUP BY ?a",
        ),
        (f"SELECT * {STREAM} {{ ?a ?b ?c }} UNION {{ ?c ?b ?a }}", "SELECT * { { ?a ?b ?c } UNION { ?c ?b ?a } }"),
        (f"SELECT * {STREAM} {{ ?a ?b ?c }} FILTER (?c > 3)", "SELECT * { ?a ?b ?c FILTER (?c > 3) }"),
        (
            f"SELECT * {STREAM} {{ ?a ?b ?c }} UNION {{ ?c ?b ?a }} FILTER isIRI(?a) ORDER BY ?a",
            "SELECT * { { ?a ?b ?c } UNION { ?c ?b ?a } FILTER isIRI(?a) } ORDER BY ?a",
        ),
        (
            f"SELECT * {STREAM} {{ ?a ?b ?c FILTER MINUS {{ ?a <u:p> ?d }} FILTER (?c > 3) }}",
            "SELECT * { ?a ?b ?c MINUS { ?a <u:p> ?d } FILTER (?c > 3) }",
        ),
        (
            f"SELECT * {STREAM} {{ ?a ?b ?c }} FILTER MINUS {{ ?a <u:p> ?d }}",
            "SELECT * { ?a ?b ?c MINUS { ?a <u:p> ?d } }",
        ),
        (
            f"SELECT ?a {STREAM} {{ ?a ?b ?c }} GROUP BY ?a HAVING COUNT(?c) > 3 && ?a != <u:a> LIMIT 1",
            "SELECT ?a { ?a ?b ?c } GROUP BY ?a HAVING (COUNT(?c) > 3 && ?a != <u:a>) LIMIT 1",
        ),
        (
            f"SELECT ?a {STREAM} {{ ?a ?b ?c }} GROUP BY ?a HAVING (COUNT(?c) + 1) > 3 ORDER BY ?a",
            "SELECT ?a { ?a ?b ?c } GROUP BY ?a HAVING ((COUNT(?c) + 1) > 3) ORDER BY ?a",
        ),
    ],
)
def test_a_printed_query_is_that_of_the_standard(printed: str, standard: str) -> None:
    assert continuous(printed).expression == read_query(standard)
    with pytest.raises(QuerySyntaxError):
        read_query(printed.replace(STREAM, "FROM <u:g>"))


def test_a_no_break_space_is_white_space() -> None:
    printed = continuous("SELECT\u00a0?a FROM STREAM <u:s> [RANGE\u00a010\u00a0s] {\u00a0?a ?b ?c }")
    assert printed.expression == read_query("SELECT ?a { ?a ?b ?c }")


def test_having_sees_the_aliases_of_select() -> None:
    printed = continuous(
        f"SELECT ?a (COUNT(?c) AS ?n) (?n + 1 AS ?m) {STREAM} {{ ?a ?b ?c }} GROUP BY ?a HAVING (?n > 3) (?m < 9)"
    )
    nested = "SELECT ?a (COUNT(?c) AS ?n) (?n + 1 AS ?m) { ?a ?b ?c } GROUP BY ?a"
    assert repr(read_query(nested).pattern.pattern) in repr(printed.expression)  # type: ignore[union-attr]


def test_what_is_in_scope_already_is_what_having_sees() -> None:
    query = f"SELECT ?a (COUNT(?c) AS ?n) {STREAM} {{ ?a ?b ?c }} GROUP BY ?a HAVING (?a != <u:a>)"
    assert continuous(query).expression == read_query(query.replace(STREAM, ""))


@pytest.mark.parametrize(
    ("text", "said", "column"),
    [
        (f"SELECT ?a, {STREAM} {{ ?a ?b ?c }}", "a variable or (expression AS ?variable) after the comma", 12),
        (f"SELECT COUNT(*) {STREAM} {{ ?a ?b ?c }}", "expected AS after the expression", 17),
        (f"SELECT * {STREAM} {{ ?a ?b ?c }} UNION ?a ?b ?c", "expected {, found ?a", 59),
        (f"SELECT * {STREAM} {{ ?a ?b ?c }} FILTER ?a", "an expression in brackets or a call after FILTER", 60),
        (f"SELECT ?a {STREAM} {{ ?a ?b ?c }} GROUPBY ?a", "GROUPBY is two words: write GROUP BY", 54),
        (f"SELECT ?a-b {STREAM} {{ ?a ?b ?c }}", "a variable has no hyphen in its name: write ?a_b", 10),
        (f"SELECT ?b {STREAM} {{ ?a ?b ?c }} GROUPBY ?a HAVING (COUNT(*) > 1)", "write GROUP BY", 54),
        (f"SELECT * {STREAM} {{ ?a ?b ? c }}", "the name of a variable follows its ? at once: write ?c", 48),
        (f"SELECT * {STREAM} {{ ?a isIn ?c }}", "a name has a prefix, as in :isIn", 45),
        (f"SELECT * {STREAM} {{ GRAPH w_1 {{ ?a ?b ?c }} }}", "a name has a prefix, as in :w_1", 48),
        (f"SELECT * {STREAM} {{ ?a ?b ?c FILTER(?a = 'x' ^^ ?b > 3) }}", "conditions are joined with &&", 70),
        (f"SELECT * {STREAM} {{ {{ ?a ?b ?c }}", "expected } for the { of line 1, column 40", 54),
        (f"SELECT ?a {STREAM} {{ ?a ?b ?c GROUP BY ?a", "expected } for the { of line 1, column 41, found GROUP", 52),
        (f"// all\nSELECT * {STREAM} {{ ?a ?b ?c }}", "a comment begins with #, and not with //", 1),
    ],
)
def test_slips_are_no_liberties(text: str, said: str, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        parse(text)
    assert said in raised.value.detail
    assert raised.value.column == column


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('"P3SEC"^^xsd:duration', "'P3SEC' is not a duration: write PT3S"),
        ('"PT3S"^^xsd:Duration', "is no xsd:duration, but of Duration: write ^^xsd:duration"),
        ("P3SEC", "write PT3S"),
        ("T10M", "a whole number with or without a unit (10s, 500) or PT10S, found T10M"),
        ("PT10", "write PT10S, 10s, 10 SECONDS or milliseconds"),
        ("3SECS", "SECS is no unit of time"),
    ],
)
def test_damaged_durations_are_told_what_they_mean(written: str, said: str) -> None:
    for text in (
        f"SELECT * FROM STREAM <u:s> [RANGE ¦{written}] {{ ?a ?b ?c }}",
        f"REGISTER QUERY q COMPUTED EVERY ¦{written} AS SELECT * {STREAM} {{ ?a ?b ?c }}",
    ):
        with pytest.raises(QuerySyntaxError) as raised:
            parse(text.replace("¦", ""))
        assert said in raised.value.detail
        assert raised.value.column is not None
        assert 0 <= raised.value.column - text.index("¦") - 1 <= 1  # at the unit, where that is wrong


@pytest.mark.parametrize(
    "text",
    [
        'static String q = "select * from pattern [every a=Reading -> b=Reading where timer:within(1 min)]"',
        "select * from pattern [every a=Reading(value > 30) -> b=Reading(value > 40)]",
        "create schema Reading (room string, value double)",
        "create window Latest.win:keepall() as (room string)",
        "insert into Warm select room from Reading where value > 30",
        "on Reading merge Latest where Latest.room = Reading.room when not matched then insert select *",
    ],
)
def test_what_looks_like_epl_is_told_which_page_to_read(text: str) -> None:
    with pytest.raises(QuerySyntaxError, match=r"Esper's EPL.*docs/coming-from\.md"):
        as_standard(parse(text).text)  # which is in two steps, as an endpoint takes them


@pytest.mark.parametrize(
    ("dataset", "pattern", "names"),
    [
        ("FROM STREAM <u:s> [RANGE 10s]", "GRAPH <u:s> { ?a ?b ?c }", ["u:s"]),
        ("FROM STREAM <u:s> [RANGE 10s]", "GRAPH ?g { ?a ?b ?c }", ["u:s"]),
        ("FROM STREAM <u:s> [RANGE 10s]", "FILTER EXISTS { { SELECT * { GRAPH <u:s> { ?a ?b ?c } } } }", ["u:s"]),
        ("FROM STREAM <u:s> [RANGE 10s]", "GRAPH <u:t> { ?a ?b ?c }", [None]),
        ("FROM STREAM <u:s> [RANGE 10s]", "?a ?b ?c", [None]),
        ("FROM STREAM <u:s> [RANGE 10s] FROM NAMED <u:s>", "GRAPH <u:s> { ?a ?b ?c }", [None]),
        ("FROM STREAM <u:s> [RANGE 10s] FROM NAMED <u:g>", "GRAPH ?g { ?a ?b ?c }", [None]),
        ("FROM STREAM <u:s> [RANGE 10s] FROM <u:g>", "GRAPH ?g { ?a ?b ?c }", ["u:s"]),
        ("FROM STREAM <u:s> [RANGE 10s] FROM NAMED STREAM <u:t> [NOW]", "GRAPH ?g {}", [None, "u:t"]),
        ("FROM STREAM <u:s> [RANGE 10s] FROM STREAM <u:t> [NOW]", "GRAPH <u:t> { ?a ?b ?c }", [None, "u:t"]),
        ("FROM STREAM <u:s> [RANGE 10s] FROM NAMED STREAM <u:s> [NOW]", "GRAPH <u:s> {}", [None, "u:s"]),
        ("FROM NAMED WINDOW <u:w> ON <u:s> [NOW] FROM STREAM <u:s> [NOW]", "WINDOW ?w { ?a ?b ?c }", ["u:w", None]),
        ("FROM STREAM <u:s> [NOW]", "GRAPH ?g {} STREAM <u:t> [NOW] {}", ["u:s", "urn:x-sparql-streams:window:1"]),
        (
            "FROM STREAM <u:s> [NOW]",
            "GRAPH ?g {} { ?a ?b ?c WINDOW ELEMS 1 }",
            ["u:s", "urn:x-sparql-streams:window:1"],
        ),
    ],
)
def test_the_window_of_an_unnamed_stream_is_the_graph_of_its_name_too(
    dataset: str, pattern: str, names: list[str | None]
) -> None:
    assert [window.name for window in continuous(f"SELECT * {dataset} {{ {pattern} }}").windows] == names


@pytest.mark.parametrize("written", ["1 MINUTES SLIDE 10s", "FROM NOW - 1 MINUTES TO NOW STEP 10s"])
def test_what_sparqlstream_names_is_in_the_default_graph_too(written: str) -> None:
    (window,) = continuous(f"SELECT * FROM NAMED STREAM <u:s> [{written}] {{ ?a ?b ?c }}").windows
    (same,) = continuous("SELECT * FROM STREAM <u:s> [RANGE 1m STEP 10s] { ?a ?b ?c }").windows
    assert window.window == same.window
    assert (window.graph, window.also, window.declared) == (None, "u:s", True)


@pytest.mark.parametrize("name", ["u:w", "u:s"])
@pytest.mark.parametrize("written", ["1 MINUTES SLIDE 10s", "FROM NOW - 1 MINUTES TO NOW STEP 10s"])
def test_a_window_that_is_named_is_that_graph_alone_in_the_words_of_sparqlstream_too(written: str, name: str) -> None:
    (window,) = continuous(f"SELECT * FROM NAMED WINDOW <{name}> ON <u:s> [{written}] {{ ?a ?b ?c }}").windows
    (same,) = continuous(f"SELECT * FROM NAMED WINDOW <{name}> ON <u:s> [RANGE 1m STEP 10s] {{ ?a ?b ?c }}").windows
    assert window.window == same.window
    assert (window.graph, window.also, window.declared) == (name, None, True)
