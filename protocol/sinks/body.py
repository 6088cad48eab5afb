"""An evaluation as what a sink sends: the same bytes whenever it is made."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from protocol.errors import ProtocolError
from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.media_types import (
    GRAPH_OFFERS,
    RDF_TYPES,
    SOLUTIONS_OFFERS,
    RdfSyntax,
    SolutionsFormat,
    content_type,
)
from protocol.formats.sse import is_graph
from protocol.language.model import Form
from protocol.sinks.template import Template

JSON = "json"
ROWS = "rows"
TEXT = "text"

_XSD = "http://www.w3.org/2001/XMLSchema#"
_FLOATS = frozenset(f"{_XSD}{name}" for name in ("double", "float"))
_DECIMAL = f"{_XSD}decimal"
_INTEGER_FORM = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_FLOAT_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_WHITE_SPACE = " \t\r\n"
_INTEGERS = frozenset(
    f"{_XSD}{name}"
    for name in (
        "integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
        "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte",
    )
)  # fmt: skip
_BOOLEAN = f"{_XSD}boolean"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_LONGEST_NUMBER = 300
"""Characters: what is longer is a number to nobody who reads JSON."""
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class NotSendable(ProtocolError):
    """An answer has no form in the format that was asked for."""

    title = "The format is not one of this answer"


@dataclass(frozen=True)
class Body:
    """What is sent of one evaluation. ``content_type`` is a media type with its parameters."""

    content: bytes
    content_type: str


def default_format(form: Form) -> str:
    """The format of answers of this form where none is asked for."""
    return JSON if form in (Form.SELECT, Form.ASK) else RdfSyntax.TURTLE.value


def require_format(name: str, form: Form) -> None:
    """Raises NotSendable, naming what would do, unless answers of this form can be sent in this format."""
    if form in (Form.CONSTRUCT, Form.DESCRIBE):
        known = {syntax.value for syntax in RdfSyntax}
    elif form is Form.ASK:
        known = {JSON, *SolutionsFormat} - {SolutionsFormat.JSON}
    else:
        known = {JSON, ROWS, TEXT, *SolutionsFormat} - {SolutionsFormat.JSON}
    if name not in known:
        raise NotSendable(f"{name!r} is no format of the answers of {form}: choose one of {', '.join(sorted(known))}")


def known_format(name: str) -> str | None:
    """The name by which a format is kept: aliases of media types become the type itself. None: there is no such."""
    if name in (JSON, ROWS, TEXT):
        return name
    media_type = name.strip().lower()
    if media_type in SOLUTIONS_OFFERS:
        found = SOLUTIONS_OFFERS[media_type]
        return JSON if found is SolutionsFormat.JSON else found.value
    return GRAPH_OFFERS[media_type].value if media_type in GRAPH_OFFERS else None


def body_of(data: bytes, format_name: str, template: Template | None = None) -> Body | None:
    """An evaluation's ``data`` (a SPARQL JSON document, or N-Triples) in a format; None: there is nothing to send.

    Raises NotSendable, and what ``graph_as`` and ``solutions_as`` raise.
    """
    if is_graph(data) != (format_name in RDF_TYPES):
        what = "a graph" if is_graph(data) else "of solutions"
        raise NotSendable(f"the answer is {what}, which has no form in {format_name!r}: the query is another now")
    if format_name == JSON:
        return Body(data, "application/json")
    if format_name == ROWS:
        rows = ",".join(_row(variables, solution) for variables, solution in _solutions(data))
        return Body(f"[{rows}]".encode(), "application/json")
    if format_name == TEXT:
        assert template is not None, "settings have a template with this format"
        lines = [template.line(_texts(solution)) for _, solution in _solutions(data)]
        return Body("".join(lines).encode(), content_type("text/plain")) if lines else None
    if is_graph(data):
        return Body(graph_as(data, RDF_TYPES[format_name]), content_type(format_name))
    return Body(solutions_as(data, SOLUTIONS_OFFERS[format_name]), content_type(format_name))


def _solutions(data: bytes) -> list[tuple[list[str], Mapping[str, Any]]]:
    document = json.loads(data)
    if "results" not in document:
        raise NotSendable("the answer of an ASK query has no rows: choose json")
    variables: list[str] = document["head"].get("vars", [])
    return [(variables, solution) for solution in document["results"]["bindings"]]


def _row(variables: list[str], solution: Mapping[str, Any]) -> str:
    """A JSON object: every variable with its value; null for one that is not bound."""
    members = (f"{_json(name)}:{_plain(solution[name]) if name in solution else 'null'}" for name in variables)
    return f"{{{','.join(members)}}}"


def _plain(term: Mapping[str, Any]) -> str:
    """A term as JSON: numbers and truth values as such, where JSON can write them; anything else its text, also what
    is ill-typed: it stands for no number.
    """
    text, datatype = _text(term), term.get("datatype")
    lexical = text.strip(_WHITE_SPACE)
    if datatype == _BOOLEAN:
        return _json(_BOOLEANS.get(lexical, text))
    if datatype == _DECIMAL and len(lexical) <= _LONGEST_NUMBER and _DECIMAL_FORM.match(lexical):
        # All its digits, which a float has not; JSON has no sign + and no point without digits around it.
        return format(Decimal(lexical), "f")
    if datatype in _INTEGERS and len(lexical) <= _LONGEST_NUMBER and _INTEGER_FORM.match(lexical):
        return _json(int(lexical))
    if datatype in _FLOATS and _FLOAT_FORM.match(lexical) and math.isfinite(number := float(lexical)):
        return _json(number)
    return _json(text)


def _texts(solution: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(term) for name, term in solution.items()}


def _text(term: Mapping[str, Any]) -> str:
    value = term["value"]
    if term["type"] == "bnode":
        return f"_:{value}"
    # A triple term has its three parts for a value.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
