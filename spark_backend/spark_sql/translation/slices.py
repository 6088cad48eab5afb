"""The parts of windows that a statement reads: where it asks for constants, a table of those triples alone.

A graph pattern reads a window once for each of its triple patterns, and most of these name the predicate. For each
there is a table of its own, which the log source makes without writing out anything else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

_TERMS = ("s", "p", "o")


@dataclass(frozen=True)
class WindowSlice:
    """The table ``name``: those triples of the table ``window`` that have these terms, by column."""

    name: str
    window: str
    terms: tuple[tuple[str, str], ...]

    def with_prefix(self, before: str, after: str) -> WindowSlice:
        """The slice with another prefix to its tables' names."""
        name, window = (after + table.removeprefix(before) for table in (self.name, self.window))
        return replace(self, name=name, window=window)


def take_slices(queries: Iterable[exp.Expr], windows: str) -> tuple[WindowSlice, ...]:
    """Let queries read slices of windows, tables whose names begin with ``windows``, wherever they name terms.

    The conditions stay: what a query means does not change with what a slice leaves out.
    """
    found: dict[str, WindowSlice] = {}
    for query in queries:
        for table in list(query.find_all(exp.Table)):
            terms = tuple(sorted(_terms(table))) if table.name.startswith(windows) else ()
            if terms:
                digest = hashlib.sha256(json.dumps(terms).encode()).hexdigest()[:12]
                part = WindowSlice(f"{table.name}_{digest}", table.name, terms)
                found[part.name] = part
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
                table.set("this", exp.to_identifier(part.name))
    return tuple(found.values())


def _terms(table: exp.Table) -> Iterator[tuple[str, str]]:
    """The columns of a table that its SELECT compares with a constant in every row it keeps."""
    select = table.find_ancestor(exp.Select)
    where = select.args.get("where") if select is not None else None
    if where is None:
        return
    known: dict[str, str] = {}
    for condition in _conjuncts(where.this):
        column, term = condition.this, condition.expression
        if isinstance(term, exp.Column):
            column, term = term, column
        if not (isinstance(column, exp.Column) and isinstance(term, exp.Literal) and term.is_string):
            continue
        if column.table == table.alias_or_name and column.name in _TERMS and column.name not in known:
            known[column.name] = term.this
    yield from known.items()


def _conjuncts(condition: exp.Expr) -> Iterator[exp.EQ]:
    match condition:
        case exp.And() | exp.Paren():
            for part in condition.iter_expressions():
                yield from _conjuncts(part)
        case exp.EQ():
            yield condition
