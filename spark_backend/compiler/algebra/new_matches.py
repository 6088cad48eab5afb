"""Event patterns that are answered by their new matches alone (docs/model.md, "Event patterns").

Under ISTREAM a match is told once: at the first instant of ET at which all of its occurrences take part. Where no other
window is read, and the event pattern is made of joins and conditions alone, the answer is the matches that have a new
occurrence: they are found from there, and compared with no answer before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from protocol.language import algebra as a
from protocol.language.model import R2S, ContinuousQuery
from protocol.windows.spec import offset_of
from spark_backend.compiler.algebra.operands import conjuncts, filter_of

Followers = Mapping[a.Variable, frozenset[a.Variable]]
"""For the time of an occurrence of a match, the times of those that are later in each match."""

_MOST_TRIPLES = 8
"""Of an event pattern: there is a SELECT for each of them."""


def of_new_matches(query: ContinuousQuery) -> tuple[a.Query, Followers] | None:
    """The query with its event pattern as one basic graph pattern, which is to be matched by what is new.

    None where that would be another answer.
    """
    pattern = query.expression.pattern
    if query.operator is not R2S.ISTREAM or len(query.windows) != 1 or query.entailment.infers:
        return None
    (member,) = query.windows
    if not member.occurrences or offset_of(member.window):
        return None
    # What a service gives may let a match pass later than at its end.
    if any(
        isinstance(node, a.Exists | a.ServiceSolutions) or (isinstance(node, a.Call) and node.name in a.VARYING)
        for node in a.nodes(pattern)
    ):
        return None
    name = a.Constant(f"<{member.graph}>")
    if sum(isinstance(node, a.Graph) and node.name == name for node in a.nodes(pattern)) != 1:
        return None
    changed = _changed(pattern, name)
    if changed is None:
        return None
    pattern, conditions = changed
    return replace(query.expression, pattern=pattern), _followers(conditions)


def _changed(pattern: a.Pattern, name: a.Constant) -> tuple[a.Pattern, list[a.Expression]] | None:
    """The pattern, in which the event pattern of this graph is one basic graph pattern, and the conditions on that."""
    match pattern:
        case a.Graph(graph, inner) if graph == name:
            flat = _flat(inner)
            if flat is None or len(flat[0]) > _MOST_TRIPLES:
                return None
            triples, conditions = flat
            return replace(pattern, pattern=filter_of(a.BGP(tuple(triples)), conditions)), conditions
        case a.Project(inner) | a.Filter(inner) | a.Extend(inner):
            found = _changed(inner, name)
            return None if found is None else (replace(pattern, pattern=found[0]), found[1])
        case a.Join(left, right):
            for side, operand in (("left", left), ("right", right)):
                if (found := _changed(operand, name)) is not None:
                    return replace(pattern, **{side: found[0]}), found[1]
    return None


def _flat(pattern: a.Pattern) -> tuple[list[a.TriplePattern], list[a.Expression]] | None:
    """The triple patterns and the conditions of an event pattern that has nothing else."""
    match pattern:
        case a.BGP(triples):
            return list(triples), []
        case a.Join(left, right):
            one, other = _flat(left), _flat(right)
            return None if one is None or other is None else (one[0] + other[0], one[1] + other[1])
        case a.Filter(inner, condition):
            found = _flat(inner)
            # In a FILTER of this group a variable of another one is unbound, and its triples tell no time.
            if found is None or not a.expression_variables(condition) <= a.mentioned_variables(inner):
                return None
            if any(isinstance(node, a.Call) and node.name == a.TIMESTAMP for node in a.nodes(condition)):
                return None
            return found[0], found[1] + conjuncts(condition)
    return None


def _followers(conditions: list[a.Expression]) -> Followers:
    found: dict[a.Variable, frozenset[a.Variable]] = {}
    for condition in conditions:
        match condition:
            case a.Call("<", (a.Call(a.END_TIME, earlier), a.Call(a.START_TIME, later))):
                times = frozenset(time for time in later if isinstance(time, a.Variable))
                for time in earlier:
                    if isinstance(time, a.Variable):
                        found[time] = found.get(time, frozenset()) | times
    return found
