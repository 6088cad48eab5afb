"""Expressions of SQL: columns, constants, operators and calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any

from spark_backend.compiler.sql.tree.nodes import Expression, Node, Word, separated


@dataclass(frozen=True, eq=False, repr=False)
class Column(Word):
    """A column by its name, of a table by its alias."""

    name: str
    table: str | None = None

    @property
    def text(self) -> str:
        return self.name if self.table is None else f"{self.table}.{self.name}"


@dataclass(frozen=True, eq=False, repr=False)
class Text(Word):
    """A string literal."""

    value: str

    @property
    def text(self) -> str:
        return quote(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Word):
    """A number or a keyword, as SQL writes it."""

    sql: str

    @property
    def text(self) -> str:
        return self.sql


TRUE, FALSE, NULL, STAR = Constant("TRUE"), Constant("FALSE"), Constant("NULL"), Constant("*")


def number(value: int) -> Constant:
    return Constant(f"{value:d}")


def double(value: float) -> Expression:
    """With an exponent: without, it would be a decimal."""
    if not isfinite(value):
        return Cast(Text(repr(value)), "DOUBLE")
    text = repr(value)
    return Constant(text if "e" in text else f"{text}e0")


@dataclass(frozen=True, eq=False, repr=False)
class Parentheses(Expression):
    inner: Expression

    def parts(self) -> Iterable[str | Node]:
        return "(", self.inner, ")"


@dataclass(frozen=True, eq=False, repr=False)
class Infix(Expression):
    """Operands with an operator between any two of them; what binds less closely has to be in Parentheses."""

    operator: str
    operands: tuple[Expression, ...]

    def parts(self) -> Iterable[str | Node]:
        return separated(f" {self.operator} ", self.operands)


@dataclass(frozen=True, eq=False, repr=False)
class Prefix(Expression):
    """An operand with its operator before it: ``NOT``, a sign."""

    operator: str
    operand: Expression

    def parts(self) -> Iterable[str | Node]:
        return self.operator, self.operand


def infix(left: Expression, operator: str, right: Expression) -> Infix:
    return Infix(operator, (left, right))


def equal(left: Expression, right: Expression) -> Infix:
    return Infix("=", (left, right))


def every(conditions: Sequence[Expression]) -> Expression:
    """That all conditions hold."""
    return conditions[0] if len(conditions) == 1 else Infix("AND", tuple(conditions)) if conditions else TRUE


def some(conditions: Sequence[Expression]) -> Expression:
    """That one of the conditions holds, of which there is one at least."""
    return conditions[0] if len(conditions) == 1 else Infix("OR", tuple(conditions))


def negated(condition: Expression) -> Expression:
    return Parentheses(Prefix("NOT ", condition))


@dataclass(frozen=True, eq=False, repr=False)
class IsNull(Expression):
    operand: Expression

    def parts(self) -> Iterable[str | Node]:
        return self.operand, " IS NULL"


@dataclass(frozen=True, eq=False, repr=False)
class IsBound(Expression):
    """That it is not NULL."""

    operand: Expression

    def parts(self) -> Iterable[str | Node]:
        return self.operand, " IS NOT NULL"


@dataclass(frozen=True, eq=False, repr=False)
class Between(Expression):
    operand: Expression
    least: Expression
    greatest: Expression

    def parts(self) -> Iterable[str | Node]:
        return self.operand, " BETWEEN ", self.least, " AND ", self.greatest


@dataclass(frozen=True, eq=False, repr=False)
class In(Expression):
    """That it is one of some values, or ``negated`` none of them."""

    operand: Expression
    values: tuple[Expression, ...]
    negated: bool = False

    def parts(self) -> Iterable[str | Node]:
        return self.operand, " NOT IN (" if self.negated else " IN (", *separated(", ", self.values), ")"


@dataclass(frozen=True, eq=False, repr=False)
class Case(Expression):
    """CASE: the value of the first of ``whens`` that is true or, with a ``subject``, that is its value."""

    whens: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None
    subject: Expression | None = None

    def parts(self) -> Iterable[str | Node]:
        yield "CASE"
        if self.subject is not None:
            yield from (" ", self.subject)
        for condition, value in self.whens:
            yield from (" WHEN ", condition, " THEN ", value)
        if self.otherwise is not None:
            yield from (" ELSE ", self.otherwise)
        yield " END"


def choice(
    *whens: tuple[Expression, Expression], otherwise: Expression | None = None, subject: Expression | None = None
) -> Parentheses:
    """A CASE that may be a part of anything."""
    return Parentheses(Case(whens, otherwise, subject))


def is_choice(expression: Expression) -> bool:
    return isinstance(expression, Parentheses) and isinstance(expression.inner, Case)


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Expression):
    """Of a column, a call, a constant or what is in Parentheses."""

    operand: Expression
    type: str

    def parts(self) -> Iterable[str | Node]:
        return self.operand, f"::{self.type}"


@dataclass(frozen=True, eq=False, repr=False)
class TryCast(Expression):
    """NULL for what has no such value."""

    operand: Expression
    type: str

    def parts(self) -> Iterable[str | Node]:
        return "TRY_CAST(", self.operand, f" AS {self.type})"


def null(type: str) -> Cast:
    return Cast(NULL, type)


NAN = Cast(Text("NaN"), "DOUBLE")


@dataclass(frozen=True, eq=False, repr=False)
class Inside(Expression):
    """A text without its first and its last character."""

    operand: Expression

    def parts(self) -> Iterable[str | Node]:
        return "(", self.operand, ")[2:-2]"


@dataclass(frozen=True, eq=False, repr=False)
class Character(Expression):
    """One character of a text, counted from 1."""

    operand: Expression
    place: int

    def parts(self) -> Iterable[str | Node]:
        return self.operand, f"[{self.place}]"


@dataclass(frozen=True, eq=False, repr=False)
class Struct(Expression):
    fields: Mapping[str, Expression]

    def parts(self) -> Iterable[str | Node]:
        between = "{"
        for name, value in self.fields.items():
            yield from (f"{between}'{name}': ", value)
            between = ", "
        yield "}"


@dataclass(frozen=True, eq=False, repr=False)
class StructField(Expression):
    operand: Expression
    field: str

    def parts(self) -> Iterable[str | Node]:
        return self.operand, f".{self.field}"


@dataclass(frozen=True)
class SortKey(Node):
    """What is sorted by. ``direction`` is what is written behind it: ASC or DESC, where NULL comes, or nothing."""

    key: Expression
    direction: str = ""

    def parts(self) -> Iterable[str | Node]:
        return (self.key, f" {self.direction}") if self.direction else (self.key,)


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expression):
    """A function of its arguments; an aggregate of its ``distinct`` arguments, in an ``order``, of rows ``where``."""

    function: str
    arguments: tuple[Expression, ...] = ()
    distinct: bool = False
    order: tuple[SortKey, ...] = ()
    where: Expression | None = None

    def parts(self) -> Iterable[str | Node]:
        yield f"{self.function}(DISTINCT " if self.distinct else f"{self.function}("
        yield from separated(", ", self.arguments)
        if self.order:
            yield from (" ORDER BY ", *separated(", ", self.order))
        yield ")"
        if self.where is not None:
            yield from (" FILTER (WHERE ", self.where, ")")


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


def count_where(condition: Expression) -> Call:
    return Call("count", (STAR,), where=condition)


def extreme(function: str, values: Sequence[Expression]) -> Expression:
    """The ``least`` or the ``greatest`` of some values, those that are NULL left out."""
    return values[0] if len(values) == 1 else Call(function, tuple(values))


@dataclass(frozen=True, eq=False, repr=False)
class RowNumber(Expression):
    """The place of a row in its partition."""

    partition: tuple[Expression, ...] = ()
    order: tuple[SortKey, ...] = ()

    def parts(self) -> Iterable[str | Node]:
        yield "row_number() OVER ("
        if self.partition:
            yield from ("PARTITION BY ", *separated(", ", self.partition))
        if self.order:
            yield from (" ORDER BY " if self.partition else "ORDER BY ", *separated(", ", self.order))
        yield ")"


def substituted(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """The expression with others in place of columns of no table."""
    if isinstance(expression, Column):
        return expression if expression.table is not None else columns.get(expression.name, expression)
    own = {part.name: getattr(expression, part.name) for part in fields(expression)}
    return replace(expression, **{name: _substituted(value, columns) for name, value in own.items()})


def _substituted(value: Any, columns: Mapping[str, Expression]) -> Any:
    match value:
        case Expression():
            return substituted(value, columns)
        case SortKey(key, direction):
            return SortKey(substituted(key, columns), direction)
        case tuple():
            return tuple(_substituted(part, columns) for part in value)
        case Mapping():
            return {name: _substituted(part, columns) for name, part in value.items()}
    return value


def occurrences(expressions: Iterable[Expression], wanted: Collection[Expression]) -> Counter[Expression]:
    """How often each of some expressions is written in others."""
    looked_for = frozenset(wanted)
    known: dict[int, Counter[Expression]] = {}

    def within(node: Node) -> Counter[Expression]:
        found = known.get(id(node))
        if found is None:
            found = Counter([node]) if isinstance(node, Expression) and node in looked_for else Counter()
            for part in node.parts():
                if isinstance(part, Node) and part is not node:
                    found.update(within(part))
            known[id(node)] = found
        return found

    total: Counter[Expression] = Counter()
    for expression in expressions:
        total.update(within(expression))
    return total


def quote(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
