"""Normal forms: what is written in several ways is one for the passes that follow (SPARQL 1.1 Query section 18.5).

Joins are associative and commutative, and a basic graph pattern is the join of its triple patterns: those of one
group are one, and so are the patterns of one ``GRAPH`` or ``WINDOW``. A blank node's label is never in two basic
graph patterns (4.1.4), so that none becomes one by this. Filters of a group are one conjunction. What is equal to one
of several constants is IN them, and what differs from all of them NOT IN (17.4.1.9). What changes no solution is
dropped: empty groups beside others, DISTINCT in DISTINCT, slices of everything.
"""

from __future__ import annotations

from protocol.language import algebra as a
from protocol.language.parts import with_parts
from spark_backend.compiler.algebra.operands import chained, join_of, join_operands
from spark_backend.compiler.algebra.traversal import bottom_up

_EMPTY = a.BGP(())
_MEMBERSHIPS = {"||": ("=", "IN"), "&&": ("!=", "NOT IN")}
"""What a chain is made of, and what it is then."""


def normalise(query: a.Query, _: object) -> a.Query:
    return a.Query(bottom_up(query.pattern, _normal), query.variables, query.template, query.base)


def _normal(pattern: a.Pattern, inside: bool) -> a.Pattern:
    match pattern:
        case a.Join():
            return normal_join(join_operands(pattern), inside)
        case a.LeftJoin(left, right, None, ()) if _is_unit(right):
            return left
        case a.Filter(a.Filter(inner, first), second):
            return a.Filter(inner, _condition(a.Call("&&", (first, second))))
        case a.Filter(_, condition) | a.LeftJoin(_, _, a.Call() as condition):
            return with_parts(pattern, condition=_condition(condition))
        case a.Union(left, a.Union(middle, right)):
            return _normal(a.Union(_normal(a.Union(left, middle), inside), right), inside)
        case a.Distinct(a.Distinct() as inner):
            return inner
        case a.Distinct(a.Project(a.Distinct(inner), variables), latest) if not _has_an_order(inner):
            return a.Distinct(_normal(a.Project(inner, variables), inside), latest)
        case a.Project(a.Project(inner, seen), variables) if set(variables) <= set(seen):
            return a.Project(inner, variables)
        case a.Slice(inner, 0, None) if not _has_an_order(inner):
            return inner
    return pattern


def _condition(expression: a.Expression) -> a.Expression:
    """The condition, each chain of comparisons of one value with constants being one of it with all of them."""
    match expression:
        case a.Call("!", (operand,)):
            return with_parts(expression, arguments=(_condition(operand),))
        case a.Call("||" | "&&" as sign):
            operands = chained(expression, sign)
            kept = _with_memberships([_condition(operand) for operand in operands], sign)
            same = len(kept) == len(operands) and all(one is other for one, other in zip(kept, operands, strict=True))
            return expression if same else a.balanced(sign, kept)
    return expression


def _with_memberships(operands: list[a.Expression], sign: str) -> list[a.Expression]:
    """The operands of a chain, those that compare one value with constants together, where the first of them was."""
    compared, among = _MEMBERSHIPS[sign]
    constants: dict[a.Expression, list[a.Expression]] = {}
    for operand in operands:
        if (sides := _sides(operand, compared)) is not None:
            constants.setdefault(sides[0], []).append(sides[1])
    kept: list[a.Expression] = []
    for operand in operands:
        sides = _sides(operand, compared)
        if sides is None or len(constants[sides[0]]) == 1:
            kept.append(operand)
        elif sides[1] is constants[sides[0]][0]:
            kept.append(a.Call(among, (sides[0], *constants[sides[0]])))
    return kept


def _sides(expression: a.Expression, sign: str) -> tuple[a.Expression, a.Expression] | None:
    """The value and the constant that are compared: the value is one that takes little to make."""
    match expression:
        case a.Call(name, (one, other)) if name == sign:
            if isinstance(one, a.Constant | a.Parameter):
                one, other = other, one
            match one:
                case a.Variable() | a.Call("STR" | "LANG" | "DATATYPE", (a.Variable(),)):
                    return (one, other) if isinstance(other, a.Constant | a.Parameter) else None
    return None


def normal_join(operands: list[a.Pattern], inside: bool) -> a.Pattern:
    """The join of patterns, those of one graph together; ``inside`` of EXISTS, or not."""
    kept: list[a.Pattern] = []
    triples: list[a.TriplePattern] = []
    for operand in operands:
        if isinstance(operand, a.BGP):
            if not triples and operand.triples:  # at the place of the first
                kept.append(_EMPTY)
            triples += operand.triples
            continue
        place = _of_the_same_graph(operand, kept)
        if place is None:
            kept.append(operand)
        else:
            kept[place] = _together(kept[place], operand, inside)
    kept = [a.BGP(tuple(triples)) if part == _EMPTY else part for part in kept]
    # In EXISTS a sub-select hides the outer variables that the empty group beside it shows.
    dropping = not inside or not any(isinstance(node, a.Project | a.Group) for part in kept for node in a.nodes(part))
    if dropping:
        some = [part for part in kept if not _is_unit(part)]
        return join_of(some or kept)
    return join_of([_EMPTY, *kept] if not triples and any(part == _EMPTY for part in operands) else kept)


def _is_unit(pattern: a.Pattern) -> bool:
    """Whether it has the one empty solution, wherever it is evaluated."""
    return pattern == _EMPTY or (isinstance(pattern, a.Values) and not pattern.variables and len(pattern.rows) == 1)


def _of_the_same_graph(pattern: a.Pattern, others: list[a.Pattern]) -> int | None:
    if not (isinstance(pattern, a.Graph) and isinstance(pattern.name, a.Constant)):
        return None
    for place, other in enumerate(others):
        if isinstance(other, a.Graph) and other.name == pattern.name and other.windows_only == pattern.windows_only:
            return place
    return None


def _together(one: a.Pattern, other: a.Pattern, inside: bool) -> a.Pattern:
    assert isinstance(one, a.Graph)
    assert isinstance(other, a.Graph)
    return a.Graph(
        one.name, normal_join([*join_operands(one.pattern), *join_operands(other.pattern)], inside), one.windows_only
    )


def _has_an_order(pattern: a.Pattern) -> bool:
    """Whether the pattern is a sequence: its order may be read above it."""
    while isinstance(pattern, a.Project | a.Distinct | a.Extend | a.Filter | a.Slice):
        if isinstance(pattern, a.Slice):
            return True
        pattern = pattern.pattern
    return isinstance(pattern, a.OrderBy)
