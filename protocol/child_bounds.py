"""What a child process may take: bounds that the kernel holds it to, whatever it is doing."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Callable


def be_first_killed_for_memory() -> None:
    """Where memory runs out, the kernel shall end this process, not the server (Linux; elsewhere nothing)."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as adjustment:
        adjustment.write("500")


def bound_processor_time(seconds: float) -> None:
    """Let the kernel end this process (SIGPROF) after so many seconds of processor time; 0 takes it back."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def bound_memory(more: int) -> None:
    """Let this process have so many bytes more than it has now, counting what it can write to and no file (Linux).

    What allocates beyond that may abort, and need not leave its memory on the disk.
    """
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
