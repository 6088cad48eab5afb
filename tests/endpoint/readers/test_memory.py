"""How much memory one query gets, and what happens beyond."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from endpoint.readers.errors import QueryMemoryExceeded
from endpoint.readers.process import ReaderProcess
from tests.endpoint.live.live_side import run
from tests.endpoint.readers.asking import asking, numbers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to RLIMIT_DATA")

LIMIT = 128 * 2**20
SORTED = """
SELECT * { ?a <http://ex/n> ?x . ?b <http://ex/n> ?y . ?c <http://ex/n> ?z } ORDER BY ?x ?y ?z
"""
"""64 million solutions, all of them kept before the first is given out: some 10 GB."""


def test_a_query_that_needs_more_memory_is_stopped_and_names_the_setting(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, start_process=lambda: ReaderProcess(memory=LIMIT)) as endpoint:
            endpoint.store.update(numbers())
            with pytest.raises(QueryMemoryExceeded, match=r"128 MiB of memory.*--query-memory") as raised:
                await endpoint.whole(SORTED)
            assert raised.value.problem()["limit"] == LIMIT
            assert raised.value.status == 422
            assert await endpoint.count() == 400

    run(main())


def test_a_query_within_its_memory_is_not_touched(tmp_path: Path) -> None:
    async def main() -> None:
        async with asking(tmp_path, start_process=lambda: ReaderProcess(memory=LIMIT)) as endpoint:
            endpoint.store.update(numbers())
            text = "SELECT ?x ?y { ?a <http://ex/n> ?x . ?b <http://ex/n> ?y } ORDER BY DESC(?x) ?y LIMIT 1"
            assert (await endpoint.whole(text)).split() == [b"x,y", b"399,0"]

    run(main())
