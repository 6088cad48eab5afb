"""SELECT and solution modifiers (productions [7] to [10] and [18] to [28] of SPARQL 1.1 Query section 19.8), by the
translation of section 18.2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from protocol.errors import UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.expressions import Aggregates, Expressions
from protocol.grammar.groups import read_values
from protocol.grammar.terms import Terms
from protocol.language.algebra import (
    Distinct,
    Expression,
    Extend,
    Filter,
    Group,
    Join,
    OrderBy,
    OrderCondition,
    Pattern,
    Project,
    Slice,
    Values,
    Variable,
    expression_variables,
    in_scope,
    mentioned_variables,
)
from protocol.sparql.tokens import Token, TokenKind

_LARGEST = 2**63 - 1


@dataclass
class Selection:
    """What stands between SELECT and the dataset; ``items`` None is ``*``."""

    keyword: Token
    distinct: bool
    items: list[tuple[Variable, Expression | None]] | None


@dataclass
class Modifiers:
    """What follows WHERE."""

    keys: list[tuple[Variable, Expression | None]] | None = None
    having: list[Expression] = field(default_factory=list)
    order: list[OrderCondition] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    values: Values | None = None


class Solutions:
    """Reads what makes solutions of a pattern's, for one query form or sub-select."""

    def __init__(self, cursor: Cursor, terms: Terms, expressions: Expressions) -> None:
        self._cursor = cursor
        self._terms = terms
        self._expressions = expressions
        self._aggregates = Aggregates(lambda: terms.fresh("aggregate"))

    def selection(self, after_select: Callable[[], None] = lambda: None) -> Selection:
        """[9] SelectClause. ``after_select`` reads what may follow its keyword."""
        cursor, terms = self._cursor, self._terms
        keyword = cursor.advance()
        after_select()
        distinct = cursor.take("DISTINCT", "REDUCED") is not None
        if cursor.take_punctuation("*"):
            return Selection(keyword, distinct, None)
        items: list[tuple[Variable, Expression | None]] = []
        selected: set[Variable] = set()
        comma = False
        while True:
            if terms.at_variable:
                items.append((terms.variable(), None))
            elif cursor.at_punctuation("("):
                with cursor.nested("(", ")"):
                    items.append(self._alias(selected))
            elif cursor.liberal and self._expressions.at_aggregate:
                items.append(self._alias(selected))
            elif items and not comma:
                return Selection(keyword, distinct, items)
            else:
                wanted = "a variable or (expression AS ?variable)"
                raise cursor.unexpected(f"{wanted} after the comma" if comma else f"*, {wanted} after SELECT")
            selected.add(items[-1][0])
            comma = cursor.liberal and cursor.take_punctuation(",") is not None

    def _alias(self, selected: Container[Variable]) -> tuple[Variable, Expression]:
        """``expression AS ?variable``, none of those that are selected."""
        cursor = self._cursor
        expression = self._expressions.expression(self._aggregates)
        cursor.expect("AS", after="the expression")
        token = cursor.token
        variable = self._terms.variable("a new variable after AS")
        if variable in selected:
            raise cursor.error(f"{token.text} is selected already: AS needs a new variable", token)
        return variable, expression

    def _modifiers(self) -> Modifiers:
        """[18] SolutionModifier and [28] ValuesClause."""
        found = Modifiers()
        cursor = self._cursor
        if cursor.take("GROUP"):
            cursor.expect("BY", after="GROUP")
            found.keys = []
            while (key := self._group_condition()) is not None:
                found.keys.append(key)
            if not found.keys:
                raise cursor.unexpected("a variable, a call or an expression in brackets after GROUP BY")
        if cursor.take("HAVING"):
            while (condition := self._having_condition()) is not None:
                found.having.append(condition)
            if not found.having:
                raise cursor.unexpected("an expression in brackets or a call after HAVING")
        if cursor.take("ORDER"):
            cursor.expect("BY", after="ORDER")
            while (order := self._order_condition()) is not None:
                found.order.append(order)
            if not found.order:
                raise cursor.unexpected("ASC( ), DESC( ), an expression in brackets or a variable after ORDER BY")
        self._limit_and_offset(found)
        if cursor.take("VALUES"):
            found.values = read_values(cursor, self._terms)
        if not cursor.at_end:
            raise cursor.unexpected("a solution modifier such as ORDER BY or LIMIT, or the end of the query")
        return found

    def solutions(self, pattern: Pattern, selected: Selection | None) -> Pattern:
        """Read what follows the WHERE; the pattern of the whole (section 18.2.4), in the shape
        ``Slice(Distinct(Project(…)))``. Without a selection all variables are projected.
        """
        modifiers = self._modifiers()
        grouped = modifiers.keys is not None or bool(self._aggregates.found)
        if grouped:
            pattern = self._grouped(pattern, modifiers.keys)
        items = None if selected is None else selected.items
        aliases = self._seen_by_having(items or (), in_scope(pattern))
        of_aliases = [one for one in modifiers.having if mentioned_variables(one) & aliases]
        for condition in modifiers.having:
            if condition not in of_aliases:
                pattern = Filter(pattern, condition)
        if modifiers.values is not None:
            pattern = Join(pattern, modifiers.values)
        visible = set(in_scope(pattern))
        if selected is not None and items is None and grouped:
            raise self._cursor.error("SELECT * does not go with GROUP BY: name the variables", selected.keyword)
        for variable, expression in items or ():
            self._check(variable, expression, visible, grouped)
            if expression is not None:
                pattern = Extend(pattern, variable, expression)
                visible.add(variable)
        for condition in of_aliases:
            pattern = Filter(pattern, condition)
        if modifiers.order:
            pattern = OrderBy(pattern, tuple(modifiers.order))
        variables = self._in_order(in_scope(pattern)) if items is None else tuple(variable for variable, _ in items)
        pattern = Project(pattern, tuple(dict.fromkeys(variables)))
        if selected is not None and selected.distinct:
            pattern = Distinct(pattern)
        if modifiers.limit is not None or modifiers.offset:
            pattern = Slice(pattern, modifiers.offset, modifiers.limit)
        return pattern

    def _seen_by_having(
        self, items: Sequence[tuple[Variable, Expression | None]], visible: frozenset[Variable]
    ) -> frozenset[Variable]:
        """The aliases of SELECT that HAVING sees: over streams those that are not in scope otherwise."""
        aliases = frozenset(variable for variable, expression in items if expression is not None)
        return aliases - visible if self._cursor.continuous else frozenset()

    def _in_order(self, variables: frozenset[Variable]) -> tuple[Variable, ...]:
        """``SELECT *``: variables as they appear in the text."""
        known = self._terms.order
        return tuple(sorted((one for one in variables if not one.name.startswith("_:")), key=lambda one: known[one]))

    def _check(
        self,
        variable: Variable,
        expression: Expression | None,
        visible: set[Variable],
        grouped: bool,
    ) -> None:
        """Section 18.2.4.4, and 19.8, notes 12 and 13: after grouping only its keys are visible, and what they make."""
        if expression is not None and variable in visible:
            raise self._error(f"?{variable.name} is bound already: AS needs a new variable", variable)
        if not grouped:
            return
        read = {variable} if expression is None else expression_variables(expression)
        for other in read:
            if other not in visible and not other.name.startswith("_:"):
                raise self._error(f"?{other.name} is no key of the group: add it to GROUP BY, or aggregate it", other)

    def _grouped(self, pattern: Pattern, keys: Sequence[tuple[Variable, Expression | None]] | None) -> Pattern:
        bound = set(in_scope(pattern))
        for variable, expression in keys or ():
            if expression is not None:
                if variable in bound:
                    raise self._error(f"?{variable.name} is bound already: AS needs a new variable", variable)
                pattern = Extend(pattern, variable, expression)
                bound.add(variable)
        variables = None if keys is None else tuple(dict.fromkeys(variable for variable, _ in keys))
        return Group(pattern, variables, self._aggregates.found)

    def _having_condition(self) -> Expression | None:
        """[22] HavingCondition; with liberties without brackets, too."""
        if not self._cursor.liberal:
            return self._expressions.constraint(self._aggregates)
        if self._cursor.at("ORDER", "LIMIT", "OFFSET", "VALUES") or self._cursor.at_end:
            return None
        return self._expressions.expression(self._aggregates)

    def _group_condition(self) -> tuple[Variable, Expression | None] | None:
        """[20] GroupCondition."""
        cursor, terms = self._cursor, self._terms
        if terms.at_variable:
            return terms.variable(), None
        if cursor.at_punctuation("("):
            with cursor.nested("(", ")"):
                expression = self._expressions.expression()
                if cursor.take("AS"):
                    return terms.variable("a new variable after AS"), expression
            if isinstance(expression, Variable):  # in brackets it is the variable all the same
                return expression, None
            return terms.fresh("key"), expression
        called = self._expressions.constraint()
        return None if called is None else (terms.fresh("key"), called)

    def _order_condition(self) -> OrderCondition | None:
        """[24] OrderCondition."""
        if direction := self._cursor.take("ASC", "DESC"):
            return OrderCondition(self._expressions.bracketted(self._aggregates), direction.word == "DESC")
        if self._terms.at_variable:
            return OrderCondition(self._terms.variable(), False)
        condition = self._expressions.constraint(self._aggregates)
        return None if condition is None else OrderCondition(condition, False)

    def _limit_and_offset(self, found: Modifiers) -> None:
        """[25] LimitOffsetClauses."""
        read: set[str] = set()
        while keyword := self._cursor.take("LIMIT", "OFFSET"):
            if keyword.word in read:
                raise self._cursor.error(f"{keyword.word} stands twice", keyword)
            read.add(keyword.word)
            token = self._cursor.token
            if token.kind is not TokenKind.NUMBER or not token.text.isdigit():
                raise self._cursor.unexpected(f"a whole number after {keyword.word}")
            self._cursor.advance()
            if len(token.text) > 19 or int(token.text) > _LARGEST:
                raise self._cursor.error(f"{token.shown} is more than {_LARGEST}", token, UnsupportedFeature)
            if keyword.word == "LIMIT":
                found.limit = int(token.text)
            else:
                found.offset = int(token.text)

    def _error(self, detail: str, variable: Variable) -> Exception:
        return self._cursor.error(detail, variable.place)
