"""What of a window's content a triple pattern matches under an entailment regime, beside the triples themselves.

A pattern of the query is rewritten with the schema: a triple of the window is joined with the consequences that it has
there (``protocol.entailment.consequences``), a static table with the term that tells the triple in ``g``, and in ``s``,
``p`` and ``o`` the triple that follows. Of that subject and object may be places of the window's triple. So the
statement is the same whatever the schema says.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.entailment.consequences import ANY, CLASS, OBJECT, PREDICATE, SUBJECT
from protocol.language.algebra import Constant, TriplePattern
from protocol.terms import RDF_TYPE, TermKind
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, Text
from spark_backend.compiler.sql.tree.nodes import Expression, Node
from spark_backend.compiler.sql.tree.statements import Select, Table, TableName, unnamed
from spark_backend.compiler.sql.values import NO_NUMBER, kind_of

_ROW, _FOLLOWING = "w", "z"


def entailed_triples(
    triple: TriplePattern,
    premise: str,
    window: Node,
    consequences: TableName,
    key: Sequence[tuple[str, Expression]],
    *,
    timed: bool,
) -> Select:
    """A SELECT of instant, ``key``, s, p, o, k, n and, if ``timed``, t, which is that of the triple it follows from.

    One triple may be there several times.
    """
    follows = Column("s", _FOLLOWING), Column("o", _FOLLOWING)
    subject, object_ = map(_term, follows)
    resource = sql.In(Column("k", _ROW), (kind_of(TermKind.IRI), kind_of(TermKind.BLANK_NODE)))
    # A literal is no subject.
    conditions: list[Expression] = [sql.Parentheses(sql.some([sql.infix(follows[0], "<>", Text(OBJECT)), resource]))]
    if premise == CLASS:
        conditions += [sql.equal(Column("p", _ROW), Text(RDF_TYPE))]
        conditions += [sql.equal(Column("o", _ROW), Column("g", _FOLLOWING))]
    elif premise != ANY:
        conditions += [sql.equal(Column("p", _ROW), Column("g", _FOLLOWING))]
    for part, found in ((triple.subject, subject), (triple.object, object_)):
        if isinstance(part, Constant):
            conditions.append(sql.equal(found, Text(part.text)))
    columns = (
        *unnamed(Column("instant", _ROW)),
        *key,
        ("s", subject),
        ("p", Column("p", _FOLLOWING)),
        ("o", object_),
        ("k", sql.Cast(_facet(follows[1], "k", kind_of(TermKind.IRI)), "UTINYINT")),
        ("n", sql.Cast(_facet(follows[1], "n", NO_NUMBER), "DOUBLE")),
        *(unnamed(Column("t", _ROW)) if timed else ()),
    )
    return Select(columns, (Table(window, _ROW), Table(consequences, _FOLLOWING)), tuple(conditions))


def _term(place: Column) -> Expression:
    """The term that a place of what follows stands for."""
    places = (SUBJECT, PREDICATE, OBJECT)
    return sql.choice(*((Text(one), Column(one, _ROW)) for one in places), subject=place, otherwise=place)


def _facet(place: Column, facet: str, of_iri: Expression) -> Expression:
    """The facet of the object that follows; a predicate is an IRI, a subject may be a blank node."""
    of_subject = of_iri
    if facet == "k":
        bracketed = sql.equal(sql.Character(Column("s", _ROW), 1), Text("<"))
        of_subject = sql.choice((bracketed, of_iri), otherwise=kind_of(TermKind.BLANK_NODE))
    return sql.choice(
        (Text(SUBJECT), of_subject),
        (Text(PREDICATE), of_iri),
        (Text(OBJECT), Column(facet, _ROW)),
        subject=place,
        otherwise=Column(facet, _FOLLOWING),
    )
