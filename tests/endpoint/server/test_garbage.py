"""What was there when all was loaded is looked through no more; what comes later still is."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from endpoint.server.garbage import spare_once


class _Node:
    """One of a circle, which only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_is_loaded_is_set_aside_and_what_comes_later_is_collected() -> None:
    answers = iter((False, False, True))
    dropped = weakref.ref(_Node())
    spared = _Node()
    spare_once(lambda: next(answers), look_seconds=0).join()
    assert next(answers, None) is None
    assert dropped() is None, "what was garbage by then was not kept"
    assert not any(found is spared for found in gc.get_objects())
    later = weakref.ref(_Node())
    gc.collect()
    assert later() is None


def test_a_process_that_has_set_aside_what_is_loaded_ends_without_a_word() -> None:
    program = "import duckdb; from endpoint.server.garbage import spare_once; spare_once(lambda: True).join()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout + ended.stderr == ""
