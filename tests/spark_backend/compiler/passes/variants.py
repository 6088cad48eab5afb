"""A query with all passes, with none, and with each one left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spark_backend.compiler.passes import PASSES, Pass
from spark_backend.compiler.plan import Plan, compile_query
from spark_backend.compiler.sql.tree.nodes import named
from tests.spark_backend.compiler.one_shot import INSTANT, Content, Row, continuous, evaluated


def answers(text: str, content: Content, *, each: bool = True) -> Iterator[tuple[str, Plan, Sequence[Row]]]:
    """The rows of each variant, in order; of variants that are the same statement those of one. Without ``each``, of
    all passes and of none.
    """
    plan, rows = evaluated(text, content)
    yield "all", plan, rows[INSTANT]
    query = continuous(text, content)
    known = {(plan.sql, plan.static_joins)}
    variants: dict[str, tuple[Pass, ...]] = {"none": ()}
    for one in PASSES if each else ():
        # Without one that changes nothing, the others change the same.
        if one.__name__ in plan.passes:
            variants[f"without {one.__name__}"] = tuple(other for other in PASSES if other is not one)
    for name, passes in variants.items():
        plan = compile_query(query, passes=passes)
        statement = (plan.sql, plan.static_joins)
        if statement not in known:
            known.add(statement)
            plan, rows = evaluated(text, content, passes=passes)
            yield name, plan, rows[INSTANT]


def assert_passes_keep(text: str, content: Content, *, each: bool = True) -> None:
    """The same rows in the same order, whichever passes are applied; without ``each``, where all are as where none."""
    (_, plan, expected), *others = answers(text, content, each=each)
    for name, other, rows in others:
        assert rows == expected, f"{text}\n{name}\n{_told(plan)}\n{_told(other)}"


def _told(plan: Plan) -> str:
    return "\n".join([named(plan.sql), *plan.static_joins])
