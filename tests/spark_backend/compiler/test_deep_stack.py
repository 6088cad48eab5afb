from __future__ import annotations

import sys
import threading

import pytest

from protocol.errors import UnsupportedFeature
from spark_backend.compiler.deep_stack import with_deep_stack


def descended(levels: int) -> int:
    return 0 if levels == 0 else 1 + descended(levels - 1)


def test_work_may_recurse_deeper_than_python_usually_lets_it() -> None:
    with pytest.raises(RecursionError):
        descended(20_000)
    assert with_deep_stack(lambda: descended(20_000)) == 20_000


def test_what_recurses_deeper_still_is_refused_and_what_is_raised_is_raised_to_the_caller() -> None:
    with pytest.raises(UnsupportedFeature, match="nests too deeply"):
        with_deep_stack(lambda: descended(200_000))
    with pytest.raises(ValueError, match="invalid literal"):
        with_deep_stack(lambda: int("x"))


def test_it_is_no_lock_and_the_limit_stays_until_the_last_is_done() -> None:
    usual = sys.getrecursionlimit()
    met = threading.Barrier(3)
    first_is_done = threading.Event()
    depths: list[int] = []

    def first() -> None:
        with_deep_stack(lambda: met.wait(20))
        first_is_done.set()

    def second() -> None:
        def work() -> int:
            met.wait(20)
            assert first_is_done.wait(20)
            return descended(20_000)

        depths.append(with_deep_stack(work))

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    met.wait(20)
    for thread in threads:
        thread.join()
    assert depths == [20_000]
    assert sys.getrecursionlimit() == usual
