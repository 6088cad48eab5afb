"""A store with its readers, and questions to them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from endpoint.graphs.store import GraphStore
from endpoint.readers.exchange import QueryQuestion, Question
from endpoint.readers.limits import QueryLimits
from endpoint.readers.pool import ReaderPool

NUMBERS = 400
RUNAWAY = """
SELECT (COUNT(*) AS ?n) { ?a <http://ex/n> ?x . ?b <http://ex/n> ?y . ?c <http://ex/n> ?z . ?d <http://ex/n> ?w
  FILTER(?x + ?y + ?z + ?w < 0) }
"""
"""25.6 thousand million combinations: hours, in hardly any memory."""

LONG = f"""
SELECT ?x ?y ?t {{ ?a <http://ex/n> ?x . ?b <http://ex/n> ?y VALUES ?t {{ "{"long" * 100}" }} }}
"""
"""160,000 solutions, some 90 MB."""

ENDLESS = LONG.replace("VALUES", ". ?c <http://ex/n> ?z FILTER(SHA512(STR(?x * ?y + ?z)) < '08') VALUES")
"""Two million solutions out of 64, some 1 GB, which begin to come at once and take a minute."""


def numbers(count: int = NUMBERS) -> str:
    """An update that adds as many triples."""
    return f"INSERT DATA {{ {' '.join(f'<http://ex/{n}> <http://ex/n> {n} .' for n in range(count))} }}"


@dataclass
class Asking:
    store: GraphStore
    readers: ReaderPool
    directory: Path

    async def whole(self, question: str | Question, limits: QueryLimits | None = None) -> bytes:
        """The whole answer."""
        if isinstance(question, str):
            question = QueryQuestion(question, "text/csv")
        async with self.readers.answer(question, limits or QueryLimits()) as answer:
            return b"".join([answer.first] + [data async for data in answer.rest()])

    async def count(self) -> int:
        return int((await self.whole("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")).split()[1])


@asynccontextmanager
async def asking(
    directory: Path, size: int = 2, *, open_store: Callable[[Path], GraphStore] = GraphStore, **options: Any
) -> AsyncIterator[Asking]:
    store = open_store(directory / "store")
    readers = ReaderPool(store, directory / "snapshots", size, **{"memory_quads": 500_000, **options})
    await readers.start()
    try:
        yield Asking(store, readers, directory / "snapshots")
    finally:
        await readers.stop()
        store.close()


def there(pid: int) -> bool:
    """Whether this process is there, be it as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
