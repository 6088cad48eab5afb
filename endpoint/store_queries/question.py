"""What a reader is asked for a live query, and what is refused before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from endpoint.readers.exchange import LinesQuestion
from protocol.errors import UnsupportedFeature
from protocol.grammar.one_shot import as_standard
from protocol.language.algebra import Call, Constant, Distinct, OrderBy, Project, Service, Slice, Variable, nodes
from protocol.language.model import ContinuousQuery, Form
from protocol.sparql.guard import refuse_excess
from protocol.sparql.source import Source, spliced
from protocol.sparql.syntax import query_error, query_fault
from protocol.sparql.tokens import TokenKind, tokenize
from protocol.time import BEFORE_ALL, FIRST_INSTANT, LAST_INSTANT, Instant, format_instant

if TYPE_CHECKING:
    from endpoint.readers.rdflib_functions import RdflibFunctions

_XSD_DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"


def question(query: ContinuousQuery, now: Instant) -> LinesQuestion:
    """The query as it is at a state of the store, which came about at ``now``: the time that NOW() is then."""
    assert query.one_shot is not None, "only a query of the store alone is asked there"
    return LinesQuestion(
        _at(query.one_shot.text, now),
        query.one_shot.base,
        query.from_graphs,
        query.from_named,
        ordered=_is_ordered(query),
        draws_nodes=_draws_nodes(query),
    )


def refuse_past(query: ContinuousQuery, since: Instant | None) -> None:
    """Raise UnsupportedFeature where answers of a live query are asked for that were before now, after some time."""
    if query.one_shot is not None and since not in (None, BEFORE_ALL):
        raise UnsupportedFeature("since: the past of the store is not kept; leave it out to begin with the answer now")


def require_evaluable(query: ContinuousQuery, rdflib: RdflibFunctions | None = None) -> None:
    """Raise ProtocolError, with the place, for what the store does not evaluate at all, or not again and again.

    ``rdflib``: what only rdflib evaluates, in queries that are answered once. Nothing is evaluated. For a thread with a
    stack as the parser needs it.
    """
    assert query.one_shot is not None, "only a query of the store alone is asked there"
    source = Source(query.text)
    for node in nodes(query.expression.pattern):
        if isinstance(node, Service):
            detail = "SERVICE is for one-shot queries: what another endpoint has changes without our knowledge"
            raise source.error(detail, node.place or 0, UnsupportedFeature)
    if rdflib is not None:
        _refuse_rdflib(query, source, rdflib)
    text, base = query.one_shot.text, query.one_shot.base
    refuse_excess(text)
    # As in an evaluation: what is not standard is asked in other words.
    if query_fault(text, base) is not None and query_fault(as_standard(text, base), base) is not None:
        raise query_error(text, base)


def _refuse_rdflib(query: ContinuousQuery, source: Source, rdflib: RdflibFunctions) -> None:
    if rdflib.custom_eval is not None:
        raise UnsupportedFeature(
            "with custom_eval every query is evaluated by rdflib, and answered once: there are no live queries"
        )
    of_rows = {f"<{iri}>" for iri in rdflib.iris}
    for node in nodes(query.expression):
        iri = node.name if isinstance(node, Call) else node.text if isinstance(node, Constant) else ""
        if iri in of_rows:
            assert isinstance(node, Call | Constant), "they have names"
            detail = f"{iri} is a function of rows, and works in queries that are answered once, not in live ones"
            raise source.error(detail, node.place or 0, UnsupportedFeature)


def _at(text: str, now: Instant) -> str:
    """The text with the time in place of each NOW()."""
    if "NOW" not in text.upper():
        return text
    time = f'("{format_instant(min(max(now, FIRST_INSTANT), LAST_INSTANT))}"^^{_XSD_DATE_TIME})'
    found = tokenize(text)
    calls = [
        (one.start, closing.end, time)
        for one, opening, closing in zip(found, found[1:], found[2:], strict=False)
        if one.kind is TokenKind.WORD and one.word == "NOW" and (opening.text, closing.text) == ("(", ")")
    ]
    return spliced(text, calls)


def _is_ordered(query: ContinuousQuery) -> bool:
    """Whether the outermost query says in which order its solutions are."""
    pattern = query.expression.pattern
    while isinstance(pattern, Slice | Distinct):
        pattern = pattern.pattern
    return query.form is Form.SELECT and isinstance(pattern, Project) and isinstance(pattern.pattern, OrderBy)


def _draws_nodes(query: ContinuousQuery) -> bool:
    """Whether the graph that it constructs has blank nodes that are not the store's."""
    if query.form is not Form.CONSTRUCT:
        return False
    template = query.expression.template or ()
    made = any(isinstance(node, Variable) and node.name.startswith("_:") for node in nodes(template))
    return made or any(isinstance(one, Call) and one.name == "BNODE" for one in nodes(query.expression.pattern))
