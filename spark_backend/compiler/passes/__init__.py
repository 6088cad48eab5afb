"""The passes of the compiler: each makes another query of one, with the same answers, that is less work.

They are applied once for each shape, after constants were lifted: what differs from query to query is a Parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protocol.language.algebra import Query
from spark_backend.compiler.passes.bind_operands import bind_operands
from spark_backend.compiler.passes.compare_resources import compare_resources
from spark_backend.compiler.passes.distribute_unions import distribute_unions
from spark_backend.compiler.passes.drop_empty import drop_empty
from spark_backend.compiler.passes.fold_constants import fold_constants
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.passes.normalise import normalise
from spark_backend.compiler.passes.order_joins import order_joins
from spark_backend.compiler.passes.project_early import project_early
from spark_backend.compiler.passes.prune_columns import prune_columns
from spark_backend.compiler.passes.push_filters import push_filters
from spark_backend.compiler.passes.split_monotone import split_monotone
from spark_backend.compiler.passes.split_products import split_products
from spark_backend.compiler.passes.split_static import split_static
from spark_backend.compiler.passes.unfold_steps import unfold_steps
from spark_backend.compiler.passes.unify_variables import unify_variables

Pass = Callable[[Query, Knowledge], Query]

PASSES: tuple[Pass, ...] = (
    normalise,
    unfold_steps,
    compare_resources,
    fold_constants,
    drop_empty,
    unify_variables,
    push_filters,
    distribute_unions,
    split_products,
    bind_operands,
    project_early,
    split_static,
    order_joins,
    prune_columns,
)
FOR_INTERVALS: tuple[Pass, ...] = (split_monotone, prune_columns)
"""Those that are applied after all others, where a query is evaluated over intervals."""


def apply_passes(query: Query, knowledge: Knowledge, passes: Sequence[Pass] = PASSES) -> tuple[Query, tuple[str, ...]]:
    """The query after the passes, one after the other, and the names of those that changed it."""
    changed = []
    for one in passes:
        before, query = query, one(query, knowledge)
        if query != before:
            changed.append(one.__name__)
    return query, tuple(changed)
