"""What is looked for in updates, which may be as long as any body: without a list of all that they have."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from protocol.formats.allow_list import AllowList
from protocol.sparql.dataset import with_using
from protocol.sparql.guard import refuse_services
from protocol.sparql.load import has_load, loads
from protocol.sparql.prologue import with_one_prologue

NUMBERS = "1, " * 4_000


@pytest.mark.parametrize(
    "look",
    [
        has_load,
        lambda update: loads(update, AllowList.of(["*"])),
        with_one_prologue,
        lambda update: with_using(update, ["http://e/g"], []),
        refuse_services,
    ],
)
def test_what_is_outside_of_data_is_found_in_a_few_times_the_memory_of_the_text(
    look: Callable[[str], object],
) -> None:
    update = (
        f"INSERT DATA {{ <http://e/load> <http://e/service> {NUMBERS} 1 }} ; PREFIX e: <http://e/> INSERT DATA {{}}"
    )
    tracemalloc.start()
    try:
        look(update)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(update)
