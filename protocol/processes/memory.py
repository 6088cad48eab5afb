"""How a process's memory is given back to the machine (glibc's malloc)."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT, _LARGEST = 64 * 1024 * 1024, 32 * 1024 * 1024
_FEWEST_ARENAS = 2
_LOOK_SECONDS = 30.0
_CHANGE = 16 * 1024 * 1024


def keep_freed_memory() -> None:
    """Have malloc keep what is freed, up to 64 MiB for each core, for what comes next (Linux with glibc).

    By default columns of some megabytes are given back as soon as they are freed, and each body that is read begins
    with the kernel clearing the same pages again: a quarter of its time. To be called before threads are started.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_M_ARENA_MAX, max(_FEWEST_ARENAS, os.cpu_count() or 1))
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST)


class FreedMemory:
    """What malloc has kept of what was freed, which is given back where the process has become larger or smaller by
    16 MiB since.

    Of what other threads than the first one free, malloc keeps whatever has something in use behind it: after some
    messages of 10 MB, hundreds of megabytes. ``used`` says how many bytes the process has, ``give_back`` gives back all
    that is free.
    """

    def __init__(self, used: Callable[[], int], give_back: Callable[[], object]) -> None:
        self._used = used
        self._give_back = give_back
        self._then = used()

    def look(self) -> None:
        """Give back what is free, if that may be much."""
        if abs(self._used() - self._then) >= _CHANGE:
            self._give_back()
            self._then = self._used()


def give_back_freed_memory() -> None:
    """Have a thread look at it every 30 s: so seldom that what comes next still finds its pages (Linux with glibc)."""
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        return
    freed = FreedMemory(_own_bytes, lambda: libc.malloc_trim(0))

    def look_now_and_then() -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with suppress(OSError):  # as where too many files are open
                freed.look()

    threading.Thread(target=look_now_and_then, name="freed-memory", daemon=True).start()


def _own_bytes() -> int:
    """The memory that this process has for itself, without files that it has mapped."""
    _, resident, shared, *_ = Path("/proc/self/statm").read_text("ascii").split()
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
