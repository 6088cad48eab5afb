"""What tells matches of event patterns apart that bind the same (docs/model.md, "Event patterns").

ISTREAM and DSTREAM compare solutions, and matches of different occurrences are different ones. So the solutions that
they are of carry, beside what is selected, the occurrences of each match: their times, and the terms of all variables
of its triple patterns. DISTINCT and groups make ordinary solutions of them, and carry nothing.
"""

from __future__ import annotations

from dataclasses import replace

from protocol.language import algebra as a

_COPY = "_:in match "


def with_matches(query: a.Query) -> tuple[a.Query, int]:
    """The query with hidden variables behind its own, and how many these are: those of the matches that it is of."""
    pattern, hidden = _told(query.pattern)
    return replace(query, pattern=pattern, variables=(*query.variables, *hidden)), len(hidden)


def _told(pattern: a.Pattern) -> tuple[a.Pattern, tuple[a.Variable, ...]]:
    """The pattern, and the hidden variables that its solutions have of their matches."""
    match pattern:
        case a.BGP() | a.Values() | a.Closure() | a.ServiceSolutions() | a.Distinct() | a.Group():
            return pattern, ()
        case a.Graph(a.Constant(), inner) if times := a.times_of_match(inner):
            return _with_copies(pattern, times)
        case a.Join(left, right) | a.LeftJoin(left, right) | a.Union(left, right):
            (one, first), (other, second) = _told(left), _told(right)
            return replace(pattern, left=one, right=other), (*first, *second)
        case a.Minus(left):
            one, hidden = _told(left)
            return replace(pattern, left=one), hidden
        case a.PathJoin():
            raise AssertionError("made later (order_joins)")
    inner, hidden = _told(pattern.pattern)
    pattern = replace(pattern, pattern=inner)
    if isinstance(pattern, a.Project):
        pattern = replace(pattern, variables=(*pattern.variables, *hidden))
    return pattern, hidden


def _with_copies(pattern: a.Graph, times: tuple[a.Variable, ...]) -> tuple[a.Pattern, tuple[a.Variable, ...]]:
    """An event pattern, and variables that tell its matches apart wherever they are joined and projected."""
    triples = [node for node in a.nodes(pattern) if isinstance(node, a.TriplePattern)]
    found: a.Pattern = pattern
    copies = []
    for variable in dict.fromkeys(variable for triple in triples for variable in triple.variables):
        copies.append(a.Variable(f"{_COPY}{times[0].name} {variable.name}"))
        found = a.Extend(found, copies[-1], variable)
    return found, (*times, *copies)
