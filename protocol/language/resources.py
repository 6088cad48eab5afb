"""Which variables of a pattern are resources, whatever it matches.

A subject, a predicate and the name of a graph are IRIs or blank nodes (RDF 1.2 Concepts sections 3.1 and 3.8). One of
them equals what is the same term, and nothing else; it is neither less nor greater than anything (SPARQL 1.1 Query
section 17.3).
"""

from __future__ import annotations

from protocol.language import algebra as a


def resources_of(pattern: a.Pattern) -> frozenset[a.Variable]:
    """Variables that every solution of a pattern binds to an IRI or a blank node; some of those."""
    # First operands are gone through one by one, for patterns may be a chain of thousands of them.
    chain: list[a.Pattern] = []
    first: a.Pattern | None = pattern
    while first is not None:
        chain.append(first)
        first = _first_operand(first)
    found: set[a.Variable] = set()
    for part in reversed(chain):
        match part:
            case a.BGP(triples):
                places = (place for triple in triples for place in (triple.subject, triple.predicate))
                found.update(place for place in places if isinstance(place, a.Variable))
            case a.Closure(subject, object, step, source, target, False):
                ends = {source: subject, target: object}
                found.update(end for one in resources_of(step) if isinstance(end := ends.get(one), a.Variable))
            case a.Join(_, right):
                found |= resources_of(right)
            case a.Union(_, right):
                found &= resources_of(right)
            case a.Graph(a.Variable() as name):
                found.add(name)
            case a.Project(_, variables):
                found &= frozenset(variables)
            case a.Group(_, keys):
                found &= frozenset(keys or ())
            case a.Extend(_, variable, a.Variable() as same) if same in found:
                found.add(variable)
            case a.Extend(_, variable, a.Call("SUBJECT" | "PREDICATE") as of) if a.is_unfolded(of):
                found.add(variable)  # what is no triple term does not match
            case a.Extend(_, variable):
                found.discard(variable)
    return frozenset(found)


def _first_operand(pattern: a.Pattern) -> a.Pattern | None:
    """The operand that others are joined with, or that is changed; None of a pattern without one."""
    match pattern:
        case a.Join(inner) | a.LeftJoin(inner) | a.Union(inner) | a.Minus(inner) | a.Graph(_, inner):
            return inner
        case a.Filter(inner) | a.Extend(inner) | a.Project(inner) | a.Group(inner) | a.Aggregation(inner):
            return inner
        case a.Distinct(inner) | a.OrderBy(inner) | a.Slice(inner) | a.MarkJoin(inner) | a.Draw(inner):
            return inner
        case a.PathJoin(inner):
            return inner
    return None
