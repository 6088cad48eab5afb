"""DESCRIBE as an algebra of triples (SPARQL 1.1 Query section 16.4), in the form the one-shot engine gives.

A description is a concise bounded one: the triples of the default graph with the resource as their subject, and those
of blank nodes that are objects of a triple that is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from protocol.language import algebra as a

RESOURCE, SUBJECT, PREDICATE, OBJECT = (
    a.Variable(f"__{name}") for name in ("resource", "subject", "predicate", "object")
)
TEMPLATE = ((SUBJECT, PREDICATE, OBJECT),)


def described(pattern: a.Pattern | None, resources: Sequence[a.Variable | a.Constant]) -> a.Query:
    """The query whose solutions are a resource and one triple of its description each.

    ``resources`` are IRIs and variables of the pattern; without one (None), IRIs.
    """
    iris = tuple((resource.text,) for resource in resources if isinstance(resource, a.Constant))
    parts: list[a.Pattern] = [a.Values((RESOURCE,), iris)] if iris or pattern is None else []
    if pattern is not None:
        for variable in resources:
            if isinstance(variable, a.Variable):
                named = a.Filter(a.Extend(pattern, RESOURCE, variable), a.Call("BOUND", (RESOURCE,)))
                parts.append(a.Project(named, (RESOURCE,)))
        if iris:  # described if there is a solution
            parts[0] = a.Join(parts[0], a.Distinct(a.Project(pattern, ())))
    variables = (RESOURCE, SUBJECT, PREDICATE, OBJECT)
    found: a.Pattern = a.Distinct(reduce(a.Union, parts)) if parts else a.Values((RESOURCE,), ())
    triples = a.BGP((a.TriplePattern(SUBJECT, PREDICATE, OBJECT),))
    joined = a.Join(found, a.Join(_through_blank_nodes(RESOURCE, SUBJECT), triples))
    return a.Query(a.Distinct(a.Project(joined, variables)), variables, TEMPLATE)


def _through_blank_nodes(start: a.Variable, end: a.Variable) -> a.Pattern:
    """From any node to itself and to the blank nodes among its objects, among theirs, and so on."""
    source, target = a.Variable("_:described"), a.Variable("_:blank")
    step = a.BGP((a.TriplePattern(source, a.Variable("_:by"), target),))
    subjects = a.BGP((a.TriplePattern(source, a.Variable("_:p"), a.Variable("_:o")),))
    return a.Closure(
        start,
        end,
        a.Filter(step, a.Call("ISBLANK", (target,))),
        source,
        target,
        zero=True,
        many=True,
        nodes=subjects,
    )
