"""Normal forms: what is written in several ways is one for the passes that follow (SPARQL 1.1 Query section 18.5).

Joins are associative and commutative, and a basic graph pattern is the join of its triple patterns: those of one
group are one, and so are the patterns of one ``GRAPH`` or ``WINDOW``. A blank node's label is never in two basic
graph patterns (4.1.4), so that none becomes one by this. Filters of a group are one conjunction. What changes no
solution is dropped: empty groups beside others, DISTINCT in DISTINCT, slices of everything.
"""

from __future__ import annotations

from protocol.language import algebra as a
from spark_backend.compiler.algebra.operands import join_of, join_operands
from spark_backend.compiler.algebra.traversal import bottom_up

_EMPTY = a.BGP(())


def normalise(query: a.Query, _: object) -> a.Query:
    return a.Query(bottom_up(query.pattern, _normal), query.variables, query.template, query.base)


def _normal(pattern: a.Pattern, inside: bool) -> a.Pattern:
    match pattern:
        case a.Join():
            return normal_join(join_operands(pattern), inside)
        case a.LeftJoin(left, right, None, ()) if _is_unit(right):
            return left
        case a.Filter(a.Filter(inner, first), second):
            return a.Filter(inner, a.Call("&&", (first, second)))
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
