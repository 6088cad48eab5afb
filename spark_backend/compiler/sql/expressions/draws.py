"""Terms drawn for a solution: RAND, UUID, STRUUID, BNODE (SPARQL 1.1 Query sections 17.4.2.9 to 17.4.2.12, 17.4.4.5).

They are drawn from query, instant and solution (docs/language.md, "Random terms"): digests, the same at every replay.
Solutions are told apart by their place among those of the instant in the order of their terms, so equal ones draw
differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.algebra.marks import BNODE_OF
from spark_backend.compiler.sql.relation import Names, Relation
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Cast, Infix, Parentheses, SortKey, Text, call, choice
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import NO_NUMBER, Value, kind_of

_DRAWN = a.DRAWING | {BNODE_OF}
_IRI, _BLANK, _STRING, _DOUBLE = map(kind_of, (TermKind.IRI, TermKind.BLANK_NODE, TermKind.STRING, TermKind.DOUBLE))
_DIGITS = Text("^(.{8})(.{4}).(.{3}).(.{3})(.{12})$"), Text(r"\1-\2-4\3-a\4-\5")
"""Of a digest, those of a UUID of version 4 (RFC 9562): its version and its variant are given."""


def is_drawn(expression: a.Expression) -> bool:
    """Whether it is a call that draws, as ``marks.marked`` writes them."""
    return isinstance(expression, a.Call) and expression.name in _DRAWN


def draw(drawn: a.Call, value: Callable[[a.Expression], Value]) -> Value:
    """The term that a call draws, given the value of each of its arguments: the solution's, and its place or label."""
    solution, of = map(value, drawn.arguments)
    drawn_from = Infix("||", (solution.term, of.term))
    digest = call("md5", drawn_from)
    match drawn.name:
        case "RAND":  # a double has 53 bits
            bits = Parentheses(sql.infix(call("md5_number_lower", drawn_from), ">>", sql.number(11)))
            number = Parentheses(sql.infix(Cast(bits, "DOUBLE"), "/", sql.number(2**53)))
            return Value(call("number_term", _DOUBLE, number), _DOUBLE, number)
        case "UUID":
            return Value(_written("<urn:uuid:", _uuid(digest), ">"), _IRI, NO_NUMBER)
        case "STRUUID":
            return Value(_written('"', _uuid(digest), '"'), _STRING, NO_NUMBER)
        case "BNODE":
            return Value(Parentheses(Infix("||", (Text("_:d"), digest))), _BLANK, NO_NUMBER)
        case _:  # of a simple literal or xsd:string, an error otherwise
            string = sql.equal(of.kind, _STRING)
            return Value(choice((string, Infix("||", (Text("_:d"), digest)))), choice((string, _BLANK)), NO_NUMBER)


def _uuid(digest: Expression) -> Expression:
    return call("regexp_replace", digest, *_DIGITS)


def _written(before: str, text: Expression, after: str) -> Expression:
    return Parentheses(Infix("||", (Text(before), text, Text(after))))


def with_draws(
    relation: Relation,
    variable: a.Variable,
    identity: Expression,
    partition: Sequence[str],
    keys: Sequence[str],
    names: Names,
) -> Relation:
    """An open relation and, in the variable, a string for each solution that no other of the query and instant has.

    ``partition`` are the keys of an evaluation, ``keys`` further ones; ``identity`` is the query's.
    """
    variables = sorted(relation.variables, key=lambda variable: variable.name)  # however they were joined
    terms = [names.column(v) for v in variables if v not in relation.parts]
    by = tuple(SortKey(relation.columns[name], "NULLS FIRST") for name in (*keys, *terms))
    place = sql.RowNumber(tuple(relation.columns[key] for key in partition), by)
    named = Infix("||", (identity, Text(" "), relation.columns["instant"], Text(" "), place))
    parts = (_written('"', call("md5", named), '"'), Cast(_STRING, "UTINYINT"), NO_NUMBER)
    return replace(
        relation,
        columns={**relation.columns, **dict(zip(names.columns(variable), parts, strict=False))},
        variables=(*relation.variables, variable),
        certain=relation.certain | {variable},
        closed=True,
    )
