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
from spark_backend.compiler.sql.values import Value

_DRAWN = a.DRAWING | {BNODE_OF}
_IRI, _BLANK, _STRING, _DOUBLE = (
    f"{kind:d}" for kind in (TermKind.IRI, TermKind.BLANK_NODE, TermKind.STRING, TermKind.DOUBLE)
)
_DIGITS = r"'^(.{8})(.{4}).(.{3}).(.{3})(.{12})$', '\1-\2-4\3-a\4-\5'"
"""Of a digest, those of a UUID of version 4 (RFC 9562): its version and its variant are given."""


def is_drawn(expression: a.Expression) -> bool:
    """Whether it is a call that draws, as ``marks.marked`` writes them."""
    return isinstance(expression, a.Call) and expression.name in _DRAWN


def draw(call: a.Call, value: Callable[[a.Expression], Value]) -> Value:
    """The term that a call draws, given the value of each of its arguments: the solution's, and its place or label."""
    solution, of = map(value, call.arguments)
    digest = f"md5({solution.term} || {of.term})"
    match call.name:
        case "RAND":  # a double has 53 bits
            number = f"((md5_number_lower({solution.term} || {of.term}) >> 11)::DOUBLE / 9007199254740992)"
            return Value(f"number_term({_DOUBLE}, {number})", _DOUBLE, number)
        case "UUID":
            return Value(f"('<urn:uuid:' || regexp_replace({digest}, {_DIGITS}) || '>')", _IRI, "NULL::DOUBLE")
        case "STRUUID":
            return Value(f"('\"' || regexp_replace({digest}, {_DIGITS}) || '\"')", _STRING, "NULL::DOUBLE")
        case "BNODE":
            return Value(f"('_:d' || {digest})", _BLANK, "NULL::DOUBLE")
        case _:  # of a simple literal or xsd:string, an error otherwise
            string = f"{of.kind} = {_STRING}"
            term, kind = f"(CASE WHEN {string} THEN '_:d' || {digest} END)", f"(CASE WHEN {string} THEN {_BLANK} END)"
            return Value(term, kind, "NULL::DOUBLE")


def with_draws(
    relation: Relation, variable: a.Variable, identity: str, partition: Sequence[str], keys: Sequence[str], names: Names
) -> Relation:
    """An open relation and, in the variable, a string for each solution that no other of the query and instant has.

    ``partition`` are the keys of an evaluation, ``keys`` further ones; ``identity`` is the query's, in SQL.
    """
    variables = sorted(relation.variables, key=lambda variable: variable.name)  # however they were joined
    terms = [names.column(v) for v in variables if v not in relation.parts]
    by = ", ".join(f"{relation.columns[name]} NULLS FIRST" for name in (*keys, *terms))
    evaluation = ", ".join(relation.columns[key] for key in partition)
    place = f"row_number() OVER (PARTITION BY {evaluation}{f' ORDER BY {by}' if by else ''})"
    seed = f"('\"' || md5({identity} || ' ' || {relation.columns['instant']} || ' ' || {place}) || '\"')"
    parts = (seed, f"{_STRING}::UTINYINT", "NULL::DOUBLE")
    return replace(
        relation,
        columns={**relation.columns, **dict(zip(names.columns(variable), parts, strict=False))},
        variables=(*relation.variables, variable),
        certain=relation.certain | {variable},
        closed=True,
    )
