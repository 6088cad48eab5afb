"""Request bodies become timestamped elements (docs/model.md, "Elements and streams"; docs/http.md, "Appending"),
example by example.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from protocol.errors import InvalidMessage
from protocol.formats.long_tokens import LONGEST_TOKEN
from protocol.formats.negotiation import UnsupportedMediaType
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import TermKind, triple_parts
from protocol.time import parse_instant
from spark_backend.ingest import statement_lines
from spark_backend.ingest.columns import read_elements
from spark_backend.log.format.columns import REQUEST

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RESULT_TIME = "<http://www.w3.org/ns/sosa/resultTime>"
PUBLISHED = "<https://www.w3.org/ns/activitystreams#published>"
GENERATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
ARRIVAL = StreamSettings("http://ex/stream", time=TimeKind.ARRIVAL)
EVENT = StreamSettings("http://ex/stream", time=TimeKind.EVENT)
NT, NQ = "application/n-triples", "application/n-quads"
TTL, TRIG = "text/turtle", "application/trig"
RDFM = "; messages=rdfm"
NDJSON = "application/x-ndjson"

Row = dict[str, Any]


@pytest.fixture(autouse=True, scope="module", params=[0, statement_lines.SHORT], ids=["by lines", "by the parser"])
def _way_of_reading(request: pytest.FixtureRequest) -> Iterator[None]:
    """Short bodies go to the parser, but their lines can be read as those of long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement_lines, "SHORT", request.param)
        yield


def rows(body: str | bytes, content_type: str, settings: StreamSettings = ARRIVAL, at: int | None = None) -> list[Row]:
    data = body.encode() if isinstance(body, str) else body
    batch = read_elements(data, content_type, settings=settings, at=at, blank_scope="r1")
    batch.validate(full=True)
    assert batch.schema == REQUEST
    found: list[Row] = batch.to_pylist()
    elements = [row["element"] for row in found]
    assert elements == sorted(elements)
    assert sorted(set(elements)) == list(range(max(elements, default=-1) + 1))
    for row in found:
        assert row["s"] is not None or all(row[name] is None for name in "gspokn")
    return found


def elements(*args: Any, **kwargs: Any) -> list[tuple[int | None, list[str]]]:
    """(time, triples) of every element; a triple as text, with its graph if it has one."""
    found: dict[int, tuple[int | None, list[str]]] = {}
    for row in rows(*args, **kwargs):
        _, triples = found.setdefault(row["element"], (row["time"], []))
        if row["s"] is not None:
            triples.append(" ".join(filter(None, (row["s"], row["p"], row["o"], row["g"]))))
    return [found[ordinal] for ordinal in sorted(found)]


def error(*args: Any, **kwargs: Any) -> InvalidMessage:
    with pytest.raises(InvalidMessage) as raised:
        rows(*args, **kwargs)
    return raised.value


def triple(name: str) -> str:
    return f"<http://ex/{name}> <http://ex/p> <http://ex/o> ."


def timed(name: str, time: int | str) -> str:
    literal = f'"{time}"^^<{XSD}{"integer" if isinstance(time, int) else "dateTime"}>'
    return f"<http://ex/{name}> {RESULT_TIME} {literal} ."


def names(found: list[tuple[int | None, list[str]]]) -> list[list[str]]:
    return [[text.split()[0].removeprefix("<http://ex/").removesuffix(">") for text in triples] for _, triples in found]


# Messages


def test_a_row_has_the_terms_and_the_facets_of_its_object() -> None:
    body = f'<http://ex/s> <http://ex/p> "01"^^<{XSD}integer> <http://ex/g> .'
    (row,) = rows(body, NQ)
    assert row == {
        "element": 0, "time": None, "g": "<http://ex/g>", "s": "<http://ex/s>", "p": "<http://ex/p>",
        "o": f'"01"^^<{XSD}integer>', "k": 1, "n": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("content_type", [NT, NQ, TTL, TRIG, NT + RDFM, NQ + RDFM, TTL + RDFM, TRIG + RDFM])
@pytest.mark.parametrize("body", ["", "\n", "# nothing\n", "\r\n\r\n", "\ufeff"])
def test_a_body_without_statements_is_one_empty_message(content_type: str, body: str) -> None:
    assert elements(body, content_type) == [(None, [])]


@pytest.mark.parametrize("content_type", [NT, NQ, TTL, TRIG])
@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("A|M|B|", [["a"], ["b"]]),
        ("M|A|M|B|", [["a"], ["b"]]),
        ("A|M|B|M|", [["a"], ["b"]]),
        ("A|M|B|M", [["a"], ["b"]]),
        ("M|A|M|B", [["a"], ["b"]]),
        ("A|M|M|B|", [["a"], [], ["b"]]),
        ("M|M|A|", [[], ["a"]]),
        ("A|M|M|", [["a"], []]),
        ("A|M|M", [["a"], []]),
        ("M|", [[]]),
        ("M", [[]]),
        ("M|M|", [[]]),
        ("M|M|M|", [[], []]),
        ("|| M||A|||\tM|||B||", [["a"], ["b"]]),
        ("# about|M|A|# remark|M|# another|B|", [["a"], ["b"]]),
        ("A|A|M|A|", [["a"], ["a"]]),
        ("A M|B|", [["a", "b"]]),
        ("A|# M|B|# @messages|# @message-id: 5|# message|", [["a", "b"]]),
    ],
)
def test_markers_divide_messages(content_type: str, layout: str, expected: list[list[str]]) -> None:
    for line_end in ("\n", "\r\n", "\r"):
        for marker in ("# @message", "#@message", "#  \t@message and a remark # @message"):
            parts = {"A": triple("a"), "B": triple("b"), "M": marker, "|": line_end}
            body = "".join(parts.get(part, part) for part in layout)
            assert names(elements(body, content_type + RDFM)) == expected, body


def test_without_the_parameter_a_marker_is_a_comment() -> None:
    assert names(elements(f"{triple('a')}\n# @message\n{triple('b')}\n", NT)) == [["a", "b"]]


def test_prefixes_and_base_carry_over_and_can_be_set_anew() -> None:
    body = """@prefix ex: <http://ex/> .
@base <http://ex/base/> .
# @message
ex:a ex:p ex:o .
# @message
<b> ex:p ex:o .
# @message
PREFIX ex: <http://ex/two/>
ex:c ex:p ex:o .
"""
    assert names(elements(body, TTL + RDFM)) == [["a"], ["base/b"], ["two/c"]]


@pytest.mark.parametrize("quote", ['"""', "'''"])
def test_a_marker_within_a_long_string_is_text(quote: str) -> None:
    body = f'<http://ex/a#x> <http://ex/p> {quote}it\'s "\n# @message\n\\"{quote} .\n# @message\n{triple("b")}'
    found = elements(body, TTL + RDFM)
    assert names(found) == [["a#x"], ["b"]]
    assert found[0][1] == ['<http://ex/a#x> <http://ex/p> "it\'s \\"\\n# @message\\n\\""']


def test_a_long_quote_within_a_comment_or_an_iri_hides_no_marker() -> None:
    body = f"# \"\"\" it's\n<http://ex/a'''> <http://ex/p> <http://ex/o> . # '''\n# @message\n{triple('b')}\n"
    assert names(elements(body, TTL + RDFM)) == [["a'''"], ["b"]]


@pytest.mark.parametrize(
    "body",
    [
        "<http://ex/a> <http://ex/p>\n# @message\n<http://ex/o> .\n",
        "<http://ex/a> <http://ex/p> <http://ex/o> ;\n# @message\n<http://ex/q> <http://ex/o> .\n",
        "<http://ex/a> <http://ex/p> ( 1\n# @message\n2 ) .\n",
        "<http://ex/a> <http://ex/p> [ <http://ex/p> 1 ;\n# @message\n] .\n",
        "PREFIX ex:\n# @message\n<http://ex/>\n",
        "<http://ex/a> <http://ex/p> <http://ex/o>\n# @message\n",
    ],
)
def test_a_marker_within_a_statement_is_an_error_at_the_marker(body: str) -> None:
    raised = error(body, TTL + RDFM)
    assert raised.line == 2
    assert "<m:" not in raised.detail


def test_a_marker_within_a_graph_block_is_an_error() -> None:
    head = "# @message\n<http://ex/a> <http://ex/p> 1 .\n# @message\n"
    raised = error(
        head + "<http://ex/g> {\n <http://ex/a> <http://ex/p> 1 .\n# @message\n <http://ex/b> <http://ex/p> 1 .\n}",
        TRIG + RDFM,
    )
    assert (raised.line, raised.extra) == (6, {"message": 2})
    assert "graph block" in raised.detail
    assert error("_:g {\n# @message\n}", TRIG + RDFM).line == 2


def test_every_format_is_read_and_relative_iris_are_the_streams() -> None:
    xml = f'<r:RDF xmlns:r="{RDF}" xmlns:e="http://ex/"><r:Description r:about="a"><e:p>x</e:p></r:Description></r:RDF>'
    bodies = {
        TTL: '<a> <http://ex/p> "x" .',
        TRIG: '{ <a> <http://ex/p> "x" }',
        "application/ld+json": '{"@id": "a", "http://ex/p": "x"}',
        "application/rdf+xml": xml,
        NDJSON: '{"@id": "a", "http://ex/p": "x"}',
    }
    for content_type, body in bodies.items():
        assert elements(body, content_type) == [(None, ['<http://ex/a> <http://ex/p> "x"'])], content_type


def test_a_named_graph_is_kept_and_the_same_triple_in_two_graphs_is_two_rows() -> None:
    statement = '<http://ex/a> <http://ex/p> "<x> _:y <http://ex/g>"'
    body = f"{statement} .\n{statement} <http://ex/g> .\n"
    assert [row["g"] for row in rows(body, NQ)] == [None, "<http://ex/g>"]
    assert {row["o"] for row in rows(body, NQ)} == {'"<x> _:y <http://ex/g>"'}


def test_the_same_triple_twice_in_a_message_is_one_row() -> None:
    body = "\n".join([triple("a"), triple("b"), triple("a"), "# @message", triple("a"), triple("a")])
    assert names(elements(body, NT + RDFM)) == [["a", "b"], ["a"]]


def test_the_same_triple_written_differently_is_one_row() -> None:
    body = '<http://ex/a> <http://ex/p> "é\\t"@en .\n<http://ex/a>  <http://ex/p> "\\u00E9\\u0009"@EN .\n'
    assert len(rows(body, NT)) == 1


# Newline-delimited JSON-LD


def test_a_line_is_a_message_and_blank_lines_are_none() -> None:
    body = '{"@id": "http://ex/a", "http://ex/p": 1}\n\n  {"@id": "http://ex/b", "http://ex/p": 1}\r\n{}\n \n'
    assert names(elements(body, NDJSON)) == [["a"], ["b"], []]
    assert elements("", NDJSON) == []


def test_an_object_with_a_context_alone_sets_the_context_of_what_follows() -> None:
    body = """{"@context": {"ex": "http://ex/", "name": "ex:baseName"}}
{"@context": {"label": "ex:label"}, "@id": "ex:a", "name": "Alice", "label": "A"}
{"@id": "ex:b", "name": "Bob", "label": "B"}
{}
{"@context": {"name": "http://ex/other"}}
[{"@id": "http://ex/c", "name": "C"}]
"""
    found = elements(body, NDJSON)
    assert names(found) == [["a", "a"], ["b"], [], ["c"]]
    assert found[3][1] == ['<http://ex/c> <http://ex/other> "C"']


def test_an_error_in_a_line_has_its_place_in_the_body() -> None:
    good = '{"@id": "http://ex/a", "http://ex/p": 1}\n'
    raised = error(good + "\n" + '{"http://ex/p": 5 "x"}\n', NDJSON)
    assert (raised.extra["message"], raised.line) == (2, 3)
    context = '{"@context": {"é": "http://ex/"}}\n'
    shifted = error(context + good + '{"http://ex/p": 5 "x"}\n', NDJSON)
    assert (shifted.extra["message"], shifted.line, shifted.column) == (2, 3, raised.column)


@pytest.mark.parametrize("content_type", ["application/ld+json", NDJSON])
def test_remote_contexts_are_not_fetched_and_the_error_says_so(content_type: str) -> None:
    raised = error('{"@context": "http://127.0.0.1:9/context", "name": "x"}', content_type)
    assert "not fetched" in raised.detail


# Blank nodes


def test_labels_of_different_messages_never_meet() -> None:
    body = "_:b <http://ex/p> _:c .\n_:c <http://ex/p> _:b .\n# @message\n_:b <http://ex/p> _:b .\n"
    first, second, third = rows(body, NT + RDFM)
    assert first["s"] == second["o"] != first["o"] == second["s"]
    assert third["s"] == third["o"] not in (first["s"], first["o"])
    for term in (first["s"], first["o"], third["s"]):
        assert term.startswith("_:")
        assert term[2:].isascii()
        assert term[2:].isalnum()


def test_labels_of_different_requests_never_meet() -> None:
    scopes = ["r1", "r10", "r1m0b", "1", "11", "r1m0bx"]
    pairs = (("b", "0b"), ("x", "m0bb"), ("b-b", "h"), ("b.b", "b_b"))
    body = "".join(f"_:{subject} <http://ex/p> _:{object} .\n" for subject, object in pairs).encode()
    seen: list[str] = []
    for scope in scopes:
        batch = read_elements(body, NT, settings=ARRIVAL, at=None, blank_scope=scope)
        seen += [*batch["s"].to_pylist(), *batch["o"].to_pylist()]
    assert len(set(seen)) == len(seen) == 8 * len(scopes)


def test_blank_graph_names_and_anonymous_nodes_are_scoped_too() -> None:
    body = "_:g { [] <http://ex/p> _:g . _:é.é <http://ex/p> [] }"
    first, second = rows(body, TRIG)
    assert first["g"] == first["o"] == second["g"]
    assert len({first["s"], second["s"], second["o"], first["g"]}) == 4
    for term in (first["s"], second["s"], second["o"], first["g"]):
        assert term.startswith("_:s2xr1m0")
        assert term[2:].isalnum()
        assert term.isascii()


def test_what_looks_like_a_blank_node_within_a_literal_stays() -> None:
    (row,) = rows('<http://ex/a> <http://ex/p> "_:b is _:b" .', NT)
    assert row["o"] == '"_:b is _:b"'


def test_a_scope_of_other_characters_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="blank_scope"):
        read_elements(b"", NT, settings=ARRIVAL, at=None, blank_scope="a-b")


# Time


def test_an_arrival_stream_ignores_the_times_in_the_data() -> None:
    body = f"{timed('a', 5)}\n# @message\n{triple('b')}\n# @message\n{timed('c', '2014-01-01T00:00:00Z')}"
    assert [time for time, _ in elements(body, NT + RDFM)] == [None, None, None]
    graphs = "<http://ex/g> { <http://ex/a> <http://ex/p> 1 } <http://ex/h> { <http://ex/b> <http://ex/p> 1 }"
    assert names(elements(graphs, TRIG)) == [["a", "b"]]


def test_with_the_parameter_at_each_message_is_an_element_of_that_time() -> None:
    body = f"{timed('a', 5)}\n# @message\n# @message\n{triple('b')}\n{triple('c')}\n# @message\n{triple('b')}\n"
    found = elements(body, NT + RDFM, EVENT, at=7)
    assert [time for time, _ in found] == [7, 7, 7, 7]
    assert names(found) == [["a"], [], ["b", "c"], ["b"]]
    assert elements("", NT, EVENT, at=7) == [(7, [])]
    assert elements("", NDJSON, EVENT, at=7) == []


def test_with_at_blank_nodes_are_still_those_of_their_message() -> None:
    body = "_:b <http://ex/p> 1 .\n# @message\n_:b <http://ex/p> 1 .\n"
    first, second = rows(body, TTL + RDFM, EVENT, at=7)
    assert (first["element"], second["element"]) == (0, 1)
    assert first["s"] != second["s"]


def test_at_goes_with_event_streams_and_within_the_calendar() -> None:
    assert "server's clock" in error(triple("a"), NT, ARRIVAL, at=7).detail
    assert "not a time" in error(triple("a"), NT, EVENT, at=10**18).detail


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (f'"2014-05-22T09:09:04Z"^^<{XSD}dateTime>', "2014-05-22T09:09:04Z"),
        (f'"2014-05-22T09:09:04.1239999999Z"^^<{XSD}dateTime>', "2014-05-22T09:09:04.123Z"),
        (f'"2014-05-22T09:09:04"^^<{XSD}dateTime>', "2014-05-22T09:09:04Z"),
        (f'"2014-05-22T11:09:04+02:00"^^<{XSD}dateTime>', "2014-05-22T09:09:04Z"),
        (f'"1969-12-31T23:59:59.9995Z"^^<{XSD}dateTimeStamp>', "1969-12-31T23:59:59.999Z"),
        (f'"2014-05-21T24:00:00Z"^^<{XSD}dateTime>', "2014-05-22T00:00:00Z"),
        (f'"-1"^^<{XSD}integer>', "1969-12-31T23:59:59.999Z"),
        (f'"01400749744000"^^<{XSD}long>', "2014-05-22T09:09:04Z"),
        (f'"0001-01-01T00:00:00Z"^^<{XSD}dateTime>', "0001-01-01T00:00:00Z"),
        (f'"9999-12-31T23:59:59.999Z"^^<{XSD}dateTime>', "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_a_date_time_or_milliseconds(literal: str, expected: str) -> None:
    ((time, triples),) = elements(f"<http://ex/a> {RESULT_TIME} {literal} .", NT, EVENT)
    assert time == parse_instant(expected)
    assert len(triples) == 1


@pytest.mark.parametrize(
    "literal",
    [
        "<http://ex/t>", "_:t", '"2014-05-22T09:09:04Z"', '"2014-05-22T09:09:04Z"@en', f'"2014-05-22"^^<{XSD}date>',
        f'"5.0"^^<{XSD}decimal>', f'"5.5"^^<{XSD}integer>', f'"true"^^<{XSD}boolean>', f'"{10**15}"^^<{XSD}integer>',
        f'"{10**40}"^^<{XSD}integer>', f'"yesterday"^^<{XSD}dateTime>', f'"2014-02-30T00:00:00Z"^^<{XSD}dateTime>',
        f'"0000-12-31T23:59:59Z"^^<{XSD}dateTime>', f'"10000-01-01T00:00:00Z"^^<{XSD}dateTime>',
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_and_the_error_says_what_would_be(literal: str) -> None:
    raised = error(f"{timed('a', 1)}\n# @message\n\n<http://ex/b> {RESULT_TIME} {literal} .\n", NT + RDFM, EVENT)
    assert (raised.status, raised.line, raised.extra) == (400, 3, {"message": 2})
    assert "is not a time" in raised.detail
    assert "2026-01-31T12:00:00Z" in raised.detail
    assert "message 2 (line 3)" in raised.detail


def test_the_first_predicate_of_the_path_that_the_message_has_counts() -> None:
    later, earlier = f'"9"^^<{XSD}integer>', f'"4"^^<{XSD}integer>'
    published = f"<http://ex/a> {PUBLISHED} {later} .\n<http://ex/b> {PUBLISHED} {earlier} .\n"
    body = f"<http://ex/a> {GENERATED} {earlier} .\n{published}"
    assert [time for time, _ in elements(body, NT, EVENT)] == [9]
    assert [time for time, _ in elements(body + timed("c", 2), NT, EVENT)] == [2]
    assert [time for time, _ in elements(body.replace(f"{later} ", f"{later} <http://ex/g> "), NQ, EVENT)] == [9]
    own = StreamSettings("http://ex/stream", TimeKind.EVENT, ("http://ex/at", "http://ex/p"))
    assert [time for time, _ in elements(f"{timed('a', 1)}\n<http://ex/a> <http://ex/p> 3 .", TTL, own)] == [3]


def test_of_several_objects_the_first_that_is_a_time_counts() -> None:
    body = f'<http://ex/a> {RESULT_TIME} "soon" .\n{timed("a", 8)}\n{timed("a", 3)}\n'
    assert [time for time, _ in elements(body, NT, EVENT)] == [8]


def test_a_malformed_time_is_not_passed_over_for_a_later_predicate() -> None:
    body = f'<http://ex/a> {RESULT_TIME} "soon" .\n<http://ex/a> {PUBLISHED} "4"^^<{XSD}integer> .\n'
    assert '"soon" is not a time' in error(body, NT, EVENT).detail


def test_a_message_without_a_time_is_an_error_that_says_which_and_what_is_missing() -> None:
    raised = error(f"# @message\n{timed('a', 1)}\n# @message\n{triple('b')}\n{triple('c')}\n", NT + RDFM, EVENT)
    assert (raised.line, raised.extra) == (4, {"message": 2})
    assert "http://www.w3.org/ns/sosa/resultTime" in raised.detail
    assert "'at'" in raised.detail
    raised = error('{"http://ex/p": 1}', NDJSON, StreamSettings("http://ex/s", TimeKind.EVENT, ()))
    assert "'at'" in raised.detail


def test_elements_keep_the_order_of_the_document_whatever_their_times() -> None:
    body = "\n# @message\n".join(timed(name, time) for name, time in (("a", 5), ("b", 1), ("c", 5), ("d", 3)))
    assert [time for time, _ in elements(body, NT + RDFM, EVENT)] == [5, 1, 5, 3]


# Timestamped graphs

GRAPHS = f"""
@prefix ex: <http://ex/> . @prefix prov: <http://www.w3.org/ns/prov#> .
ex:g2 prov:generatedAtTime 20 .
ex:g1 {{ ex:a ex:p 1 . ex:b ex:p 2 }}
ex:g2 {{ ex:c ex:p 3 }}
ex:g1 prov:generatedAtTime "1970-01-01T00:00:00.010Z"^^<{XSD}dateTime> .
"""


def test_a_timestamped_graph_is_an_element_and_the_order_is_that_of_time() -> None:
    found = elements(GRAPHS, TRIG, EVENT)
    assert [time for time, _ in found] == [10, 20]
    assert names(found) == [["a", "b"], ["c"]]
    assert {row["g"] for row in rows(GRAPHS, TRIG, EVENT)} == {"<http://ex/g1>", "<http://ex/g2>"}


def test_the_triples_that_only_carry_a_graphs_timestamp_are_no_data_in_any_stream() -> None:
    for settings, at in ((ARRIVAL, None), (EVENT, 5)):
        assert names(elements(GRAPHS, TRIG, settings, at=at)) == [["a", "b", "c"]]


def test_other_triples_about_a_graph_go_with_it_and_the_rest_with_the_earliest() -> None:
    more = "ex:g2 ex:by ex:sensor . ex:sensor ex:p 1 . ex:h { ex:d ex:p 4 }"
    found = elements(GRAPHS + more, TRIG, EVENT)
    assert [time for time, _ in found] == [10, 20]
    assert [sorted(element) for element in names(found)] == [["a", "b", "d", "sensor"], ["c", "g2"]]


def test_equal_times_are_in_the_order_of_the_document() -> None:
    body = "".join(
        f"<http://ex/{g}> {GENERATED} 5 . <http://ex/{g}> {{ <http://ex/{g}> <http://ex/p> 1 }}\n" for g in "zay"
    )
    assert names(elements(body, TRIG, EVENT)) == [["z"], ["a"], ["y"]]


def test_a_blank_node_can_name_a_timestamped_graph() -> None:
    first, second = (
        f"_:g {{ <http://ex/{name}> <http://ex/p> 1 }} _:g {GENERATED} {time} ." for name, time in (("a", 5), ("b", 4))
    )
    body = f"{first}\n# @message\n{second}"
    found = elements(body, TRIG + RDFM, EVENT)
    assert [time for time, _ in found] == [5, 4]
    assert names(found) == [["a"], ["b"]]


def test_messages_with_and_without_timestamped_graphs_go_together() -> None:
    found = elements(
        f"{timed('x', 1)}\n# @message\n{GRAPHS}\n# @message\n{timed('y', 2)}\n# @message\n{timed('y', 2)}",
        TRIG + RDFM,
        EVENT,
    )
    assert [time for time, _ in found] == [1, 10, 20, 2, 2]


def test_a_graph_of_another_message_is_not_timestamped() -> None:
    body = f"<http://ex/g> {GENERATED} 5 .\n# @message\n<http://ex/g> {{ <http://ex/a> {GENERATED} 6 }}"
    found = elements(body, TRIG + RDFM, EVENT)
    assert [time for time, _ in found] == [5, 6]
    assert names(found) == [["g"], ["a"]]


def test_a_triple_that_carries_a_timestamp_in_one_message_is_data_in_another() -> None:
    carrier = f"<http://ex/g> {GENERATED} 5 ."
    body = f"{carrier} <http://ex/g> {{ <http://ex/a> <http://ex/p> 1 }}\n# @message\n{carrier}\n"
    assert names(elements(body, TRIG + RDFM, EVENT, at=7)) == [["a"], ["g"]]
    assert names(elements(body, TRIG + RDFM, EVENT)) == names(elements(body, TRIG + RDFM)) == [["a"], ["g"]]


def test_the_timestamp_of_a_graph_must_be_one_time() -> None:
    assert "graph <http://ex/g1>" in error(GRAPHS + 'ex:g1 prov:generatedAtTime "soon" .', TRIG, EVENT).detail
    assert "two timestamps" in error(GRAPHS + "ex:g1 prov:generatedAtTime 11 .", TRIG, EVENT).detail
    same = GRAPHS + "ex:g1 prov:generatedAtTime 10 ."
    assert [time for time, _ in elements(same, TRIG, EVENT)] == [10, 20]
    assert names(elements(same, TRIG, EVENT)) == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("content_type", "before", "line"),
    [("application/ld+json", "", 1), ("application/ld+json", '{"é":\n"é",\n', 3), (NDJSON, '{"@id": "é"}\n', 2)],
)
def test_columns_in_json_count_characters(content_type: str, before: str, line: int) -> None:
    wrong = '"@id": "http://ex/ééé", "http://ex/é": "éé" '
    begin = wrong if before.startswith('{"é"') else "{" + wrong
    raised = error(before + begin + "x}", content_type)
    assert (raised.line, raised.column) == (line, len(begin) + 1)


def test_json_ld_graphs_are_timestamped_graphs_too() -> None:
    document = {
        "@context": {"prov": "http://www.w3.org/ns/prov#", "ex": "http://ex/", "xsd": XSD},
        "@id": "ex:g",
        "prov:generatedAtTime": {"@value": "1970-01-01T00:00:01Z", "@type": "xsd:dateTime"},
        "@graph": [{"@id": "ex:a", "ex:p": 1}],
    }
    found = elements(json.dumps(document), "application/ld+json", EVENT)
    assert [time for time, _ in found] == [1000]
    assert names(found) == [["a"]]


# Errors


@pytest.mark.parametrize(
    ("content_type", "body", "place"),
    [
        (NT, "<http://ex/a> <http://ex/p> .", (1, 1)),
        (NT + RDFM, f"# @message\n{triple('a')}\n# @message\n{triple('b')}\n<http://ex/c> nonsense .\n", (2, 5)),
        (NT + RDFM, f"{triple('a')}\r\n# @message\r\n<http://ex/c> nonsense .\r\n", (2, 3)),
        (NQ + RDFM, f"{triple('a')}\n# @message\n# @message\n<http://ex/c> nonsense .\n", (3, 4)),
        (TTL + RDFM, f"@prefix e: <http://e/> .\n# @message\n{triple('a')}\n# @message\ne:b\n  e:p nope:o .\n", (2, 6)),
        (TRIG, "<http://ex/g> { <http://ex/a> <http://ex/p> }", (1, 1)),
        ("application/ld+json", '{"http://ex/p": 5 "x"}', (1, 1)),
        ("application/rdf+xml", f'<r:RDF xmlns:r="{RDF}">\n<a></b></r:RDF>', (1, 2)),
    ],
)  # fmt: skip
def test_a_syntax_error_says_in_which_message_and_where(content_type: str, body: str, place: tuple[int, int]) -> None:
    raised = error(body, content_type)
    assert (raised.extra["message"], raised.line) == place
    assert raised.column is not None
    assert raised.column >= 1
    assert raised.detail.startswith(f"message {place[0]}, line {place[1]}, column {raised.column}: ")
    assert "Parser error" not in raised.detail
    assert raised.problem()["status"] == 400


def test_invalid_utf_8_is_refused_wherever_it_stands() -> None:
    for body in (
        b"# \xff\n" + triple("a").encode(),
        triple("a").encode() + b"\n\n# \xc3(\n",
        b'<a:b> <a:c> "\xed\xa0\x80" .',
    ):
        with pytest.raises(InvalidMessage, match="not UTF-8"):
            rows(body, NT + RDFM)
    raised = error("é\n# é".encode() + b"\xff", TTL)
    assert (raised.line, raised.column) == (2, 4)


def test_other_charsets_are_decoded() -> None:
    body = '<http://ex/a> <http://ex/p> "é" .'
    for charset in ("utf-8", "iso-8859-1", "utf-16", "UTF-16LE", "windows-1252"):
        assert rows(body.encode(charset), f"{NT}; charset={charset}")[0]["o"] == '"é"'
    assert rows("\ufeff" + body, NT)[0]["o"] == '"é"'
    with pytest.raises(InvalidMessage, match="not ASCII"):
        rows(body, f"{NT}; charset=us-ascii")


def test_an_unknown_media_type_is_415() -> None:
    with pytest.raises(UnsupportedMediaType):
        rows("", "text/csv")


TRIPLE = '<<( <http://ex/s> <http://ex/q> "a b"@ar--rtl )>>'
RDF_XML_OF_TRIPLE = """<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/"
  xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0" r:version="1.2"><r:Description r:about="http://ex/a">
  <e:p r:parseType="Triple"><r:Description r:about="http://ex/s"><e:q xml:lang="ar" its:dir="rtl">a b</e:q>
  </r:Description></e:p></r:Description></r:RDF>"""


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (f"<http://ex/a> <http://ex/p> {TRIPLE} .", NT),
        (f"<http://ex/a> <http://ex/p> {TRIPLE} <http://ex/g> .", NQ),
        (f"PREFIX : <http://ex/> :a :p {TRIPLE} .", TTL),
        (f"PREFIX : <http://ex/> GRAPH :g {{ :a :p {TRIPLE} }}", TRIG),
        (RDF_XML_OF_TRIPLE, "application/rdf+xml"),
    ],
)
def test_a_triple_term_is_an_object(body: str, content_type: str) -> None:
    (row,) = rows(body, content_type)
    assert (row["o"], row["k"], row["n"]) == (TRIPLE, TermKind.TRIPLE, None)


def test_a_reified_triple_is_said_of_by_a_node_of_its_message() -> None:
    body = "PREFIX : <http://ex/> :a :p 1 ~ _:r {| :by :me |} . :b :q <<( _:r :p [] )>> ."
    found = rows(body, TTL, EVENT, at=5)
    terms = {row["p"]: (row["s"], row["o"]) for row in found}
    reifier, reified = terms["<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"]
    assert reified == f'<<( <http://ex/a> <http://ex/p> "1"^^<{XSD}integer> )>>'
    assert terms["<http://ex/by>"] == (reifier, "<http://ex/me>")
    assert reifier.startswith("_:m")
    subject, _, object_ = triple_parts(terms["<http://ex/q>"][1])
    assert subject == reifier
    assert object_.startswith(reifier.rpartition("b")[0])
    assert object_ != reifier


def test_blank_nodes_within_triple_terms_are_named_whether_few_or_many_are_read() -> None:
    few = "<http://ex/a> <http://ex/p> <<( _:x <http://ex/p> _:y )>> .\n_:y <http://ex/p> _:x .\n"
    many = few + "".join(f"<http://ex/a> <http://ex/p{number}> _:x .\n" for number in range(100))
    first, second = rows(many, NT, EVENT, at=5)[:2]
    assert triple_parts(first["o"])[::2] == (second["o"], second["s"])
    assert rows(few, NT, EVENT, at=5) == rows(few.replace("_:x", "_:other"), NT, EVENT, at=5)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_json_ld_tells_the_direction_of_a_text(direction: str) -> None:
    value = {"@value": "x", "@language": "ar", "@direction": direction}
    (row,) = rows(json.dumps({"@id": "http://ex/a", "http://ex/p": value}), "application/ld+json")
    assert row["o"] == f'"x"@ar--{direction}'


@pytest.mark.parametrize(
    ("content_type", "head", "tail"),
    [
        (NT, "<<( <http://ex/a> <http://ex/p> ", ")>>"),
        (NT + RDFM, "<<( <http://ex/a> <http://ex/p> ", ")>>"),
        (TTL, "<< <http://ex/a> <http://ex/p>\n", ">>"),
        (TRIG + RDFM, "<<( <http://ex/a> <http://ex/p> ", ")>>"),
    ],
)
def test_triple_terms_that_would_overrun_the_parsers_stack_are_refused_before(
    content_type: str, head: str, tail: str
) -> None:
    raised = error(f"<http://ex/a> <http://ex/p> {head * 50_000}1{tail * 50_000} .", content_type)
    assert "triple terms within each other are read to a depth of 50" in raised.detail
    assert raised.line is not None


def test_triple_terms_nest_as_deeply_in_one_format_as_in_another() -> None:
    head, tail = "<<( <http://ex/a> <http://ex/p> ", " )>>"
    assert rows(f"<http://ex/a> <http://ex/p> {head * 50}<http://ex/o>{tail * 50} .", NT)[0]["k"] == TermKind.TRIPLE
    element = '<e:p r:parseType="Triple"><r:Description r:about="http://ex/a">'
    for depth in (50, 51):
        body = (
            '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/" r:version="1.2">'
            f'<r:Description r:about="http://ex/a">{element * depth}<e:p r:resource="http://ex/o"/>'
            f"{'</r:Description></e:p>' * depth}</r:Description></r:RDF>"
        )
        if depth == 50:
            assert rows(body, "application/rdf+xml")[0]["k"] == TermKind.TRIPLE
        else:
            assert "to a depth of 50" in error(body, "application/rdf+xml").detail


def test_text_that_looks_like_rdf_1_2_is_text() -> None:
    for text in ("<<", "<<( <a:b> )>>", "<< " * 20_000, "x --ltr", "en--ltr", '\\"@en--ltr'):
        assert rows(f'<http://ex/a> <http://ex/p> "{text}" <http://ex/g> .', NQ)[0]["o"] == f'"{text}"'
    assert rows("<http://ex/a> <http://ex/p> <http://ex/--ltr> .", NT)[0]["o"] == "<http://ex/--ltr>"


def test_entities_within_entities_are_refused_before_they_expand() -> None:
    declarations = '<!ENTITY a0 "aaaaaaaaaa">' + "".join(
        f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">' for level in range(1, 12)
    )
    head = f'<!DOCTYPE r [{declarations}]><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">'
    body = head + '<r:Description r:about="a"><e:p>&a11;</e:p></r:Description></r:RDF>'
    assert "entities" in error(body, "application/rdf+xml").detail
    hidden = body.replace("&a1", "&#38;a1")
    assert "entities" in error(hidden, "application/rdf+xml").detail
    long = f'<!DOCTYPE r [<!ENTITY a "{"a" * 100_000}">]><r:RDF>{"&a;" * 10_000}</r:RDF>'
    assert "entities" in error(long, "application/rdf+xml").detail


@pytest.mark.parametrize(
    "body",
    [
        "",
        f'<r:RDF xmlns:r="{RDF}">',
        f'<r:RDF xmlns:r="{RDF}"><r:Description r:about="a"/>',
        f'<r:RDF xmlns:r="{RDF}"/><x/>',
    ],
)
def test_a_truncated_xml_document_is_an_error(body: str) -> None:
    raised = error(body, "application/rdf+xml")
    assert raised.line == 1
    assert raised.column is not None


def test_very_deep_xml_is_an_error() -> None:
    depth = 20_000
    nested = '<r:Description><e:p xmlns:e="http://ex/">' * depth + "</e:p></r:Description>" * depth
    assert "nested" in error(f'<r:RDF xmlns:r="{RDF}">{nested}</r:RDF>', "application/rdf+xml").detail


def test_the_charset_of_the_header_goes_before_that_of_the_xml_declaration() -> None:
    xml = f'<?xml version="1.0" encoding="ISO-8859-1"?><r:RDF xmlns:r="{RDF}" xmlns:e="http://ex/">'
    body = (xml + '<r:Description r:about="a"><e:p>é</e:p></r:Description></r:RDF>').encode("iso-8859-1")
    assert rows(body, "application/rdf+xml; charset=iso-8859-1")[0]["o"] == '"é"'
    assert "charset=" in error(body, "application/rdf+xml").detail


def test_an_entity_for_a_namespace_is_fine() -> None:
    body = """<!DOCTYPE rdf:RDF [<!ENTITY ex "http://ex/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="&ex;">
<rdf:Description rdf:about="&ex;a"><ex:p>x</ex:p></rdf:Description></rdf:RDF>"""
    assert names(elements(body, "application/rdf+xml")) == [["a"]]


@pytest.mark.parametrize(
    ("content_type", "term"),
    [
        (NT, f'"{"x" * LONGEST_TOKEN}"'),
        (NQ, f"<http://ex/{'x' * LONGEST_TOKEN}>"),
        (TTL, f'"{"x" * LONGEST_TOKEN}"'),
        (TTL, '"""' + "\n" * (LONGEST_TOKEN // 2) + '"""'),  # longer as it is stored
    ],
    ids=["a literal of N-Triples", "an IRI of N-Quads", "a literal of Turtle", "line ends in Turtle"],
)
def test_a_term_that_no_reader_of_the_stream_could_read_is_refused(content_type: str, term: str) -> None:
    assert "longer than 16 MiB" in error(f"{triple('1')}\n<http://ex/s> <http://ex/p> {term} .\n", content_type).detail


def test_a_very_long_literal_and_an_empty_one_are_kept() -> None:
    text = "x y . <z> " * 200_000
    body = f'<http://ex/a> <http://ex/p> "{text}" <http://ex/g> .\n<http://ex/a> <http://ex/p> "" .\n'
    assert [row["o"] for row in rows(body, NQ)] == [f'"{text}"', '""']
