"""The leaves of a query that others may narrow, and what they are matched in (``evaluation.narrowing``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from protocol.language.algebra import Static, TriplePattern, Variable
from spark_backend.compiler.algebra.narrowing import Operand, Place
from spark_backend.compiler.sql.sources import RowCondition, Source, SourcePart
from spark_backend.compiler.sql.tree.nodes import Node
from spark_backend.compiler.sql.tree.placeholders import SourceRows


@dataclass
class Sources:
    """``operands``: the leaves, and ``conditions`` what is true of the rows of some of them
    (``Operand.conditions``, in SQL). What they are matched in is known when they are compiled.
    """

    operands: Mapping[Place, Operand] = field(default_factory=dict)
    conditions: Mapping[Place, tuple[RowCondition, ...]] = field(default_factory=dict)
    _matched: dict[Operand, Source] = field(default_factory=dict)

    def placed(self, place: Place, table: Node, parts: Sequence[SourcePart], columns: Mapping[Variable, str]) -> Node:
        """A table of which other leaves may leave some rows only; the table itself where none does.

        ``columns``: those of variables.
        """
        operand = self.operands.get(place)
        if operand is None or not parts:
            return table
        if operand not in self._matched:
            joined = tuple(
                (column, _name(operand, variable))
                for variable, column in columns.items()
                if variable in operand.columns
            )
            self._matched[operand] = Source(
                table.written,
                tuple(parts),
                joined,
                alike=_alike(operand, parts),
                required=operand.required,
                conditions=self.conditions.get(place, ()),
            )
        return SourceRows(list(self._matched).index(operand))

    @property
    def listed(self) -> tuple[Source, ...]:
        """What has been compiled, by the numbers of the placeholders."""
        numbers = {operand: number for number, operand in enumerate(self._matched)}

        def of(operands: Iterable[Operand]) -> tuple[int, ...]:
            return tuple(sorted(numbers[one] for one in operands if one in numbers))

        return tuple(
            replace(
                source,
                narrowed_by=of(operand.narrowed_by),
                barred_by=of(one for one in operand.barred_by if one in numbers and self._matched[one].bars(source)),
                equals=tuple(sorted(self._equals(operand, numbers))),
            )
            for operand, source in self._matched.items()
        )

    def _equals(self, operand: Operand, numbers: Mapping[Operand, int]) -> Iterator[tuple[str, int, str]]:
        """Columns of an operand that are equal to others', as sources have them."""
        for variable, other, theirs in operand.equals:
            if other in numbers:
                one, two = self._value_column(operand, variable), self._value_column(other, theirs)
                if one is not None and two is not None:
                    yield one, numbers[other], two

    def _value_column(self, operand: Operand, variable: Variable) -> str | None:
        """The column of a variable's terms in what an operand is matched in, if kinds and numbers are beside it."""
        columns = [column for column, name in self._matched[operand].columns if name == _name(operand, variable)]
        match operand.leaf:
            case TriplePattern():
                return "o" if columns == ["o"] else None
            case Static():
                return columns[0] if columns else None
        return None


def _name(operand: Operand, variable: Variable) -> str:
    """Under which joined leaves have a variable in common: by the sub-select that hides it."""
    return f"{variable.name} {operand.columns[variable][1]}"


def _alike(operand: Operand, parts: Sequence[SourcePart]) -> tuple[str, ...]:
    """The columns that tell matches apart where some variables are unread; none where all are read, or in GRAPH ?g."""
    leaf = operand.leaf
    if not isinstance(leaf, TriplePattern) or not operand.unread or any(part.ranged for part in parts):
        return ()
    instant = ("instant",) if any(part.streamed or part.at_instants for part in parts) else ()
    places = (("s", leaf.subject), ("p", leaf.predicate), ("o", leaf.object))
    return (*instant, *(column for column, part in places if part not in operand.unread))
