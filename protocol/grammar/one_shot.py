"""One-shot queries that the store's parser does not take: written as the authors of the dialects print them."""

from __future__ import annotations

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.parser import QueryReader
from protocol.language.algebra import DRAWING, TIMESTAMP, Aggregation, Call, Variable, nodes
from protocol.language.model import Form
from protocol.language.sparql_text import WrittenQuery
from protocol.sparql.source import Source
from protocol.sparql.syntax import query_error


def as_standard(text: str, base: str | None = None) -> str:
    """The query in standard SPARQL 1.1: of one that takes liberties, or has AGGREGATE.

    For what is no query either way the error is raised whose place is further on, of the standard or of ours.
    """
    try:
        return standard_text(text, base)
    except (QuerySyntaxError, UnsupportedFeature) as ours:
        standard = query_error(text, base)
        raise max(ours, standard, key=_place) from None


def standard_text(text: str, base: str | None = None) -> str:
    """The query in standard SPARQL 1.1. Raises as ``protocol.grammar.parser.parse``."""
    cursor = Cursor(Source(text), liberal=True)
    try:
        written = QueryReader(cursor, base).one_shot_query()
        _refuse(written, cursor)
        return written.text
    except RecursionError:
        raise cursor.error("the query is too long or nests too deeply up to here", kind=UnsupportedFeature) from None


def _refuse(written: WrittenQuery, cursor: Cursor) -> None:
    """Raise for what cannot be written in the standard."""
    for node in nodes(written.query.pattern):
        match node:
            case Call(name, place=place) if name == TIMESTAMP:
                detail = "timestamp() is the time of streamed triples, and this query reads no stream"
                raise cursor.error(f"{detail}: add FROM STREAM <stream> [RANGE 10s]", place)
            case Aggregation(inner):
                for call in nodes(inner):
                    if isinstance(call, Call) and call.name in DRAWING:
                        detail = f"{call.name}() in the WHERE of an AGGREGATE is evaluated over streams only"
                        raise cursor.error(detail, call.place, QuerySemanticError)
    nameless = any(isinstance(node, Variable) for node in nodes(written.query))
    if written.form is Form.SELECT and not written.query.variables and nameless:
        raise cursor.error("SELECT * selects no variable here: name one", 0, QuerySemanticError)


def _place(error: ProtocolError) -> tuple[int, int]:
    return error.line or 0, error.column or 0
