"""Alternatives that nothing joins within are joined with what is outside: the join of a union becomes a union of joins.

``?s :p ?x ; :q ?y { ?a :by ?x . ?b :of ?y } UNION { … }``: by itself the first alternative is all pairs of its matches.
The multiplicities are the same (SPARQL 1.1 Query section 18.5).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from protocol.language import algebra as a
from spark_backend.compiler.algebra.operands import join_operands, union_operands
from spark_backend.compiler.algebra.traversal import with_operands
from spark_backend.compiler.passes.normalise import normal_join
from spark_backend.compiler.passes.split_products import unjoined_parts

_MOST_ALTERNATIVES = 4
"""What is beside a union is matched once for each."""
_NOT_TWICE = a.Draw | a.Slice | a.Group | a.Aggregation | a.MarkJoin | a.LeftJoin | a.Minus | a.Union | a.Distinct
"""What would be drawn again, or takes longer to do than a pattern to match."""


def distribute_unions(query: a.Query, _: object) -> a.Query:
    return replace(query, pattern=_distributed(query.pattern, False))


def _distributed(pattern: a.Pattern, inside: bool) -> a.Pattern:
    pattern = _over_union(pattern) if isinstance(pattern, a.Join) and not inside else pattern
    return with_operands(pattern, lambda operand, within: _distributed(operand, inside or within), inside)


def _over_union(pattern: a.Join) -> a.Pattern:
    operands = join_operands(pattern)
    for place, operand in enumerate(operands):
        alternatives = union_operands(operand)
        others = operands[:place] + operands[place + 1 :]
        if not 1 < len(alternatives) <= _MOST_ALTERNATIVES:
            continue
        if any(isinstance(node, _NOT_TWICE) for other in others for node in a.nodes(other)):
            continue
        if any(_is_joined_outside(one, others) for one in alternatives):
            return reduce(a.Union, [_beside(operands, place, one) for one in alternatives])
    return pattern


def _is_joined_outside(pattern: a.Pattern, others: list[a.Pattern]) -> bool:
    """Whether others join parts of the pattern that share no variables."""
    seen = frozenset[a.Variable]().union(*map(a.in_scope, others))
    return sum(bool(a.in_scope(part) & seen) for part in unjoined_parts(pattern, frozenset())) > 1


def _beside(operands: list[a.Pattern], place: int, alternative: a.Pattern) -> a.Pattern:
    return normal_join([*operands[:place], *join_operands(alternative), *operands[place + 1 :]], False)
