"""Patterns that nothing joins where they are written, apart: there all pairs of their matches would be made.

``FILTER EXISTS { ?a :by ?x . ?b :of ?y }`` of solutions that bind ?x and ?y: nothing inside joins the two patterns.
With terms in place of ?x and ?y (SPARQL 1.1 Query section 18.6, substitute) both have a solution where each has one.
MINUS is EXISTS that is not true, where both sides bind all variables that they share, and share some. What shares none
is true of all solutions or of none: it is asked once, beside them, so that where it is not true nothing is joined. And
a sub-select of two such patterns is the join of two sub-selects, each of which is joined with what is outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from spark_backend.compiler.algebra.marks import certainly_bound, exposed_variables, joins_alike
from spark_backend.compiler.algebra.operands import conjuncts, filter_of, join_of, join_operands, marks_of
from spark_backend.compiler.algebra.traversal import bottom_up, with_variables
from spark_backend.compiler.passes.normalise import normal_join

_MOST_OPERANDS = 64
"""Of what is split: there may be a SELECT for each of them."""


def split_products(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=bottom_up(query.pattern, _Splitter(query).pattern))


class _Splitter:
    def __init__(self, query: a.Query) -> None:
        self._times = Counter(node for node in a.nodes(query.pattern) if isinstance(node, a.Variable))
        self._made = 0

    def pattern(self, pattern: a.Pattern, inside: bool) -> a.Pattern:
        if isinstance(pattern, a.Join) and not inside:
            return join_of(part for operand in (pattern.left, pattern.right) for part in _sub_selects(operand))
        pattern = self._split(pattern, inside)
        return pattern if inside else _beside(pattern)

    def _split(self, pattern: a.Pattern, inside: bool) -> a.Pattern:
        match pattern:
            case a.Filter(a.MarkJoin() as inner, condition):
                split = self._split_marks(inner, condition)
                return split if inside else _asked_once(split)
            # Inside of EXISTS, what stands for a term is not shared.
            case a.Minus(left, right) if not inside and _is_not_to_exist(left, right):
                parts = unjoined_parts(right, certainly_bound(left))
                if len(parts) > 1:
                    marked, asked = self._marked(left, parts)
                    return a.Filter(marked, a.Call("!", (asked,)))
        return pattern

    def _split_marks(self, pattern: a.Pattern, condition: a.Expression) -> a.Filter:
        """The pattern under a filter, which asks part by part what the marks right below it ask."""
        marks, pattern = marks_of(pattern)
        for mark in reversed(marks):
            is_read_there = self._is_read_there(mark.variable, condition)
            parts = unjoined_parts(mark.exists, certainly_bound(pattern)) if is_read_there else []
            if len(parts) > 1:
                pattern, asked = self._marked(pattern, parts)
                condition = with_variables(condition, {mark.variable: asked})
            else:
                pattern = with_parts(mark, pattern=pattern)
        return a.Filter(pattern, condition)

    def _is_read_there(self, variable: a.Variable, condition: a.Expression) -> bool:
        """Whether nothing but the condition reads what a MarkJoin tells."""
        return self._times[variable] == 1 + sum(node == variable for node in a.nodes(condition))

    def _marked(self, pattern: a.Pattern, parts: Sequence[a.Pattern]) -> tuple[a.Pattern, a.Expression]:
        """The pattern with what is asked of it, and whether all of it is true."""
        asked: list[a.Expression] = []
        for part in parts:
            self._made += 1
            variable = a.Variable(f"_:exists_part{self._made}")
            pattern = a.MarkJoin(pattern, variable, part)
            asked.append(variable)
        return pattern, a.balanced("&&", asked)


def _reads_nothing(exists: a.Pattern, pattern: a.Pattern) -> bool:
    """Whether what EXISTS asks reads nothing of the solutions that it is asked of, be it the time of a triple."""
    return a.mentioned_variables(exists).isdisjoint(exposed_variables(pattern))


def _asked_once(pattern: a.Filter) -> a.Filter:
    """What is to exist, and is the same for all solutions that it is asked of, as a pattern of one solution."""
    marks, inner = marks_of(pattern.pattern)
    for mark in reversed(marks):
        alike = _reads_nothing(mark.exists, inner) and not isinstance(mark.exists, a.Distinct)
        inner = replace(mark, pattern=inner, exists=a.Distinct(a.Project(mark.exists, ())) if alike else mark.exists)
    return replace(pattern, pattern=inner)


def _beside(pattern: a.Pattern) -> a.Pattern:
    """The pattern under a filter joined with what this asks of all of its solutions alike."""
    if not isinstance(pattern, a.Filter):
        return pattern
    (marks, inner), conditions = marks_of(pattern.pattern), conjuncts(pattern.condition)
    asked: list[a.Pattern] = []
    kept: list[a.MarkJoin] = []
    for mark in marks:
        of = [condition for condition in conditions if mark.variable in a.mentioned_variables(condition)]
        if _reads_nothing(mark.exists, mark.pattern) and of in ([mark.variable], [a.Call("!", (mark.variable,))]):
            asked.append(a.Filter(replace(mark, pattern=a.BGP(())), of[0]))
            conditions = [condition for condition in conditions if condition not in of]
        else:
            kept.append(mark)
    if not asked:
        return pattern
    for one in reversed(kept):
        inner = replace(one, pattern=inner)
    return join_of([*asked, filter_of(inner, conditions)])


def _sub_selects(pattern: a.Pattern) -> list[a.Pattern]:
    """The sub-selects whose join a sub-select is; the pattern itself where it is another."""
    match pattern:
        case a.Distinct(a.Project(inner, variables), ()) | a.Project(inner, variables):
            parts = unjoined_parts(inner, frozenset())
            if len(parts) > 1:
                exposed = [exposed_variables(part) for part in parts]
                selects: list[a.Pattern] = [
                    a.Project(part, tuple(one for one in variables if one in seen))
                    for part, seen in zip(parts, exposed, strict=True)
                ]
                return [a.Distinct(one) for one in selects] if isinstance(pattern, a.Distinct) else selects
    return [pattern]


def _is_not_to_exist(left: a.Pattern, right: a.Pattern) -> bool:
    """Whether Minus(l, r) keeps the solutions of l of which EXISTS of r is not true."""
    seen = a.in_scope(left)
    shared = seen & a.in_scope(right)
    bound = certainly_bound(left) & certainly_bound(right)
    return bool(shared) and shared <= bound and joins_alike(right, seen)


def unjoined_parts(pattern: a.Pattern, given: frozenset[a.Variable]) -> list[a.Pattern]:
    """The pattern in parts that share no variables but those that are given; one is the pattern itself."""
    conditions, operands = conditions_and_operands(pattern)
    if len(operands) > _MOST_OPERANDS:
        return [pattern]
    groups: list[tuple[frozenset[a.Variable], set[int]]] = []
    for place, one in enumerate((*operands, *conditions)):
        variables = a.mentioned_variables(one) - given
        met = [group for group in groups if group[0] & variables]
        if place >= len(operands) and not met:  # a condition on what is given alone goes with any
            met = groups[:1]
        groups = [group for group in groups if group not in met]
        groups.append((variables.union(*(theirs for theirs, _ in met)), {place}.union(*(places for _, places in met))))
    if len(groups) < 2:
        return [pattern]
    return [
        filter_of(
            normal_join([one for place, one in enumerate(operands) if place in places], True),
            [one for place, one in enumerate(conditions, len(operands)) if place in places],
        )
        for _, places in groups
    ]


def conditions_and_operands(pattern: a.Pattern) -> tuple[list[a.Expression], list[a.Pattern]]:
    """What is asked of all solutions of a pattern, and what it joins, as small as it may be."""
    conditions: list[a.Expression] = []
    while isinstance(pattern, a.Filter):
        conditions += conjuncts(pattern.condition)
        pattern = pattern.pattern
    return conditions, list(_smallest(pattern))


def _smallest(pattern: a.Pattern) -> Iterator[a.Pattern]:
    """What a pattern joins: its triple patterns one by one."""
    for operand in join_operands(pattern):
        match operand:
            case a.BGP(triples) if triples:
                yield from (a.BGP((triple,)) for triple in triples)
            case a.Graph(a.Constant(), inner):
                yield from (replace(operand, pattern=one) for one in _smallest(inner))
            case _:
                yield operand
