"""Threads with more stack than the usual 8 MiB, which parsers and optimisers that recurse can use up."""

from __future__ import annotations

import threading

OXIGRAPH_STACK_BYTES = 256 * 1024 * 1024
"""Of a thread that has Oxigraph read or evaluate a text. It recurses natively: with the usual stack, a query of some
thousand nested brackets or chained operators ends the whole process. Only what is used of a stack is memory."""

_starting = threading.Lock()


def start_with_stack(thread: threading.Thread, stack_bytes: int = OXIGRAPH_STACK_BYTES) -> None:
    """Start the thread with a stack of so many bytes of address space; other threads get what they always get.

    The size of new stacks is a setting of the whole process. The lock is held only until the thread is there, never
    while it works; whoever else in this process sets that size has to do so here.
    """
    with _starting:
        before = threading.stack_size(stack_bytes)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
