"""The columns of tables of triples, and what a triple pattern asks of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from protocol.language.algebra import Constant, Parameter, TriplePattern, Variable
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import Column, Text
from spark_backend.compiler.sql.tree.nodes import Expression

FACETED = ("s", "p", "o", "k", "n")
"""A triple's terms, and the facets of its object."""


def facet_columns(column: str) -> tuple[str, str]:
    """The columns of the kind and the number of a term, by that of the term: of an object, or of a variable."""
    return ("k", "n") if column == "o" else (f"{column}_k", f"{column}_n")


def columns_named(names: Sequence[str], table: str | None = None) -> tuple[Expression, ...]:
    return tuple(Column(name, table) for name in names)


def places_of(triple: TriplePattern) -> dict[Variable, str]:
    """The columns of a triple pattern's variables."""
    parts = (("o", triple.object), ("p", triple.predicate), ("s", triple.subject))
    return {part: column for column, part in parts if isinstance(part, Variable)}


def repeated_conditions(triple: TriplePattern, alias: str) -> tuple[Expression, ...]:
    """That columns of a table of triples, under this alias, are the same where the pattern has one variable."""
    parts = (("s", triple.subject), ("p", triple.predicate), ("o", triple.object))
    return tuple(
        sql.equal(Column(one, alias), Column(other, alias))
        for (one, first), (other, second) in combinations(parts, 2)
        if isinstance(first, Variable) and first == second
    )


def is_lifted(triple: TriplePattern) -> bool:
    """Whether constants of the pattern are parameters: nothing but what streams say matches it then."""
    return isinstance(triple.subject, Parameter) or isinstance(triple.object, Parameter)


def constant_term(part: Variable | Constant | Parameter) -> str | None:
    return part.text if isinstance(part, Constant) else None


def constant_conditions(triple: TriplePattern, alias: str | None = None) -> tuple[Expression, ...]:
    """That a triple's columns, of a table under this alias, are the constants of the pattern."""
    parts: Sequence[tuple[str, Variable | Constant | Parameter]] = (
        ("s", triple.subject),
        ("p", triple.predicate),
        ("o", triple.object),
    )
    return tuple(
        sql.equal(Column(column, alias), Text(part.text)) for column, part in parts if isinstance(part, Constant)
    )
