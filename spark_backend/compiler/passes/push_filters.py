"""Filters to where their variables are bound, so that less is joined and computed above.

A conjunct goes to one side of a join if that side decides its value alone: each of its variables is bound there in
every solution, or does not occur on the other side. It goes to the left of OPTIONAL and MINUS by the same rule, never
to the right (where it would leave solutions without a match, or remove fewer), and of a condition of OPTIONAL what the
right side decides goes there. It goes below BIND of other variables, below grouping if it reads the keys alone, into a
sub-select if it reads selected variables alone; not below LIMIT, nor below what terms are drawn for. Where it would be
all that joins parts of a side, it stays with the join. EXISTS that has to be asked solution by solution is asked of the
matches of one triple pattern, where these decide it, before they are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.marks import certainly_bound, exposed_variables, joins_alike
from spark_backend.compiler.algebra.narrowing import costs_little
from spark_backend.compiler.algebra.operands import conjunction, conjuncts, filter_of, marks_of
from spark_backend.compiler.algebra.traversal import with_operands
from spark_backend.compiler.passes.normalise import normal_join
from spark_backend.compiler.passes.split_products import conditions_and_operands, unjoined_parts


def push_filters(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=_push(query.pattern, False))


def _push(pattern: a.Pattern, inside: bool) -> a.Pattern:
    """The pattern with its filters pushed, outermost first."""
    if isinstance(pattern, a.Filter):
        return _filter(pattern.pattern, conjuncts(pattern.condition), inside)
    if isinstance(pattern, a.LeftJoin) and pattern.condition is not None and not pattern.asked:
        pattern = _optional(pattern, pattern.condition, inside)
    return with_operands(pattern, lambda operand, within: _push(operand, inside or within), inside)


def _filter(pattern: a.Pattern, conditions: list[a.Expression], inside: bool) -> a.Pattern:
    """``Filter(pattern, conditions)``, the conditions as deep as they may be."""
    if isinstance(pattern, a.Filter):
        return _filter(pattern.pattern, [*conjuncts(pattern.condition), *conditions], inside)
    stay = []
    operands: dict[str, list[a.Expression]] = {}
    for condition in conditions:
        places = _places(pattern, condition, inside)
        for place in places:
            operands.setdefault(place, []).append(condition)
        if not places:
            stay.append(condition)
    if operands:
        changed = {place: filter_of(getattr(pattern, place), pushed) for place, pushed in operands.items()}
        pattern = replace(pattern, **changed)  # type: ignore[arg-type]  # its operands
    pushed = filter_of(_push(pattern, inside), stay)
    return pushed if inside else _asked_before(pushed)


def _places(pattern: a.Pattern, condition: a.Expression, inside: bool) -> tuple[str, ...]:
    """The operands of a pattern, by name, that a condition on its solutions is one on."""
    read = a.expression_variables(condition)
    match pattern:
        case a.Join(left, right):
            # What both sides decide goes to those that are more than a basic graph pattern, which is joined at once,
            # and what costs little to a triple pattern that decides it alone, of which it leaves less to be joined.
            sides = [
                place
                for place, side, other in (("left", left, right), ("right", right, left))
                if _decides(side, other, read, inside) and not _joins_apart(side, other, read)
            ]
            worth = [place for place in sides if _is_worth_it(getattr(pattern, place), condition)]
            return tuple(worth or sides[:1])
        case a.LeftJoin(left, right):
            return ("left",) if _decides(left, right, read, inside) else ()
        case a.Minus():
            return ("left",)
        case a.Union():
            return ("left", "right")
        case a.Graph(name):
            return () if name in read else ("pattern",)
        case a.Extend(_, variable, _) | a.MarkJoin(_, variable, _):
            return () if variable in read else ("pattern",)
        case a.Group(_, keys, _):
            return ("pattern",) if keys is not None and read and read <= set(keys) else ()
        case a.Project(_, variables):
            return ("pattern",) if read <= set(variables) else ()
        case a.Distinct(_, latest):  # of these it is the greatest that counts, and not each
            return () if read & set(latest) else ("pattern",)
        case a.Aggregation(_, keys, _):
            return ("pattern",) if read and read <= set(keys) else ()
        case a.OrderBy():
            return ("pattern",)
    return ()


def _is_worth_it(side: a.Pattern, condition: a.Expression) -> bool:
    if not isinstance(side, a.BGP):
        return True
    read = a.expression_variables(condition)
    return costs_little(condition) and any(read <= set(triple.variables) for triple in side.triples)


def _joins_apart(side: a.Pattern, other: a.Pattern, read: frozenset[a.Variable]) -> bool:
    """Whether a condition on these variables would be all that joins parts of a side, where the other side has some of
    the variables, too: with what that matches of them it is to be asked first.
    """
    if len(read) < 2 or read.isdisjoint(a.mentioned_variables(other)):
        return False
    return sum(not read.isdisjoint(a.in_scope(part)) for part in unjoined_parts(side, frozenset())) > 1


def _decides(side: a.Pattern, other: a.Pattern, read: frozenset[a.Variable], inside: bool) -> bool:
    """Whether the variables are in each solution of a side what they are in any join of it with the other.

    Inside of EXISTS variables are bound from outside, too, and not in every operand to be seen.
    """
    undecided = read - certainly_bound(side)
    return not undecided if inside else not undecided & a.mentioned_variables(other)


def _optional(pattern: a.LeftJoin, condition: a.Expression, inside: bool) -> a.LeftJoin:
    """OPTIONAL whose right side has the conditions that it decides."""
    conditions = conjuncts(condition)
    right = [one for one in conditions if _decides(pattern.right, pattern.left, a.expression_variables(one), inside)]
    rest = [one for one in conditions if one not in right]
    return replace(pattern, right=filter_of(pattern.right, right), condition=conjunction(rest) if rest else None)


def _asked_before(pattern: a.Pattern) -> a.Pattern:
    """A pattern under a filter, of which each EXISTS that one triple pattern decides is asked of that alone.

    What is asked of all solutions at once stays where it is: by what it matches, all that is joined is narrowed.
    """
    if not isinstance(pattern, a.Filter):
        return pattern
    (marks, inner), conditions = marks_of(pattern.pattern), conjuncts(pattern.condition)
    above, operands = conditions_and_operands(inner)
    kept: list[a.MarkJoin] = []
    for mark in reversed(marks):
        of = [one for one in conditions if mark.variable in a.expression_variables(one)]
        place = _decided_by(operands, mark, of, frozenset(exposed_variables(inner)))
        if place is None:
            kept.append(mark)
        else:
            operands[place] = a.Filter(replace(mark, pattern=operands[place]), conjunction(of))
            conditions = [one for one in conditions if one not in of]
    if len(operands) < 2 or len(kept) == len(marks):
        return pattern
    asked = filter_of(normal_join(operands, False), above)
    for mark in kept:
        asked = replace(mark, pattern=asked)
    return filter_of(asked, conditions)


def _decided_by(
    operands: Sequence[a.Pattern], mark: a.MarkJoin, of: Sequence[a.Expression], given: frozenset[a.Variable]
) -> int | None:
    """The place of the triple pattern whose match decides what is asked, if it is asked solution by solution."""
    alone = of in ([mark.variable], [a.Call("!", (mark.variable,))])
    outer = a.mentioned_variables(mark.exists) & given
    read = outer.union(*map(a.expression_variables, of)) - {mark.variable}
    if not (of and read) or (alone and joins_alike(mark.exists, given)):
        return None
    # What triple patterns expose is bound in each match, but for the times of triples, which nobody else binds.
    decide = (_is_triples(one) and read.issubset(exposed_variables(one)) for one in operands)
    return next((place for place, decides in enumerate(decide) if decides), None)


def _is_triples(pattern: a.Pattern) -> bool:
    """Whether it is of triple patterns, and what is asked of them."""
    match pattern:
        case a.Graph(a.Constant(), inner) | a.Filter(inner) | a.MarkJoin(inner):
            return _is_triples(inner)
    return isinstance(pattern, a.BGP)
