from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.formats.media_types import RdfSyntax
from protocol.language.model import Form
from protocol.sinks.body import NotSendable, body_of, known_format, require_format
from protocol.sinks.template import Template

XSD = "http://www.w3.org/2001/XMLSchema#"


def document(*solutions: dict[str, Any]) -> bytes:
    variables = ["room", "value"]
    return json.dumps({"head": {"vars": variables}, "results": {"bindings": solutions}, "evaluation": {}}).encode()


def literal(value: str, datatype: str | None = None) -> dict[str, str]:
    return {"type": "literal", "value": value, **({} if datatype is None else {"datatype": XSD + datatype})}


def rows(*solutions: dict[str, Any]) -> Any:
    body = body_of(document(*solutions), "rows")
    assert body is not None
    assert body.content_type == "application/json"
    return json.loads(body.content)


def test_json_is_the_document_itself() -> None:
    body = body_of(document(), "json")
    assert body is not None
    assert (body.content, body.content_type) == (document(), "application/json")


@pytest.mark.parametrize(
    ("term", "plain"),
    [
        (literal("22.50", "decimal"), 22.5),
        (literal("1e3", "decimal"), "1e3"),
        (literal("1e3", "double"), 1000.0),
        (literal("INF", "double"), "INF"),
        (literal("007", "unsignedByte"), 7),
        (literal("9" * 30, "integer"), int("9" * 30)),
        (literal("9" * 5000, "integer"), "9" * 5000),
        (literal(" +7\n", "integer"), 7),
        (literal("-.5E+2", "double"), -50.0),
        (literal("1e999", "double"), "1e999"),
        (literal("many", "integer"), "many"),
        (literal("1_000", "integer"), "1_000"),
        (literal("٣", "integer"), "٣"),
        (literal("\u00a03", "integer"), "\u00a03"),
        (literal("1_0", "double"), "1_0"),
        (literal("٣", "float"), "٣"),
        (literal("infinity", "double"), "infinity"),
        (literal("1", "boolean"), True),
        (literal("perhaps", "boolean"), "perhaps"),
        (literal("12"), "12"),
        (literal("2026-01-01T00:00:00Z", "dateTime"), "2026-01-01T00:00:00Z"),
        ({"type": "uri", "value": "http://e/hall"}, "http://e/hall"),
        ({"type": "bnode", "value": "b0"}, "_:b0"),
    ],
)
def test_rows_have_plain_values(term: dict[str, str], plain: object) -> None:
    assert rows({"value": term}) == [{"room": None, "value": plain}]


@pytest.mark.parametrize(
    ("lexical", "written"),
    [
        ("0.1234567890123456789", "0.1234567890123456789"),
        ("0.00000000001", "0.00000000001"),
        ("-22.50", "-22.50"),
        ("+1.5", "1.5"),
        (".5", "0.5"),
        ("7.", "7"),
        ("007.0", "7.0"),
        ("1." + "0" * 300, '"1.' + "0" * 300 + '"'),
    ],
)
def test_decimals_have_all_their_digits(lexical: str, written: str) -> None:
    body = body_of(document({"value": literal(lexical, "decimal")}), "rows")
    assert body is not None
    assert body.content == f'[{{"room":null,"value":{written}}}]'.encode()


def test_rows_are_sent_where_there_are_none() -> None:
    assert rows() == []


def test_text_is_a_line_a_row_and_nothing_without_rows() -> None:
    template = Template.of("{room}: {value}")
    body = body_of(document({"room": literal("hall")}, {"value": literal("2", "integer")}), "text", template)
    assert body is not None
    assert (body.content, body.content_type) == (b"hall: \n: 2\n", "text/plain; charset=utf-8")
    assert body_of(document(), "text", template) is None


def test_results_are_sent_in_csv() -> None:
    body = body_of(document({"room": literal("hall")}), "text/csv")
    assert body is not None
    assert body.content == b"room,value\r\nhall,\r\n"


@pytest.mark.parametrize("syntax", list(RdfSyntax))
def test_graphs_are_sent_in_every_syntax(syntax: RdfSyntax) -> None:
    triple = b"<http://e/s> <http://e/p> <http://e/o> .\n"
    body = body_of(triple, syntax.value)
    assert body is not None
    assert body.content_type.startswith(syntax.value)
    assert b"http://e/o" in body.content or syntax is RdfSyntax.RDF_XML
    empty = body_of(b"", syntax.value)
    assert empty is not None
    assert b"http://e/o" not in empty.content


@pytest.mark.parametrize(("data", "name"), [(document(), "text/turtle"), (b"", "json"), (b"", "rows")])
def test_an_answer_of_another_kind_is_not_sent(data: bytes, name: str) -> None:
    with pytest.raises(NotSendable, match="the query is another now"):
        body_of(data, name)


@pytest.mark.parametrize(
    ("name", "form"),
    [("text/turtle", Form.SELECT), ("rows", Form.ASK), ("json", Form.CONSTRUCT), ("text", Form.DESCRIBE)],
)
def test_a_format_is_for_its_forms(name: str, form: Form) -> None:
    with pytest.raises(NotSendable, match="choose one of"):
        require_format(name, form)


def test_formats_have_one_name() -> None:
    assert known_format("application/sparql-results+json") == "json"
    assert known_format("application/x-turtle") == known_format("text/turtle") == "text/turtle"
    assert known_format("application/pdf") is None
