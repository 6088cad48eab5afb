"""Work on trees as deep as a query may nest, in a thread with the stack and the recursion limit for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from protocol.stack import start_with_stack
from spark_backend.compiler.refusals import NotCompilable, deepest

T = TypeVar("T")

_STACK_BYTES = 512 * 1024 * 1024
"""Of address space; only what is used becomes memory."""
_DEPTH = 60_000


def with_deep_stack(work: Callable[[], T]) -> T:
    """The result of ``work``, run where recursion may go deep; UnsupportedFeature where it goes deeper still.

    rdflib's parser descends a dozen calls for each level of a query and for each triple of a group:
    under Python's usual limit it fails at 36 nested groups, or 85 triples.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except RecursionError:
            failure.append(NotCompilable("the query is too long or nests too deeply to be compiled", deepest))
        except BaseException as error:
            failure.append(error)

    with _deep_recursion():
        thread = threading.Thread(target=run, name="query compiler")
        start_with_stack(thread, _STACK_BYTES)
        thread.join()
    if failure:
        raise failure[0]
    return result[0]


_changing = threading.Lock()
_deep = 0
_usual_depth = 0


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Python's limit, which is one for all threads: raised by the first of those who need it, reset by the last."""
    global _deep, _usual_depth
    with _changing:
        if not _deep:
            _usual_depth = sys.getrecursionlimit()
            sys.setrecursionlimit(_DEPTH)
        _deep += 1
    try:
        yield
    finally:
        with _changing:
            _deep -= 1
            if not _deep:
                sys.setrecursionlimit(_usual_depth)
