"""What is refused at registration is named with its line and column in the text that was sent."""

from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import compile_query
from spark_backend.compiler.refusals import NotCompilable, TooDeep, with_place

# Comments, strings, IRIs and names that spell what is refused, before it is there.
BEFORE = """# SERVICE MINUS RAND() EXISTS math:sqrt(1) ex:custom(?v)
PREFIX ex: <http://ex/>   # ex:custom(
PREFIX math: <http://www.w3.org/2005/xpath-functions/math#>
PREFIX service: <http://ex/SERVICE>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
REGISTER QUERY q AS
SELECT *
FROM STREAM <http://ex/s> [RANGE 10s STEP 5s]
WHERE {
  ?s ex:p ?v ; ex:q "SERVICE RAND( EXISTS { MINUS ex:custom(1)", service: ; ex:r 'tab\\there "quoted\\"' .
"""
LINE = BEFORE.count("\n") + 1


def refusal(text: str) -> ProtocolError:
    query = parse(text, base="http://base/sparql")
    assert isinstance(query, ContinuousQuery)
    with pytest.raises(ProtocolError) as caught:
        compile_query(query, base="http://base/sparql")
    return caught.value


@pytest.mark.parametrize(
    ("rest", "kind", "line", "at", "named"),
    [
        ("  FILTER EXISTS { SERVICE <http://ex/> {} } }", UnsupportedFeature, 0, "SERVICE", "is not evaluated"),
        ("  OPTIONAL {\n    service silent ?x { ?s ?p ?o } } }", UnsupportedFeature, 1, "service", "SERVICE"),
        ("  BIND(ex:custom(?v) AS ?r) }", UnsupportedFeature, 0, "ex:custom", "<http://ex/custom> is not known"),
        ("  BIND(<http://ex/custom>(?v) AS ?r) }", UnsupportedFeature, 0, "<http://ex/custom>", "is not known"),
        ("  BIND(<custom>(?v) AS ?r) }", UnsupportedFeature, 0, "<custom>", "<http://base/custom> is not known"),
        ("\n\tFILTER(?v > 1 &&\n\t ex:custom() > 2) }", UnsupportedFeature, 2, "ex:custom", "is not known"),
        ("  BIND(xsd:datetime(?v) AS ?r) }", UnsupportedFeature, 0, "xsd:datetime", "XMLSchema#dateTime>?"),
        ("  FILTER(xsd:integer(?v, 2) = xsd:integer(?v)) }", UnsupportedFeature, 0, "xsd:integer(?v, 2", "1 argument"),
        ("  FILTER(xsd:date(?v) > xsd:date()) }", UnsupportedFeature, 0, "xsd:date()", "takes 1 argument, not 0"),
        ("  BIND(math:pow(2) AS ?x) }", UnsupportedFeature, 0, "math:pow", "takes 2 arguments, not 1"),
        ("  BIND(math:pi(CONCAT('a', 'b')) AS ?x) }", UnsupportedFeature, 0, "math:pi", "takes 0 arguments, not 1"),
        ("  FILTER EXISTS { ?s ?p ?o .\n FILTER(rand() < 2) } }", UnsupportedFeature, 1, "rand", "inside of EXISTS"),
        (
            "  BIND(UUID() AS ?id) FILTER NOT EXISTS { BIND(bnode() AS ?x) } }",
            UnsupportedFeature,
            0,
            "bnode",
            "before the FILTER",
        ),
    ],
)  # fmt: skip
def test_a_refusal_has_the_place_of_what_is_refused(
    rest: str, kind: type[ProtocolError], line: int, at: str, named: str
) -> None:
    error = refusal(BEFORE + rest)
    assert type(error) is kind
    assert named in error.detail
    assert error.status == 501
    assert error.line == LINE + line
    assert error.column == rest.split("\n")[line].index(at) + 1
    assert error.detail.endswith(f"(line {error.line}, column {error.column})")


def test_what_is_not_called_is_not_pointed_at() -> None:
    error = refusal(BEFORE + "  ?s ex:custom ?c .\n FILTER(?c = ex:custom || ex:custom(?c)) }")
    assert (error.line, error.column) == (LINE + 1, 27)


def test_codepoint_escapes_before_it_move_the_place() -> None:
    rest = "  ?s ?p '\\u0041\\U00000042' . BIND(ex:custom(?v) AS ?r) }"
    error = refusal(BEFORE + rest)
    assert (error.line, error.column) == (LINE, rest.index("ex:custom") + 1)


def test_what_nests_too_deeply_is_pointed_at_where_it_does() -> None:
    text = "SELECT * {\n  FILTER(?v)\n  FILTER(1 + (2 * (3 - - ?v))) }"
    error = with_place(TooDeep("too deep"), text)
    assert (error.line, error.column) == (3, 24)


def test_what_has_no_place_of_its_own_is_the_query_form_s() -> None:
    error = with_place(NotCompilable("nowhere"), "# SELECT\nPREFIX select: <http://ex/>\n  select * {}")
    assert (error.line, error.column) == (3, 3)


@pytest.mark.parametrize("call", ["ADJUST(?v)", "Adjust(?v, ?v)"])
def test_functions_beyond_the_standard_are_refused_by_name(call: str) -> None:
    rest = f"  ?s ?p '{call}' . # {call}\n BIND({call} AS ?r) }}"
    with pytest.raises(UnsupportedFeature, match="is not part of SPARQL") as caught:
        parse(BEFORE + rest)
    assert (caught.value.line, caught.value.column) == (LINE + 1, 7)
