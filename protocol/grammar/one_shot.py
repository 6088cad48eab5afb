"""One-shot queries in other words: those that the store's parser does not take, written as the authors of the dialects
print them, and those to which Oxigraph has another answer than the standard.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import dropwhile

from protocol.errors import ExcludedByGrammar, ProtocolError, QuerySemanticError, QuerySyntaxError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.parser import QueryReader
from protocol.language.algebra import (
    DRAWING,
    TIMESTAMP,
    Aggregation,
    Call,
    Group,
    Project,
    Query,
    Service,
    Variable,
    in_scope,
    nodes,
    solution_variables,
)
from protocol.language.exactness import exact
from protocol.language.exists import with_own_variables
from protocol.language.model import Form
from protocol.language.sparql_text import WrittenQuery, is_open_sum
from protocol.sparql.source import Source, spliced
from protocol.sparql.syntax import query_error
from protocol.sparql.tokens import tokens

_PERHAPS_INEXACT = re.compile(
    r"[*+]|\?(?!\w)|(?<!\|)\|(?!\|)|bnode|service|exists|\bgraph\b.*\b(?:graph|values)\b"
    r"|\bcount\s*\((?!\s*(?:distinct\b\s*)?[?$]\w+\s*\))",
    re.IGNORECASE | re.DOTALL,
)
"""``SELECT *``, sums, paths and the rest: a look that costs next to nothing, and most queries nothing more."""

_AGGREGATE = r"\b(?:count|sum|min|max|avg|sample|group_concat)\s*\("
_PERHAPS_EXCLUDED = re.compile(
    rf"{_AGGREGATE}.*{_AGGREGATE}|<<\(\s*(?:<<\(|[\"'0-9.+-]|true\b|false\b)", re.IGNORECASE | re.DOTALL
)


def as_standard(text: str, base: str | None = None) -> str:
    """The query in standard SPARQL 1.1: of one that takes liberties, or has AGGREGATE.

    For what is no query either way the error is raised that says more, of the standard or of ours (``query_error``).
    """
    try:
        return standard_text(text, base)
    except (QuerySyntaxError, UnsupportedFeature) as ours:
        raise query_error(text, base, ours=ours) from None


def standard_text(text: str, base: str | None = None) -> str:
    """The query in standard SPARQL 1.1. Raises as ``protocol.grammar.parser.parse``."""
    cursor = Cursor(Source(text), liberal=True)
    try:
        written = QueryReader(cursor, base).one_shot_query()
        _refuse(written, cursor)
        return written.text
    except RecursionError:
        raise cursor.error("the query is too long or nests too deeply up to here", kind=UnsupportedFeature) from None


def exact_text(text: str, base: str | None = None) -> str:
    """A query of the standard, written so that Oxigraph gives the standard's answer; the text itself where it does.

    ``SELECT *`` selects variables in the order in which they appear, as in a continuous query. What our parser does not
    read, LATERAL for one, is left as it is. Raises ExcludedByGrammar for an aggregate within another one, and for an
    expression that is a triple term whose subject is a literal or a triple term: Oxigraph reads both.
    """
    if _PERHAPS_INEXACT.search(text) is None and _PERHAPS_EXCLUDED.search(text) is None:
        return text
    source = Source(text)
    try:
        written = QueryReader(Cursor(source), base).one_shot_query()
        if written.form is Form.SELECT and not written.query.variables and _binds_hidden_variables(written.query):
            return text  # SELECT * of nothing that has a name: in other words it would have one
        query = exact(with_own_variables(written.query))
        if query is not written.query or _is_written_inexactly(query, source.text):
            return replace(written, query=query).text
    except ExcludedByGrammar:
        raise
    except (ProtocolError, RecursionError):
        return text  # what else is wrong is for the engine to say, and perhaps nothing is
    return _with_named_variables(source.text, written)


def _is_written_inexactly(query: Query, text: str) -> bool:
    """Whether there is what depends on how it is written (``protocol.language.sparql_text``)."""
    for node in nodes(query):
        if is_open_sum(node) or (isinstance(node, Service) and isinstance(node.name, Variable)):
            return True
        if isinstance(node, Group) and _counts_hidden_variables(node):
            return True
    return "|" in text and any(token.text == "|" for token in tokens(text))


def _counts_hidden_variables(group: Group) -> bool:
    """Whether COUNT(DISTINCT *) is of solutions that bind variables which nobody can name: Oxigraph tells them apart
    by these as well.
    """
    if not any(one.counts_solutions for one in group.aggregates):
        return False
    return solution_variables(group.pattern) != in_scope(group.pattern)


def _binds_hidden_variables(query: Query) -> bool:
    """Whether the pattern that a query selects from binds variables that nobody can name, such as blank nodes, or would
    bind one as it is written: a sub-select of no variable is of a hidden one.
    """
    nameless = [node for node in nodes(query.pattern) if isinstance(node, Project) and not node.variables]
    # The first is the query's own.
    return len(nameless) > 1 or bool(solution_variables(nameless[0].pattern))


def _with_named_variables(text: str, written: WrittenQuery) -> str:
    """``SELECT *`` of the outermost query with the names of its variables."""
    variables = " ".join(f"?{variable.name}" for variable in written.query.variables)
    if written.form is not Form.SELECT or "*" not in text or not variables:
        return text
    found = dropwhile(lambda token: token.word != "SELECT", tokens(text))
    star = next(token for token in found if token.word not in ("SELECT", "DISTINCT", "REDUCED"))
    return spliced(text, [(star.start, star.end, f" {variables} ")]) if star.text == "*" else text


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
