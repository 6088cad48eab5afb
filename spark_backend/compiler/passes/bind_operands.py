"""What is compared is BIND of what decides it, where it has to be computed.

``OPTIONAL {?x :v ?w FILTER(?w > ?v + 3)}`` compares each solution of one side with each of the other, but the sum is
that of a solution, and not of a pair. Where it is an error, the variable is unbound: to compare it is an error, too.
So does ``?x :at ?t . ?y :at ?u FILTER(HOURS(?t) = HOURS(?u))``, where nothing but the condition joins the two. And
what solutions are ordered by is BIND of each: how terms are ordered (15.1) is asked of its kind, number and text.
"""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from spark_backend.compiler.algebra.kinds import is_text
from spark_backend.compiler.algebra.marks import certainly_bound
from spark_backend.compiler.algebra.narrowing import costs_little
from spark_backend.compiler.algebra.operands import conjuncts, filter_of, join_of
from spark_backend.compiler.algebra.timestamps import is_time
from spark_backend.compiler.algebra.traversal import bottom_up
from spark_backend.compiler.passes.split_products import unjoined_parts

_LOGICAL = frozenset({"&&", "||", "!"})


def bind_operands(query: a.Query, _: object) -> a.Query:
    made: list[a.Variable] = []

    def bound(pattern: a.Pattern, inside: bool) -> a.Pattern:
        match pattern:
            # Inside of EXISTS variables are bound from outside, too, and not in every operand to be seen.
            case a.LeftJoin(left, right, condition, ()) if condition is not None and not inside:
                sides = _Sides([left, right], made)
                compared = sides.compared(condition)
                left, right = sides.patterns
                return a.LeftJoin(left, right, compared)
            case a.Filter() if not inside:
                return _over_product(pattern, made)
            case a.OrderBy(inner, conditions) if not inside:
                side = _Sides([inner], made)
                conditions = tuple(with_parts(one, expression=side.operand(one.expression)) for one in conditions)
                return with_parts(pattern, pattern=side.patterns[0], conditions=conditions)
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, bound))


def _over_product(pattern: a.Filter, made: list[a.Variable]) -> a.Pattern:
    """A filter of what is joined by nothing: what it asks of one part alone is asked of that.

    Not of occurrences, which are joined by their times.
    """
    if any(map(is_time, a.mentioned_variables(pattern.pattern))):
        return pattern
    parts = unjoined_parts(pattern.pattern, frozenset())
    if len(parts) < 2:
        return pattern
    mentioned = [a.mentioned_variables(part) for part in parts]
    own: list[list[a.Expression]] = [[] for _ in parts]
    joining: list[a.Expression] = []
    for condition in conjuncts(pattern.condition):
        read = a.expression_variables(condition)
        place = next((place for place, known in enumerate(mentioned) if read and read <= known), None)
        (joining if place is None else own[place]).append(condition)
    sides = _Sides(list(map(filter_of, parts, own)), made)
    compared = list(map(sides.compared, joining))
    if compared == joining and all(costs_little(condition) for conditions in own for condition in conditions):
        return pattern
    return filter_of(join_of(sides.patterns), compared)


class _Sides:
    """The sides of a join, and what is bound in them; ``made`` are the variables of the whole query for that."""

    def __init__(self, patterns: list[a.Pattern], made: list[a.Variable]) -> None:
        self.patterns = patterns
        mentioned = [a.mentioned_variables(side) for side in patterns]
        self._decided = [
            certainly_bound(side) | own.difference(*(other for other in mentioned if other is not own))
            for side, own in zip(patterns, mentioned, strict=True)
        ]
        self._made = made
        self._known: dict[a.Expression, a.Variable] = {}

    def compared(self, expression: a.Expression) -> a.Expression:
        """A condition over variables in place of what is computed from solutions of one side."""
        match expression:
            # On texts tables are joined: each side of it is computed once as it is.
            case a.Call("=", operands) if any(map(is_text, operands)):
                return expression
            case a.Call(name, operands) if name in a.COMPARISONS | _LOGICAL:
                change = self.operand if name in a.COMPARISONS else self.compared
                return with_parts(expression, arguments=tuple(map(change, operands)))
        return expression

    def operand(self, expression: a.Expression) -> a.Expression:
        """A variable in place of what is computed from solutions of one side."""
        if costs_little(expression) or expression in self._known:
            return self._known.get(expression, expression)
        read = a.expression_variables(expression)
        if any(map(is_time, read)):
            return expression
        for place, decided in enumerate(self._decided):
            if read and read <= decided:
                variable = a.Variable(f"_:operand{len(self._made) + 1}")
                self._made.append(variable)
                self._known[expression] = variable
                self.patterns[place] = a.Extend(self.patterns[place], variable, expression)
                return variable
        return expression
