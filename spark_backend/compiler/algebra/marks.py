"""EXISTS and random terms out of expressions: what they need is told beside each solution, read as a variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.refusals import NotCompilable

BNODE_OF = "BNODE_OF"
"""BNODE(label), in the algebra: BNODE is the one without."""


def with_marks(pattern: a.Pattern) -> a.Pattern:
    """The pattern of a whole query without EXISTS and calls that draw in its expressions. Raises UnsupportedFeature."""
    return _Marks().of(pattern)


class _Marks:
    """The variables that are made for one query, named by their order: it decides on that of arguments."""

    def __init__(self) -> None:
        self._made = 0

    def of(self, pattern: a.Pattern) -> a.Pattern:
        """The same solutions, with variables that tell what expressions ask."""
        match pattern:
            case a.BGP() | a.Values() | a.ServiceSolutions():
                return pattern
            case a.Closure(step=step, nodes=nodes):
                return replace(pattern, step=self.of(step), nodes=None if nodes is None else self.of(nodes))
            case a.Join(left, right) | a.Union(left, right) | a.Minus(left, right):
                return replace(pattern, left=self.of(left), right=self.of(right))
            case a.LeftJoin(left, right, condition):
                return self._optional(self.of(left), self.of(right), condition)
        inner = self.of(pattern.pattern)
        match pattern:
            case a.Filter(_, condition):
                inner, (condition,) = self._mark(inner, [condition])
                return a.Filter(inner, condition)
            case a.Extend(_, variable, expression):
                inner, (expression,) = self._mark(inner, [expression])
                return a.Extend(inner, variable, expression)
            case a.OrderBy(_, conditions):
                inner, keys = self._mark(inner, [condition.expression for condition in conditions])
                descending = [condition.descending for condition in conditions]
                return a.OrderBy(inner, tuple(map(a.OrderCondition, keys, descending)))
            case a.Group(_, keys, aggregates):
                asked = [one.argument for one in aggregates if one.argument is not None]
                inner, asked = self._mark(inner, asked)
                told = iter(asked)
                aggregates = tuple(
                    one if one.argument is None else replace(one, argument=next(told)) for one in aggregates
                )
                return a.Group(inner, keys, aggregates)
        return replace(pattern, pattern=inner)

    def _mark(
        self, pattern: a.Pattern, expressions: Sequence[a.Expression], drawn: a.Expression | None = None
    ) -> tuple[a.Pattern, list[a.Expression]]:
        """A pattern and expressions over it without EXISTS, which are variables of the pattern instead.

        Calls that draw get ``drawn``, otherwise their solution's variable of ``Draw``, and a name of their place
        (BNODE(label): the label).
        """
        found: list[a.MarkJoin] = []
        known, depth = _drawn_variable(pattern)
        seed, calls, made = drawn or known, 0, None

        def rewrite(expression: a.Expression) -> a.Expression:
            nonlocal seed, calls, made
            if isinstance(expression, a.Call) and expression.name in a.DRAWING:
                seed = seed or (made := self._fresh("drawn"))
                calls += 1
                if expression.arguments:
                    return a.Call(BNODE_OF, (seed, *map(rewrite, expression.arguments)))
                return a.Call(expression.name, (seed, a.Constant(f'"{depth} {calls}"')))
            if isinstance(expression, a.Exists):
                if (call := _drawing(expression.pattern)) is not None:
                    raise NotCompilable(
                        f"{', '.join(sorted(a.DRAWING))} are not evaluated inside of EXISTS over windows: BIND them "
                        "before the FILTER",
                        call.place,
                    )
                # The pattern inside is a place holder, until all are known.
                found.append(a.MarkJoin(pattern, self._fresh("exists"), self.of(expression.pattern)))
                return found[-1].variable
            if isinstance(expression, a.Call):
                return replace(expression, arguments=tuple(map(rewrite, expression.arguments)))
            return expression

        rest = [rewrite(expression) for expression in expressions]
        for one in found:
            pattern = replace(one, pattern=pattern)
        if made is not None:
            pattern = a.Draw(pattern, made)
        return pattern, rest

    def _optional(self, left: a.Pattern, right: a.Pattern, condition: a.Expression | None) -> a.LeftJoin:
        """LeftJoin, whose condition may ask EXISTS of both sides' solutions merged, and draw terms for them."""
        if condition is None:
            return a.LeftJoin(left, right, None)
        drawn = None
        if _drawing(condition) is not None:
            sides = self._fresh("drawn"), self._fresh("drawn")
            left, right = map(a.Draw, (left, right), sides)
            drawn = a.Call("CONCAT", sides)
        pattern, (rest,) = self._mark(right, [condition], drawn)
        asked = []
        while isinstance(pattern, a.MarkJoin) and pattern is not right:
            asked.append((pattern.variable, pattern.exists))
            pattern = pattern.pattern
        return a.LeftJoin(left, right, rest, tuple(reversed(asked)))

    def _fresh(self, of: str) -> a.Variable:
        self._made += 1
        return a.Variable(f"_:{of}{self._made}")


def _drawing(part: a.Pattern | a.Expression) -> a.Call | None:
    """The first call that draws."""
    return next((node for node in a.nodes(part) if isinstance(node, a.Call) and node.name in a.DRAWING), None)


def _drawn_variable(pattern: a.Pattern) -> tuple[a.Variable | None, int]:
    """What random terms of the same solutions are drawn from already, and how many operators below."""
    depth = 0
    while isinstance(pattern, a.Extend | a.Filter | a.MarkJoin):
        pattern, depth = pattern.pattern, depth + 1
    return (pattern.variable if isinstance(pattern, a.Draw) else None), depth


def is_mark(variable: a.Variable) -> bool:
    """Whether it is one that tells of EXISTS: xsd:boolean in every solution."""
    return variable.name.startswith("_:exists")


def certainly_bound(pattern: a.Pattern) -> frozenset[a.Variable]:
    """Variables that every solution of a pattern binds; some of those, at least."""
    match pattern:
        case a.BGP(triples):
            return frozenset(variable for triple in triples for variable in triple.variables)
        case a.Closure():
            return frozenset(pattern.variables)
        case a.Join(left, right):
            return certainly_bound(left) | certainly_bound(right)
        case a.Union(left, right):
            return certainly_bound(left) & certainly_bound(right)
        case a.LeftJoin(left, _, _) | a.Minus(left, _):
            return certainly_bound(left)
        case a.Graph(name, inner, _):
            return certainly_bound(inner) | ({name} if isinstance(name, a.Variable) else frozenset())
        case a.Values(variables, rows):
            return frozenset(v for place, v in enumerate(variables) if all(row[place] is not None for row in rows))
        case a.ServiceSolutions():
            return frozenset(pattern.certain)
        case a.Project(inner, variables):
            return certainly_bound(inner) & frozenset(variables)
        case a.Group(inner, keys, _):
            return certainly_bound(inner) & frozenset(keys or ())
        case a.Extend(inner, variable, expression):
            bound = certainly_bound(inner)  # once: it is asked of one BIND below another
            sure = isinstance(expression, a.Constant) or expression in bound or a.is_unfolded(expression)
            return bound - {variable} | ({variable} if sure else frozenset())
        case a.PathJoin(inner, path, _):
            return certainly_bound(inner) | certainly_bound(path)
    return certainly_bound(pattern.pattern)


def exposed_variables(pattern: a.Pattern) -> dict[a.Variable, None]:
    """The variables of a pattern's solutions, hidden ones too."""
    match pattern:
        case a.BGP(triples):
            times = [triple.time for triple in triples if triple.time is not None]
            return dict.fromkeys([variable for triple in triples for variable in triple.variables] + times)
        case a.Closure() | a.Values() | a.Project() | a.ServiceSolutions():
            return dict.fromkeys(pattern.variables)
        case a.Group(_, keys, aggregates):
            return dict.fromkeys([*(keys or ()), *(one.result for one in aggregates)])
        case a.Join(left, right) | a.LeftJoin(left, right) | a.Union(left, right) | a.PathJoin(left, right):
            return exposed_variables(left) | exposed_variables(right)
        case a.Minus(left):
            return exposed_variables(left)
        case a.Extend(inner, variable) | a.MarkJoin(inner, variable) | a.Draw(inner, variable):
            return exposed_variables(inner) | {variable: None}
        case a.Aggregation(inner, _, aggregate):
            return exposed_variables(inner) | {aggregate.result: None}
        case a.Graph(name, inner):
            return exposed_variables(inner) | ({name: None} if isinstance(name, a.Variable) else {})
    return exposed_variables(pattern.pattern)


def joins_alike(pattern: a.Pattern, outer: frozenset[a.Variable]) -> bool:
    """Whether a pattern with terms substituted for ``outer`` variables (18.6) has the solutions compatible with them.

    It has not where an outer variable is read that the pattern does not bind there itself.
    """
    outer &= a.mentioned_variables(pattern)
    if not outer:
        return True
    match pattern:
        case a.BGP() | a.Values() | a.ServiceSolutions():
            return True
        case a.Closure():
            return not pattern.zero  # a term is at the end of a path of length zero even where no node is
        case a.Join(left, right) | a.Union(left, right):
            return joins_alike(left, outer) and joins_alike(right, outer)
        case a.LeftJoin(left, right, condition):
            read = frozenset(
                node for node in a.nodes((right, condition, pattern.asked)) if isinstance(node, a.Variable)
            )
            return joins_alike(left, outer) and joins_alike(right, outer) and read & outer <= certainly_bound(left)
        case a.Minus(left, right):
            return joins_alike(left, outer) and not a.mentioned_variables(right) & outer
        case a.Filter(inner, read):
            return joins_alike(inner, outer) and a.mentioned_variables(read) & outer <= certainly_bound(inner)
        case a.MarkJoin(inner, _, exists):
            return joins_alike(inner, outer) and a.mentioned_variables(exists) & outer <= certainly_bound(inner)
        case a.Extend(inner, variable, read) if a.is_unfolded(read):
            return joins_alike(inner, outer)
        case a.Extend(inner, variable, read):
            bound = certainly_bound(inner)
            return joins_alike(inner, outer) and variable not in outer and a.mentioned_variables(read) & outer <= bound
        case a.Project(inner, variables):
            return joins_alike(inner, outer & frozenset(variables))
        case a.Group(inner, keys, _):
            return joins_alike(inner, outer) and outer <= frozenset(keys or ()) & certainly_bound(inner)
        case a.Aggregation(inner, keys, aggregate):
            bound = frozenset(keys) & certainly_bound(inner)
            return joins_alike(inner, outer) and aggregate.result not in outer and outer <= bound
        case a.PathJoin(inner, path, _):
            return joins_alike(inner, outer) and joins_alike(path, outer)
        case a.Slice():
            return False
    return joins_alike(pattern.pattern, outer)
