"""Workers of a daemon whose evaluators are a pool's: ``python -m … DIRECTORY SCENE``, a program that has no threads.

Each says on a line which process its evaluator is, and how many times that was asked.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.popen_fork import Popen
from pathlib import Path
from typing import Any

import psutil

from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget, Lane
from spark_backend.evaluation.pool import EvaluatorKind, evaluator, open_pool, pool
from spark_backend.evaluation.process import ForkedEvaluator
from spark_backend.evaluation.step import Planned, Stopped
from spark_backend.layout import Layout
from spark_backend.site import BY_SIZE

POOL = "test-pool"


class Counter:
    """In place of an evaluator: plans the number of times it was asked, and which process it is."""

    def __init__(self, spill: Path) -> None:
        self.asked = 0

    def plan(self, due: object) -> Planned:
        self.asked += 1
        return Planned([], [(f"{os.getpid()} {self.asked}", Answer(0))])

    def refresh(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def start(kind: EvaluatorKind) -> ForkedEvaluator:
    make: Any = Counter
    return ForkedEvaluator(Layout(Path(kind.root)), kind.lane, kind.budget, make)


def a_kind(root: Path) -> EvaluatorKind:
    return EvaluatorKind(str(root), BY_SIZE, Lane.COMMON, Budget(memory=2**27))


def asked(taken: Any) -> tuple[int, int]:
    """Which process an evaluator is, and how many times it was asked."""
    pid, times = taken.plan([]).answers[0][0].split()
    return int(pid), int(times)


def _work(worker: Callable[[EvaluatorKind], str], kind: EvaluatorKind) -> None:
    """Have a worker say something, in a fork of this process, and wait for its end."""
    child = os.fork()
    if child == 0:
        print(worker(kind), flush=True)
        os._exit(0)
    os.waitpid(child, 0)


def _asks_twice(kind: EvaluatorKind) -> str:
    for _ in range(2):
        with evaluator(pool(start), kind, 0) as process:
            pid, times = asked(process)
    return f"{pid} {times}"


def _ends_in_the_middle(kind: EvaluatorKind) -> str:
    with evaluator(pool(start), kind, 0) as process:
        print(*asked(process), flush=True)
        os._exit(0)


def _sees_it_end(kind: EvaluatorKind) -> str:
    with evaluator(pool(start), kind, 0) as process:
        try:
            process.refresh()
        except Stopped as stopped:
            return f"{'SIGKILL' if 'SIGKILL' in str(stopped) else stopped} {asked(process)[1]}"
    return "it was not ended"


def _has_none_renewed(kind: EvaluatorKind) -> str:
    try:
        with evaluator(pool(start), kind, 0) as process:
            process.refresh()
    except EOFError:
        return "no other is there"
    return "it was renewed"


def _refuse_the_second_process() -> None:
    """Have this process, and each fork of it, be given no second one by the system, and then others again."""
    fork: Any = Popen
    launch = fork._launch
    launched = 0

    def launch_or_not(popen: Popen, process: Any) -> None:
        nonlocal launched
        launched += 1
        if launched == 2:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        launch(popen, process)

    fork._launch = launch_or_not


def _end_the_pool() -> None:
    (process,) = psutil.Process().children()
    assert process.name() == POOL
    process.kill()
    process.wait()


if __name__ == "__main__":
    wanted = a_kind(Path(sys.argv[1]))
    if sys.argv[2] == "no process is to be had":
        _refuse_the_second_process()
    open_pool(start, POOL)
    match sys.argv[2]:
        case "one after another":
            for one in (_asks_twice, _asks_twice, _ends_in_the_middle, _asks_twice):
                _work(one, wanted)
        case "no process is to be had":
            for one in (_has_none_renewed, _asks_twice, _asks_twice):
                _work(one, wanted)
        case "an evaluator ends":
            _work(_sees_it_end, wanted)
        case "the pool ends":
            _work(_asks_twice, wanted)  # a pool that has answered has its name
            _end_the_pool()
            _work(_asks_twice, wanted)
