"""What DISTINCT drops in the end is dropped where it is matched, if a pattern has many matches for it.

``SELECT DISTINCT ?x { ?x a ?t . ?y a ?t . ?z a ?t }``: nobody else reads ?y and ?z, and all pairs of them would be made
for each ?t. Whether there is one is all that counts (SPARQL 1.1 Query section 18.5, Distinct).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from protocol.language import algebra as a
from spark_backend.compiler.algebra.estimates import of_pattern
from spark_backend.compiler.algebra.operands import filter_of
from spark_backend.compiler.algebra.traversal import bottom_up
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.passes.normalise import normal_join
from spark_backend.compiler.passes.split_products import conditions_and_operands

_MANY = 10.0
"""Matches for one solution of the others: fewer are carried along in less time than it takes to see which are alike."""


def project_early(query: a.Query, knowledge: Knowledge) -> a.Query:
    def change(pattern: a.Pattern, inside: bool) -> a.Pattern:
        match pattern:
            case a.Distinct(a.Project(inner, variables) as projected, ()) if not inside:
                projected = replace(projected, pattern=_projected(inner, frozenset(variables), knowledge))
                return replace(pattern, pattern=projected) if projected.pattern is not inner else pattern
        return pattern

    return replace(query, pattern=bottom_up(query.pattern, change))


def _projected(pattern: a.Pattern, read: frozenset[a.Variable], knowledge: Knowledge) -> a.Pattern:
    conditions, operands = conditions_and_operands(pattern)
    times = Counter(one for part in (*operands, *conditions) for one in a.mentioned_variables(part))
    changed = False
    for place, operand in enumerate(operands):
        mentioned = a.mentioned_variables(operand)
        kept = frozenset(one for one in mentioned if one in read or times[one] > 1)
        if kept == mentioned or not kept or not _is_matched(operand):
            continue
        if of_pattern(operand, kept, knowledge.statistics) > _MANY:
            operands[place] = a.Distinct(a.Project(operand, tuple(sorted(kept, key=lambda one: one.name))))
            changed = True
    return filter_of(normal_join(operands, False), conditions) if changed else pattern


def _is_matched(pattern: a.Pattern) -> bool:
    """Whether it is a triple pattern, and nobody asks for the time of what matches."""
    if isinstance(pattern, a.Graph) and isinstance(pattern.name, a.Constant):
        pattern = pattern.pattern
    return isinstance(pattern, a.BGP) and len(pattern.triples) == 1 and pattern.triples[0].time is None
