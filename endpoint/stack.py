"""How much stack a thread needs that has Oxigraph read or evaluate a text."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

STACK_BYTES = 256 * 1024 * 1024
"""Oxigraph's parser and optimiser recurse natively: with the usual 8 MiB, a query of some thousand
nested brackets or chained operators ends the whole process. Only what is used of a stack is memory."""

_starting = threading.Lock()


@contextmanager
def large_stacks() -> Iterator[None]:
    """Threads that are started within the block have stacks of ``STACK_BYTES``."""
    with _starting:
        # The size of a stack is a setting of the process; it matters only while threads are started.
        before = threading.stack_size(STACK_BYTES)
        try:
            yield
        finally:
            threading.stack_size(before)
