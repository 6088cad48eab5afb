"""What a child process may take, and how long it lives: what the kernel holds it to, whatever it is doing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def be_first_killed_for_memory() -> None:
    """Where memory runs out, the kernel shall end this process, not the server (Linux; elsewhere nothing)."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as adjustment:
        adjustment.write("500")


def end_with_the_parent() -> None:
    """Have the kernel kill this process when its parent ends, in the middle of whatever it does (Linux)."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)


def name_process(name: str) -> None:
    """Have the kernel show this process by a name of at most 15 characters (Linux; elsewhere nothing)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode())


def bound_processor_time(seconds: float) -> None:
    """Let the kernel end this process (SIGPROF) after so many seconds of processor time; 0 takes it back."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def bound_memory(more: int) -> None:
    """Let this process have so many bytes more than it has now, counting what it can write to and no file (Linux).

    What allocates beyond that may abort, and need not leave its memory on the disk.
    """
    # A panic of Rust's would take memory for its backtrace, and wait for itself, for ever, where there is none.
    os.environ["RUST_BACKTRACE"] = "0"
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as status:
        has = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (has + more, most))


def lift_memory_bound() -> Callable[[], None]:
    """Let this process have as much as it wants, until what this returns is called: then the bound is as before."""
    bound, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (bound, most))
