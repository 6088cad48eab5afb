"""What follows from windows' contents and from what is in the store beside them, where patterns are not rewritten.

It is inferred for each instant anew, from what follows of what is static, which is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

import duckdb
import pyarrow as pa

from protocol.entailment.closure import Closure
from protocol.entailment.lists import Triple
from protocol.entailment.regimes import Regime
from protocol.terms import Term, comparable_facets, parse_term, term_text
from protocol.time import Instant
from spark_backend.evaluation.database import rows_as
from spark_backend.evaluation.kept_tables import KeptTables

MOST_TRIPLES = 2_000_000
"""What follows from more than so many triples, or comes to more, is not inferred."""
_KEPT_BASES = 4
_KEPT_TABLES = 8
_TERMS = "s, p, o"
_SCHEMA = pa.schema(
    [("instant", pa.int64()), *((name, pa.string()) for name in "spo"), ("k", pa.uint8()), ("n", pa.float64())]
)


class ClosureTables:
    """Tables of DuckDB's of what follows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._bases: OrderedDict[tuple[Regime, tuple[str, ...]], Closure] = OrderedDict()
        self._known = KeptTables[tuple[object, ...]](
            _KEPT_TABLES, lambda name: connection.execute(f"DROP TABLE {name}")
        )
        self._made = 0

    def table(
        self,
        regime: Regime,
        statics: Sequence[tuple[str, str]],
        windows: Sequence[str],
        instants: tuple[Instant, ...],
    ) -> str:
        """The name of a table ``instant, s, p, o, k, n`` of all that follows at each instant from what is in tables.

        ``statics``: tables of what is there at every instant, with the files that they are made of. Raises
        ClosureTooLarge.
        """
        asked = (regime, tuple(statics), tuple(windows), instants)
        known = self._known.get(asked)
        if known is not None:
            return known
        base = self._base(regime, statics)
        rows = pa.concat_tables(
            [_SCHEMA.empty_table(), *(self._entailed(base, windows, instant) for instant in instants)]
        )
        self._made += 1
        name = f"closure_t{self._made}"
        with rows_as(self._connection, closure_rows=rows):
            # In SQL a NaN would equal itself and exceed all numbers, so it has no number to compare.
            self._connection.execute(
                f"CREATE TEMP TABLE {name} AS SELECT * REPLACE (nullif(n, 'NaN'::DOUBLE) AS n) FROM closure_rows"
            )
        self._known.keep(asked, name)
        return name

    def make_room(self) -> None:
        """Let go of tables that are not the latest; not while an evaluation reads them."""
        self._known.make_room()

    def _base(self, regime: Regime, statics: Sequence[tuple[str, str]]) -> Closure:
        """What follows from what is there at every instant."""
        key = (regime, tuple(file for _, file in statics))
        base = self._bases.get(key)
        if base is None:
            base = Closure(regime)
            base.most = MOST_TRIPLES
            base.add_terms(self._terms(f"SELECT {_TERMS} FROM {table}" for table, _ in statics))
            self._bases[key] = base
            while len(self._bases) > _KEPT_BASES:
                self._bases.popitem(last=False)
        self._bases.move_to_end(key)
        return base

    def _entailed(self, base: Closure, windows: Sequence[str], instant: Instant) -> pa.Table:
        closure = base.copy(base.vocabulary.copy())
        closure.add_terms(self._terms(f"SELECT {_TERMS} FROM {window} WHERE instant = {instant}" for window in windows))
        texts: dict[Term, str] = {}
        columns: list[list[str]] = [[], [], []]
        for triple in closure.triples():
            for column, term in zip(columns, triple, strict=True):
                text = texts.get(term)
                if text is None:
                    text = texts[term] = term_text(term)
                column.append(text)
        known = {text: comparable_facets(text) for text in dict.fromkeys(columns[2])}
        kinds, numbers = zip(*map(known.__getitem__, columns[2]), strict=True) if columns[2] else ((), ())
        return pa.table([[instant] * len(columns[0]), *columns, list(map(int, kinds)), list(numbers)], schema=_SCHEMA)

    def _terms(self, selects: Iterable[str]) -> Iterator[Triple]:
        parsed: dict[str, Term] = {}

        def term(text: str) -> Term:
            found = parsed.get(text)
            if found is None:
                found = parsed[text] = parse_term(text)
            return found

        for select in selects:
            for s, p, o in self._connection.execute(select).fetchall():
                yield term(s), term(p), term(o)
