"""Solutions that a pattern inside of EXISTS is asked of, as a table (SPARQL 1.1 Query section 18.6, substitute)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from protocol.language.algebra import Variable
from spark_backend.compiler.sql.patterns.joins import join_across_keys
from spark_backend.compiler.sql.relation import Names, Relation, columns_of_table
from spark_backend.compiler.sql.tree.statements import Table, TableName


@dataclass(frozen=True)
class Outer:
    """A common table expression of solutions, each a row of its own: ``row`` is a key of what is compiled inside.

    ``variables`` are those of the solutions that can be seen inside. Every pattern matched inside is joined with
    the table, and so every solution inside has the terms substituted for them.
    """

    table: str
    row: str
    columns: tuple[str, ...]
    variables: tuple[Variable, ...]
    certain: frozenset[Variable]

    def seeing(self, variables: Sequence[Variable]) -> Outer:
        """The same where no other variables can be seen: in a sub-select."""
        seen = tuple(variable for variable in self.variables if variable in variables)
        return replace(self, variables=seen, certain=self.certain & frozenset(seen))

    def relation(self, names: Names) -> Relation:
        """The keys and the visible variables."""
        alias = names.fresh("o")
        listed = [*self.columns, *names.all_columns(self.variables)]
        table = Table(TableName(self.table), alias)
        return Relation(columns_of_table(alias, listed), (table,), self.variables, self.certain)

    def with_solutions(self, relation: Relation, names: Names) -> Relation:
        """What is matched inside, for each of the solutions."""
        return join_across_keys(self.relation(names), relation, names)
