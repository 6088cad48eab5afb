"""What shapes graphs are taken, what is refused, and how results are told."""

from __future__ import annotations

from typing import Any, cast

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import UnsupportedFeature
from protocol.shapes.components import KINDS
from protocol.shapes.datatypes import lexical_test
from protocol.shapes.errors import InvalidShapes
from protocol.shapes.graph import Graph
from protocol.shapes.report import as_json, in_words
from protocol.shapes.shape import MOST_RESULTS, Results, Shape
from protocol.shapes.values import bound_test, is_less, pattern_test
from protocol.shapes.vocabulary import sh
from protocol.terms import XSD
from tests.protocol.shapes.shapes_text import compiled, report_graph, results, triples, validated

_READING = "ex:R a sh:NodeShape ; sh:targetClass ex:Reading ; sh:property [ sh:path ex:value ; {} ] ."


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ex:S sh:targetClass ex:C ; sh:minCounts 1 .", r"<http://ex/S>: there is no sh:minCounts for shapes"),
        ("ex:S sh:targetClass ex:C ; sh:minCount 1 .", r"<http://ex/S>: sh:minCount is for property shapes"),
        ("ex:S sh:targetClass 'C' .", r'sh:targetClass must be an IRI, not "C"'),
        ("ex:S a sh:PropertyShape ; sh:targetClass ex:C .", "must have a sh:path"),
        ("ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:path ex:p .", "must not have a sh:path"),
        ("ex:S sh:targetClass ex:C ; sh:nodeKind ex:IRI .", "sh:nodeKind must be one of sh:IRI, "),
        ("ex:S sh:targetClass ex:C ; sh:datatype xsd:int, xsd:long .", "one sh:datatype at most, this has 2"),
        ("ex:S sh:targetClass ex:C ; sh:property [ sh:path ex:p ; sh:maxCount 1.0 ] .", "must be an xsd:integer"),
        ("ex:S sh:targetClass ex:C ; sh:property [ sh:path ( ex:p ) ] .", "a list of paths must have at least two"),
        ("ex:S sh:targetClass ex:C ; sh:property [ sh:path [ ex:p ex:q ] ] .", "a property path must be"),
        ("ex:S sh:targetClass ex:C ; sh:property [ sh:path 'p' ; sh:minCount 1 ] .", "a property path must be"),
        ("ex:S sh:targetClass ex:C ; sh:property [ sh:minCount 1 ] .", "sh:minCount is for property shapes"),
        ("ex:S sh:targetClass ex:C ; sh:in ex:list .", "sh:in must be a list"),
        ("ex:S sh:targetClass ex:C ; sh:in _:l . _:l rdf:first 1 ; rdf:rest _:l .", "sh:in must be a list"),
        ("ex:S sh:targetClass ex:C ; sh:pattern '(' .", "is no regular expression"),
        ("ex:S sh:targetClass ex:C ; sh:languageIn ( 'en'@en ) .", "a member of sh:languageIn must be a text"),
        ("ex:S sh:targetClass ex:C ; sh:closed 'yes' .", "sh:closed must be true or false"),
        ("ex:S sh:targetClass ex:C ; sh:node ex:S .", "must not refer to itself"),
        ("ex:S sh:targetClass ex:C ; sh:message 1 .", "sh:message must be a text"),
        ("ex:S sh:targetClass ex:C ; sh:message 'a', 'b' .", "one sh:message in a language"),
        ("ex:S sh:targetClass ex:C ; sh:node [ sh:path ex:p ] .", "sh:node must be a node shape"),
        ("ex:S sh:targetClass ex:C ; sh:not 1 .", "a shape must be an IRI or a blank node"),
        ("ex:S a sh:NodeShape ; sh:nodeKind sh:IRI .", "no shape says what it is for"),
        ("ex:S ex:p", "line 7, column 10"),
        (f"ex:S ex:p {'<<( ex:S ex:p ' * 51}1{')>>' * 51} .", "line 7, column 711: triple terms within"),
    ],
)  # fmt: skip
def test_what_is_ill_formed_is_refused_with_its_node_and_what_would_be_right(text: str, problem: str) -> None:
    with pytest.raises(InvalidShapes, match=problem):
        compiled(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ex:S sh:targetClass ex:C ; sh:sparql [ sh:select 'SELECT $this {}' ] .", "sh:sparql is not SHACL Core"),
        ("ex:S sh:targetClass ex:C ; sh:rule [] .", "sh:rule is not SHACL Core"),
        ("ex:S sh:target [] .", "sh:target is not SHACL Core"),
        ("ex:K a sh:ConstraintComponent . ex:S sh:targetClass ex:C .", "sh:ConstraintComponent is not SHACL Core"),
        ("<> owl:imports ex:other . ex:S sh:targetClass ex:C .", "owl:imports is not followed"),
        ("<> sh:entailment ex:RDFS . ex:S sh:targetClass ex:C .", "no entailment regime"),
    ],
)
def test_what_is_not_core_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UnsupportedFeature, match=problem):
        compiled(text)


def test_shapes_that_reach_each_other_too_often_are_refused() -> None:
    doubling = "".join(f"ex:S{level} sh:and ( ex:S{level + 1} [ sh:node ex:S{level + 1} ] ) .\n" for level in range(20))
    with pytest.raises(InvalidShapes, match="more than 100000 times"):
        compiled(f"ex:S0 sh:targetClass ex:C .\n{doubling} ex:S20 sh:nodeKind sh:IRI .")
    chain = "".join(f"ex:S{level} sh:node ex:S{level + 1} .\n" for level in range(100))
    with pytest.raises(InvalidShapes, match="more than 64 deep"):
        compiled(f"ex:S0 sh:targetClass ex:C .\n{chain} ex:S100 sh:nodeKind sh:IRI .")


def test_an_instance_of_a_subclass_is_a_target_whoever_says_so() -> None:
    shape = _READING.format("sh:minCount 1")
    assert len(results(shape + " ex:Heat rdfs:subClassOf ex:Reading .", "ex:r a ex:Heat .")) == 1
    assert (
        len(results(shape, "ex:r a ex:Heat . ex:Heat rdfs:subClassOf ex:Warm . ex:Warm rdfs:subClassOf ex:Reading ."))
        == 1
    )
    assert results(shape, "ex:r a ex:Heat .") == []


@pytest.mark.parametrize("kind", ["rdfs:Class", "owl:Class"])
def test_a_shape_that_is_a_class_is_for_its_instances(kind: str) -> None:
    shape = f"ex:Reading a sh:NodeShape, {kind} ; sh:property [ sh:path ex:value ; sh:minCount 1 ] ."
    assert len(results(shape, "ex:r a ex:Reading . ex:s a ex:Other .")) == 1


def test_a_report_is_told_in_words_as_json_and_as_rdf() -> None:
    shape = _READING.format('sh:datatype xsd:double ; sh:severity sh:Warning ; sh:message "no number"@en')
    found = validated(shape, 'ex:r a ex:Reading ; ex:value "hot" .')
    component = "http://www.w3.org/ns/shacl#DatatypeConstraintComponent"
    assert in_words(found) == '<http://ex/r> <http://ex/value> "hot": no number (sh:DatatypeConstraintComponent)'
    (told,) = as_json(found)["results"]
    assert told.pop("shape").startswith("_:")
    assert told == {
        "focusNode": "http://ex/r",
        "path": "http://ex/value",
        "value": '"hot"',
        "message": "no number",
        "component": component,
        "severity": "http://www.w3.org/ns/shacl#Warning",
    }
    report = report_graph(found)
    (result,) = report.objects("_:report", sh("result"))
    assert report.object(result, sh("value")) == '"hot"'
    assert report.object(result, sh("resultMessage")) == '"no number"@en'
    assert report.object(result, sh("sourceConstraintComponent")) == f"<{component}>"
    assert report.object(result, sh("resultSeverity")) == sh("Warning")


def _levels(count: int, constraint: str) -> str:
    """A shape of so many properties within each other; the constraint is that of the innermost."""
    outer = " sh:property [ sh:path ex:p ;" * (count - 1)
    return f"ex:S sh:targetClass ex:C ; sh:property [ sh:path ex:p ;{outer} {constraint} {']' * count} ."


def _ladder(levels: int) -> str:
    """Two nodes a level, each with both of the next one: twice as many ways lead to each level as to the one before."""
    pairs = [f"ex:{side}{level} ex:p ex:a{level + 1}, ex:b{level + 1} ." for level in range(1, levels) for side in "ab"]
    return "ex:r a ex:C ; ex:p ex:a1, ex:b1 . " + " ".join(pairs)


def test_a_node_is_validated_once_by_each_shape_however_many_ways_lead_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    validated_nodes = 0
    validate = Shape.validate

    def counted(shape: Shape, graph: Graph, focus: str, found: Results) -> None:
        nonlocal validated_nodes
        validated_nodes += 1
        validate(shape, graph, focus, found)

    monkeypatch.setattr(Shape, "validate", counted)
    assert results(_levels(20, "sh:nodeKind sh:IRI"), _ladder(20)) == []
    assert validated_nodes <= 20 * 4


def test_results_are_told_of_each_way_to_a_node_and_counted_beyond_what_a_report_tells() -> None:
    found = validated(_levels(3, "sh:nodeKind sh:Literal"), _ladder(3))
    assert [(one.focus, one.value) for one in found.first] == [
        (f"<http://ex/{focus}2>", f"<http://ex/{value}3>") for _ in "ab" for focus in "ab" for value in "ab"
    ]
    many = validated(_levels(40, "sh:nodeKind sh:Literal"), _ladder(40))
    assert as_json(many)["more"] == 2**40 - MOST_RESULTS
    assert in_words(many).endswith(f"; and {2**40 - 3} more")


_LINKS = st.lists(st.tuples(st.sampled_from("rabc"), st.sampled_from("pq"), st.sampled_from("rabc")), max_size=12)
_NESTED = st.recursive(
    st.sampled_from(("sh:maxCount 1", "sh:minCount 1", "sh:nodeKind sh:Literal", "sh:equals ex:q")),
    lambda inner: st.lists(
        st.builds("sh:property [ sh:path ex:{} ; {} ]".format, st.sampled_from("pq"), inner), min_size=1, max_size=2
    ).map(" ; ".join),
    max_leaves=6,
)


@given(_LINKS, _NESTED)
def test_what_is_remembered_of_nodes_changes_no_result(links: list[tuple[str, str, str]], constraint: str) -> None:
    shape = f"ex:S sh:targetClass ex:C ; sh:property [ sh:path ex:p ; {constraint} ] ."
    data = "ex:r a ex:C . " + " ".join(f"ex:{s} ex:{p} ex:{o} ." for s, p, o in links)
    graph = compiled(shape)
    remembering, forgetting = graph.graph(triples(data)), graph.graph(triples(data))
    forgetting.found = Forgetful()
    told, expected = graph.validate(remembering), graph.validate(forgetting)
    assert (told.count, told.first) == (expected.count, expected.first)
    assert len(told.first) == min(told.count, MOST_RESULTS)


class Forgetful(dict[tuple[int, str], Any]):
    """What keeps nothing."""

    def __setitem__(self, key: tuple[int, str], value: Any) -> None:
        pass


def test_a_report_has_an_end() -> None:
    values = ", ".join(f'"{number}"' for number in range(MOST_RESULTS + 20))
    found = validated(_READING.format("sh:datatype xsd:double"), f"ex:r a ex:Reading ; ex:value {values} .")
    document = as_json(found)
    assert (len(document["results"]), document["more"]) == (MOST_RESULTS, 20)
    assert in_words(found).endswith(f"; and {MOST_RESULTS + 17} more")
    assert len(report_graph(found).objects("_:report", sh("result"))) == MOST_RESULTS


@pytest.mark.parametrize(
    ("datatype", "right", "wrong"),
    [
        ("byte", ["-128", "127", "+5", "007"], ["128", "-129", "1.0", "", "+", "\\u0661"]),
        ("unsignedLong", ["18446744073709551615"], ["18446744073709551616", "-1", "9" * 30]),
        ("negativeInteger", ["-1", "-" + "9" * 30], ["0", "1"]),
        ("date", ["2024-02-29", "2026-12-31Z", "-0001-01-01+14:00", "2000-02-29"], ["2023-02-29", "1900-02-29"]),
        ("date", ["2026-04-30"], ["2026-04-31", "2026-1-1"]),
        ("time", ["24:00:00", "23:59:59.5Z"], ["24:00:01", "1:00:00"]),
        ("duration", ["P1Y2M3DT4H5M6.7S", "-PT1S", "P1D"], ["P", "PT", "P1S", "1D"]),
        ("dayTimeDuration", ["P1DT2H"], ["P1Y"]),
        ("gMonthDay", ["--02-29"], ["--02-30", "02-29"]),
        ("hexBinary", ["", "0aFF"], ["0", "0g"]),
        ("base64Binary", ["", "AAAA", "AA==", "AAA="], ["A", "AA=", "===="]),
        ("language", ["en-GB"], ["en_GB", ""]),
        ("boolean", ["1", "true"], ["yes", "TRUE"]),
        ("dateTimeStamp", ["2026-01-01T00:00:00Z"], ["2026-01-01T00:00:00"]),
        ("token", ["", "a b", "a\u00a0b"], [" a", "a  b", "a\\tb"]),
        ("NCName", ["_a.1-b", "\u0939\u093f\u0928\u094d\u0926\u0940", "col\u00b7lega"], ["1a", "a:b"]),
        ("NCName", [], ["a\u00b2", "\u00aa"]),
        ("Name", ["a:b", ":", "e\u0301"], ["1a", "\u0301e", "a b"]),
        ("NMTOKEN", ["1a", "\u0301e"], ["", "a b", "\u00b2"]),
        ("anyURI", ["any thing"], []),
    ],
)  # fmt: skip
def test_the_lexical_forms_of_datatypes(datatype: str, right: list[str], wrong: list[str]) -> None:
    test = lexical_test(XSD + datatype)
    assert [form for form in right if not test(form)] == []
    assert [form for form in wrong if test(form)] == []


_STORE = ox.Store()


def _asked(expression: str, **terms: ox.Literal) -> bool:
    names = " ".join(f"?{name}" for name in terms)
    found = _STORE.query(
        f"SELECT {names} ({expression} AS ?answer) {{}}",
        substitutions={ox.Variable(name): term for name, term in terms.items()},
    )
    (solution,) = cast(ox.QuerySolutions, found)
    return str(solution["answer"]).startswith('"true"')


_TYPED = st.one_of(
    st.tuples(st.integers(-3, 3).map(str), st.sampled_from(("integer", "decimal", "double", "float", "byte"))),
    st.tuples(st.sampled_from(("0.1", "16777217", "NaN", "INF")), st.sampled_from(("decimal", "float", "double"))),
    st.tuples(
        st.sampled_from(("2026-01-01T00:00:00", "2026-01-01T00:00:00Z", "2025-12-31T23:00:00-01:00")),
        st.just("dateTime"),
    ),
    st.tuples(st.sampled_from(("2026-01-01", "2026-01-02Z")), st.just("date")),
    st.tuples(st.sampled_from(("a", "b", "true", "0")), st.just("string")),
)
_LITERAL = st.one_of(
    _TYPED.map(lambda both: ox.Literal(both[0], datatype=ox.NamedNode(XSD + both[1]))),
    st.just(ox.Literal("a", language="en")),
)


def test_booleans_are_ordered_as_sparql_says_though_oxigraph_has_no_order_for_them() -> None:
    false, true = (f'"{one}"^^<{XSD}boolean>' for one in ("false", "true"))
    assert is_less(false, true, or_equal=False)
    assert not is_less(true, false, or_equal=True)


@settings(max_examples=200, deadline=None)
@given(_LITERAL, _LITERAL, st.booleans())
def test_terms_are_compared_as_sparql_does(left: ox.Literal, right: ox.Literal, or_equal: bool) -> None:
    expected = _asked("?a <= ?b" if or_equal else "?a < ?b", a=left, b=right)
    assert is_less(str(left), str(right), or_equal=or_equal) == expected
    assert bound_test(str(left), least=True, or_equal=or_equal)(str(right)) == expected
    assert bound_test(str(right), least=False, or_equal=or_equal)(str(left)) == expected


_PIECES = st.lists(
    st.sampled_from(
        (
            "a",
            "b",
            ".",
            "-",
            r"\.",
            "[a-c]",
            "[^a]",
            "a*",
            "b+",
            "a?",
            ".{2}",
            "[a-z]{1,3}",
            "(a|bc)",
            "(?:a|b)+",
            r"\d",
            r"\w",
            "/",
            "é",
            "A",
        )
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=200, deadline=None)
@given(
    _PIECES,
    st.sampled_from(("", "^")),
    st.sampled_from(("", "$")),
    st.sampled_from(("", "i")),
    st.text("ab.-c/é1\n", max_size=8),
)
def test_patterns_match_as_in_sparql(pieces: list[str], begin: str, end: str, flags: str, text: str) -> None:
    pattern = begin + "".join(pieces) + end
    expected = _asked("REGEX(?t, ?p, ?f)", t=ox.Literal(text), p=ox.Literal(pattern), f=ox.Literal(flags))
    assert pattern_test(pattern, flags)(text) == expected


_OF_A = "ex:S sh:targetNode ex:a ; sh:property [ sh:path ex:p ; {} ] ."


@pytest.mark.parametrize(
    ("constraint", "values", "wrong"),
    [
        # RDF 1.2 Concepts, section 3.4: a string with a base direction is of a datatype of its own.
        ("sh:datatype rdf:langString", "'x'@ar , 'x'@ar--rtl", ['"x"@ar--rtl']),
        ("sh:datatype rdf:dirLangString", "'x'@ar , 'x'@ar--rtl , 'x'", ['"x"', '"x"@ar']),
        ("sh:languageIn ( 'ar' )", "'x'@ar--rtl , 'x'@he--rtl", ['"x"@he--rtl']),
        ("sh:uniqueLang true", "'x'@ar--rtl , 'x'@ar", [None]),
        *((f"sh:nodeKind sh:{kind}", "<<( ex:a ex:b 1 )>>", ["<<("]) for kind in KINDS),
        ("sh:minLength 1", "<<( ex:a ex:b 1 )>> , ex:b", ["<<("]),
        ("sh:maxLength 99", "<<( ex:a ex:b 1 )>> , _:b , ex:b", ["<<(", "_:"]),
        ("sh:pattern 'a'", "<<( ex:a ex:b 1 )>> , 'a'", ["<<("]),
        ("sh:hasValue <<( ex:a ex:b 1 )>>", "<<( ex:a ex:b 1 )>>", []),
        ("sh:hasValue <<( ex:a ex:b 1 )>>", "<<( ex:a ex:b 2 )>>", [None]),
        ("sh:in ( <<( ex:a ex:b 1 )>> )", "<<( ex:a ex:b 1 )>> , <<( ex:a ex:b 2 )>>", ["<<("]),
    ],
)
def test_terms_of_rdf_1_2_are_what_sparql_takes_them_for(constraint: str, values: str, wrong: list[str | None]) -> None:
    found = sorted((one.value for one in results(_OF_A.format(constraint), f"ex:a ex:p {values} .")), key=str)
    assert len(found) == len(wrong)
    for value, begin in zip(found, wrong, strict=True):
        assert value is None if begin is None else (value or "").startswith(begin)


def test_a_blank_node_within_a_triple_term_is_none_of_the_report() -> None:
    report = report_graph(
        validated(_OF_A.format("sh:nodeKind sh:Literal"), "ex:a ex:p <<( _:report ex:b _:result0 )>> .")
    )
    (result,) = report.objects("_:report", sh("result"))
    assert report.object(result, sh("value")) == "<<( _:datareport <http://ex/b> _:dataresult0 )>>"


@pytest.mark.parametrize(
    "place",
    ["sh:targetNode", "sh:severity", "sh:class", "sh:datatype", "sh:equals", "sh:minInclusive", "sh:path", "sh:not"],
)
def test_a_triple_term_is_no_iri_in_a_shape(place: str) -> None:
    path = "" if place == "sh:path" else "sh:path ex:p ;"
    with pytest.raises(InvalidShapes, match="must be"):
        compiled(f"ex:S sh:targetClass ex:C ; sh:property [ {path} {place} <<( ex:a ex:b ex:c )>> ] .")
