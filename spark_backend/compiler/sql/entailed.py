"""What of a window's content a triple pattern matches under an entailment regime, beside the triples themselves.

A pattern of the query is rewritten with the schema: a triple of the window is joined with the consequences that it has
there (``protocol.entailment.consequences``), static tables with the term that tells the triple in ``g``, and in ``s``,
``p`` and ``o`` the triple that follows, of which subject and object may be places of the window's triple. There is one
for each of the ways in which they come about. So the statement is the same whatever the schema says, but for the ways
that it has none of.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.entailment.consequences import ANY, CLASS, OBJECT, PREDICATE, SUBJECT, WAYS
from protocol.language.algebra import Constant, TriplePattern
from protocol.terms import RDF_TYPE, TermKind
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, Text
from spark_backend.compiler.sql.tree.nodes import Expression, Node
from spark_backend.compiler.sql.tree.statements import Compound, Select, Subselect, Table, TableName, unnamed
from spark_backend.compiler.sql.triple_columns import FACETED, columns_named, constant_conditions
from spark_backend.compiler.sql.values import NO_NUMBER, constant, kind_of

_ROW, _FOLLOWING = "w", "z"
_RESOURCES = kind_of(TermKind.IRI), kind_of(TermKind.BLANK_NODE)


def entailed_rows(
    triple: TriplePattern,
    rows: Node,
    ways: Sequence[StaticPattern],
    first: Sequence[tuple[str | None, Expression]],
    last: Sequence[str],
) -> list[Select]:
    """What a pattern matches of rows of triples, and of what follows from them in some ways: SELECTs of s, p, o, k, n,
    with ``first`` before these, and behind them columns ``last`` of the rows. One triple may be there several times.
    """
    selects = [_following(triple, str(pattern.way), rows, TableName(pattern.table), first, last) for pattern in ways]
    if not any(pattern.is_of_itself for pattern in ways):
        columns = (*first, *unnamed(*columns_named((*FACETED, *last))))
        selects.insert(0, Select(columns, (Table(rows),), constant_conditions(triple)))
    return selects


def each_once(triple: TriplePattern, selects: Sequence[Select], key: Sequence[str], *, timed: bool) -> Select:
    """A SELECT of ``key``, s, p, o, k, n and, if ``timed``, t: what the pattern matches, each triple once, with the
    latest of its times.
    """
    parts = (("s", triple.subject), ("p", triple.predicate), ("o", triple.object))
    terms = [(name, Text(part.text) if isinstance(part, Constant) else Column(name)) for name, part in parts]
    # Facets are functions of the object.
    facets: list[tuple[str, Expression]] = [(name, sql.call("max", Column(name))) for name in ("k", "n")]
    if isinstance(triple.object, Constant):
        object_ = constant(triple.object.text)
        facets = [("k", sql.Cast(object_.kind, "UTINYINT")), ("n", sql.Cast(object_.number, "DOUBLE"))]
    latest = [("t", sql.call("max", Column("t")))] if timed else []
    found = Table(Subselect(Compound("UNION ALL", tuple(selects)) if len(selects) > 1 else selects[0]), "x")
    by = (*(Column(name) for name in key), *(term for _, term in terms if isinstance(term, Column)))
    return Select((*unnamed(*(Column(name) for name in key)), *terms, *facets, *latest), (found,), group=by)


def _following(
    triple: TriplePattern,
    way: str,
    rows: Node,
    consequences: TableName,
    first: Sequence[tuple[str | None, Expression]],
    last: Sequence[str],
) -> Select:
    """As ``entailed_rows``, of what follows in one way."""
    told = WAYS[way]
    follows = Column("s", _FOLLOWING), Column("o", _FOLLOWING)
    if told.rest:
        subject, object_ = map(_any_place, follows)
        facets = [_any_facet(follows[1], name) for name in ("k", "n")]
    else:
        subject, object_ = (
            Column(place, _ROW) if place else follow
            for place, follow in zip((told.subject, told.object), follows, strict=True)
        )
        facets = [_facet(told.object, name) for name in ("k", "n")]
    conditions: list[Expression] = []
    if told.premise == CLASS:
        conditions += [sql.equal(Column("p", _ROW), Text(RDF_TYPE))]
        conditions += [sql.equal(Column("o", _ROW), Column("g", _FOLLOWING))]
    elif told.premise != ANY:
        conditions += [sql.equal(Column("p", _ROW), Column("g", _FOLLOWING))]
    # A literal is no subject.
    resource = sql.In(Column("k", _ROW), _RESOURCES)
    if told.rest:
        conditions.append(sql.Parentheses(sql.some([sql.infix(follows[0], "<>", Text(OBJECT)), resource])))
    elif told.subject == OBJECT:
        conditions.append(resource)
    for part, place, found in ((triple.subject, told.subject, subject), (triple.object, told.object, object_)):
        if isinstance(part, Constant) and (told.rest or place):  # all else is so in the table
            conditions.append(sql.equal(found, Text(part.text)))
    columns = (
        *first,
        ("s", subject),
        ("p", Column("p", _FOLLOWING)),
        ("o", object_),
        *zip(("k", "n"), facets, strict=True),
        *unnamed(*(Column(name, _ROW) for name in last)),
    )
    return Select(columns, (Table(rows, _ROW), Table(consequences, _FOLLOWING)), tuple(conditions))


def _facet(place: str, facet: str) -> Expression:
    """The facet of the object that follows, which stands at a place; a subject may be a blank node, a predicate not."""
    if not place:
        return Column(facet, _FOLLOWING)
    if place == OBJECT:
        return Column(facet, _ROW)
    if facet == "n":
        return NO_NUMBER
    if place == PREDICATE:
        return sql.Cast(kind_of(TermKind.IRI), "UTINYINT")
    bracketed = sql.equal(sql.Character(Column("s", _ROW), 1), Text("<"))
    return sql.Cast(sql.choice((bracketed, kind_of(TermKind.IRI)), otherwise=kind_of(TermKind.BLANK_NODE)), "UTINYINT")


def _any_place(place: Column) -> Expression:
    """The term that a place of what follows stands for."""
    places = (SUBJECT, PREDICATE, OBJECT)
    return sql.choice(*((Text(one), Column(one, _ROW)) for one in places), subject=place, otherwise=place)


def _any_facet(place: Column, facet: str) -> Expression:
    """The facet of the object that follows, wherever it stands."""
    places = (SUBJECT, PREDICATE, OBJECT)
    return sql.choice(*((Text(one), _facet(one, facet)) for one in places), subject=place, otherwise=_facet("", facet))
