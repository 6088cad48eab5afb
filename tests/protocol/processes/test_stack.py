from __future__ import annotations

import threading

import pytest

from protocol.processes.stack import start_with_stack


def test_a_thread_gets_its_stack_and_the_next_ones_what_is_usual() -> None:
    usual = threading.stack_size()
    found: list[int] = []
    # Asked for while the thread is being started, which is where the size counts.
    thread = _Thread(found)
    start_with_stack(thread, 64 * 1024 * 1024)
    thread.join()
    assert found == [64 * 1024 * 1024]
    assert threading.stack_size() == usual


def test_threads_work_at_the_same_time() -> None:
    usual = threading.stack_size()
    met = threading.Barrier(9)
    threads = [threading.Thread(target=met.wait, args=(20,)) for _ in range(8)]
    starting = [threading.Thread(target=start_with_stack, args=(thread,)) for thread in threads]
    for one in starting:
        one.start()
    met.wait(20)
    for one in starting + threads:
        one.join()
    assert threading.stack_size() == usual


def test_one_that_cannot_be_started_leaves_the_size_as_it_was() -> None:
    usual = threading.stack_size()
    thread = threading.Thread(target=lambda: None)
    start_with_stack(thread)
    thread.join()
    with pytest.raises(RuntimeError, match="once"):
        start_with_stack(thread)
    assert threading.stack_size() == usual


class _Thread(threading.Thread):
    def __init__(self, found: list[int]) -> None:
        super().__init__()
        self._found = found

    def start(self) -> None:
        self._found.append(threading.stack_size())
        super().start()
