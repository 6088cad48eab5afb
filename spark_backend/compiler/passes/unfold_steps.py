"""A path of one step or none, written out where one of its ends is matched beside it: then that is a node of the graph.

``?x :p? ?y . ?y :q ?z`` is ``?y :q ?z`` with ?x the same as ?y, or with ?x before it by one step to another node (18.4:
each pair once). So there are triple patterns, which narrow others and are narrowed, where all nodes were looked at.

Inside of EXISTS a variable may have a value from outside, which BIND would not ask for: there it is the blank node
between two steps that is bound, as nothing outside has it, or the path is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from protocol.language import algebra as a
from spark_backend.compiler.algebra.operands import join_of, join_operands
from spark_backend.compiler.algebra.traversal import bottom_up


class _Place(NamedTuple):
    """A triple pattern, in which operand of a join it is, and the end of a path that it matches."""

    operand: int
    triple: a.TriplePattern
    end: a.Variable


def unfold_steps(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=bottom_up(query.pattern, _unfolded))


def _unfolded(pattern: a.Pattern, inside: bool) -> a.Pattern:
    if not isinstance(pattern, a.Join):
        return pattern
    operands = join_operands(pattern)
    changed = False
    for number, path in enumerate(operands):
        step = _step(path) if isinstance(path, a.Closure) else None
        if isinstance(path, a.Closure) and step is not None and (place := _beside(operands, path)) is not None:
            written = _written_out(path, step, place, inside)
            if written is None:
                continue
            rest = operands[place.operand]
            assert isinstance(rest, a.BGP)
            operands[place.operand] = a.BGP(tuple(one for one in rest.triples if one != place.triple))
            operands[number] = written
            changed = True
    return join_of([one for one in operands if one != a.BGP(())]) if changed else pattern


def _step(path: a.Closure) -> a.Pattern | None:
    """A path once, between its ends, each pair of nodes once; None where it is not one or none, or is left as it is."""
    if path.many or not path.zero or path.subject == path.object:
        return None
    ends = {path.source: path.subject, path.target: path.object}

    def between(step: a.Pattern) -> a.Pattern | None:
        match step:
            case a.BGP((triple,)):
                return a.BGP((_with_ends(triple, ends),))
            case a.Union(left, right):
                one, other = between(left), between(right)
                return None if one is None or other is None else a.Union(one, other)
        return None

    step = between(path.step)
    return a.Distinct(a.Project(step, path.variables)) if isinstance(step, a.Union) else step


def _with_ends(triple: a.TriplePattern, ends: Mapping[a.Variable, a.PathEnd]) -> a.TriplePattern:
    """A triple pattern with other terms for its subject and object."""
    subject, object = (ends.get(one, one) for one in (triple.subject, triple.object))  # type: ignore[arg-type]  # or none
    return replace(triple, subject=subject, object=object)


def _beside(operands: list[a.Pattern], path: a.Closure) -> _Place | None:
    """What of the patterns that a path is joined with, in the same graph, matches one of its ends."""
    for end in (path.object, path.subject):
        for number, operand in enumerate(operands):
            for triple in operand.triples if isinstance(operand, a.BGP) else ():
                if isinstance(end, a.Variable) and triple.time is None and end in (triple.subject, triple.object):
                    return _Place(number, triple, end)
    return None


def _written_out(path: a.Closure, step: a.Pattern, place: _Place, inside: bool) -> a.Pattern | None:
    """A path of one step or none, joined with the pattern that matches one of its ends; None where it is not known that
    nothing else binds the other one.
    """
    beside = a.BGP((place.triple,))
    other = path.subject if place.end == path.object else path.object
    same = a.Call("SAMETERM", (place.end, other))
    if not isinstance(other, a.Variable) or other in place.triple.variables:
        none: a.Pattern = a.Filter(beside, same)
    elif _is_blank(place.end):
        # The other end is what patterns elsewhere may know.
        none = a.Extend(a.BGP((_with_ends(place.triple, {place.end: other}),)), place.end, other)
    elif not inside or _is_blank(other):
        none = a.Extend(beside, other, place.end)
    else:
        return None
    once = a.BGP((*beside.triples, *step.triples)) if isinstance(step, a.BGP) else a.Join(beside, step)
    return a.Union(none, a.Filter(once, a.Call("!", (same,))))


def _is_blank(variable: a.Variable) -> bool:
    """Whether a variable stands for a blank node of the query, so that only what it is written with has it."""
    return variable.name.startswith("_:")
