"""Work on trees as deep as a query may nest, in a thread with the stack for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from protocol.processes.stack import start_with_stack
from spark_backend.compiler.refusals import TooDeep

T = TypeVar("T")

_STACK_BYTES = 512 * 1024 * 1024
"""Of address space; only what is used becomes memory."""


def with_deep_stack(work: Callable[[], T]) -> T:
    """The result of ``work``, which has all of Python's recursion limit to itself; UnsupportedFeature where it is met.

    So how deep a query may nest does not depend on how deep the call is that asks. The native stack is for DuckDB's
    parser, and for Oxigraph's.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except RecursionError:
            failure.append(TooDeep("the query is too long or nests too deeply to be compiled"))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="query compiler")
    start_with_stack(thread, _STACK_BYTES)
    thread.join()
    if failure:
        raise failure[0]
    return result[0]
