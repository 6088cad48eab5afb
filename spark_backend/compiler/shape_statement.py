"""The statement that queries of one shape have in common, compiled once for all of them."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import duckdb

from protocol.language import algebra as a
from spark_backend.compiler.algebra.facets import faceted_variables
from spark_backend.compiler.algebra.narrowing import operands
from spark_backend.compiler.algebra.partial_sums import PARTS, partial_sums
from spark_backend.compiler.passes import FOR_INTERVALS, Pass, apply_passes
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.passes.split_monotone import slides, split_monotone
from spark_backend.compiler.refusals import TooDeep
from spark_backend.compiler.sql.closed_content import ClosedContent
from spark_backend.compiler.sql.dataset import QueryDataset
from spark_backend.compiler.sql.expressions.expressions import Prelude, PreludeFunction
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.compiler.sql.leaf_sources import Sources
from spark_backend.compiler.sql.patterns.patterns import compile_conditions, compile_pattern
from spark_backend.compiler.sql.relation import MEMBER, RANK, Names, columns_of_table
from spark_backend.compiler.sql.sources import Source
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.compiler.sql.tree.expressions import NULL, Column, SortKey, StructField
from spark_backend.compiler.sql.tree.nodes import Pieces, named
from spark_backend.compiler.sql.tree.statements import Select, Subselect, Table, unnamed

_FLAT = 100
"""Parentheses within each other, of which a statement may have so many: DuckDB refuses expressions of 1,000 levels
(max_expression_depth), and of these no ten are between one parenthesis and the next within it.
"""
_BRACKETS = re.compile(r"""[()]|'[^']*'|"[^"]*\"""")


@dataclass(frozen=True)
class IntervalStatement:
    """The same statement over the solutions of ``parts`` at the instants due, instead of windows' contents."""

    sql: Pieces
    parts: tuple[IntervalPart, ...]


@dataclass(frozen=True)
class ShapeStatement:
    """What queries of one shape have in common. ``statics``: static patterns, and whether they had matches."""

    sql: Pieces
    functions: tuple[PreludeFunction, ...]
    sums: tuple[tuple[int, bool], ...]
    ordered: bool
    timed: bool
    statics: tuple[tuple[StaticPattern, bool], ...]
    static_joins: tuple[str, ...]
    sources: tuple[Source, ...]
    in_order: bool
    passes: tuple[str, ...]
    algebra: a.Query
    closed: tuple[ClosedContent, ...]
    intervals: IntervalStatement | None = None


_known: OrderedDict[str, ShapeStatement] = OrderedDict()
"""By the mark of the shape."""
_looking = threading.Lock()
"""Held to look among the known or to add to them, never to compile."""
_KEPT = 512


def shape_statement(
    query: a.Query,
    mark: str,
    present: Callable[[StaticPattern], bool],
    knowledge: Callable[[], Knowledge],
    passes: Sequence[Pass],
) -> ShapeStatement:
    """The statement of the shape with this mark: compiled where it is not known, or where other static patterns have
    matches (``present``) than had then. ``knowledge`` is asked for only there.
    """
    with _looking:
        known = _known.get(mark)
    if known is not None and all(present(pattern) == there for pattern, there in known.statics):
        return known
    compiled = _compiled(query, knowledge(), passes)
    with _looking:
        _known[mark] = compiled
        if len(_known) > _KEPT:
            _known.popitem(last=False)
    return compiled


def _compiled(query: a.Query, knowledge: Knowledge, passes: Sequence[Pass]) -> ShapeStatement:
    query, changed = apply_passes(query, knowledge, passes)
    prelude = Prelude(knowledge.base)
    leaves = operands(query.pattern)
    conditions = compile_conditions(leaves, knowledge.dataset, Names(faceted_variables(query)), prelude)
    dataset = replace(knowledge.dataset, sources=Sources(leaves, conditions))
    select, sums, ordered = _select(query, dataset, prelude)
    statics = tuple((pattern, dataset.present(pattern)) for pattern in dataset.statics)
    intervals = None
    # What is static is narrowed by windows' contents (``evaluation.narrowing``), which are not there then.
    if slides(dataset.query) and not any(there and pattern.way is None for pattern, there in statics):
        split, changing = apply_passes(query, knowledge, FOR_INTERVALS)
        if split_monotone.__name__ in changing:
            over, _, _ = _select(split, replace(dataset, sources=Sources()), prelude)
            intervals = IntervalStatement(_written(over), tuple(dataset.intervals))
    return ShapeStatement(
        _written(select),
        tuple(prelude.functions.values()),
        sums,
        ordered,
        dataset.timed,
        statics,
        tuple(dataset.static_joins),
        dataset.sources.listed,
        all(one.is_in_order for one in select.all()),
        changed,
        query,
        tuple(dataset.closed),
        intervals,
    )


def _select(
    query: a.Query, dataset: QueryDataset, prelude: Prelude
) -> tuple[Select, tuple[tuple[int, bool], ...], bool]:
    """The statement, which columns of it are sums in parts (``Plan.sums``), and whether its rows have an order."""
    names = Names(faceted_variables(query))
    sums = partial_sums(query)
    relation = compile_pattern(query.pattern, dataset, names, prelude, sums)
    columns = [names.column(variable) for variable in query.variables]
    parts = {names.column(variable): average for variable, average in sums.answered}
    ordered = bool(relation.order) or relation.ranked or not parts or sums.told_apart
    if relation.ranked:
        relation = names.open(relation)
    order = [SortKey(relation.columns[RANK])] if relation.ranked else list(relation.order)
    listed = {name: relation.columns[name] for name in ("instant", MEMBER, *columns)}
    if parts:
        # Over the SELECT: DuckDB would write a part's expression once more for each mention of it.
        keys = {f"k{place}": one.key for place, one in enumerate(order)}
        inner = replace(relation, columns={**listed, **keys})
        order = [SortKey(Column(name, "q"), one.direction) for name, one in zip(keys, order, strict=True)]
        listed = columns_of_table("q", listed)
        selected = [NULL if name in parts else column for name, column in listed.items()]
        selected += [StructField(listed[name], part) for name in parts for part in PARTS]
        select = Select(unnamed(*selected), (Table(Subselect(inner.select), "q"),))
    else:
        select = replace(relation, columns=listed).select
    if ordered:
        order = order or [
            SortKey(listed[name] if parts else Column(name), "NULLS FIRST") for name in columns if name not in parts
        ]
        select = replace(select, order=(SortKey(listed["instant"]), SortKey(listed[MEMBER]), *order))
    places = tuple((columns.index(column), average) for column, average in parts.items())
    return select, places, ordered


def _written(select: Select) -> Pieces:
    """The statement, in pieces. DuckDB's parser has a limit of its own (max_expression_depth): better met here than at
    an evaluation.
    """
    pieces = select.written
    text = named(pieces)
    if nesting(text) < _FLAT:  # which is told in a tenth of the time
        return pieces
    try:
        duckdb.extract_statements(text)
    except duckdb.ParserException as error:
        if "depth" not in str(error):
            raise
        raise TooDeep("the query's expressions nest too deeply to be compiled") from error
    return pieces


def nesting(text: str) -> int:
    """How many parentheses of a statement are within each other at the most."""
    steps = ((part == "(") - (part == ")") for part in _BRACKETS.findall(text))
    return max(accumulate(steps), default=0)
