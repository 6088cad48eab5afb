"""What is freed stays with the process for a while: pages are not asked for again at once."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys

import pytest

from protocol.processes.memory import FreedMemory

_MEGABYTE = 1024 * 1024
_PROGRAM = """
import ctypes, resource, sys
from protocol.processes.memory import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def fill(count):
    parts = [libc.malloc(4_000_000) for _ in range(count)]
    for part in parts:
        ctypes.memset(part, 1, 4_000_000)
    for part in parts:
        libc.free(part)
fill(8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    fill(8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other systems' malloc is set otherwise, or not at all")
def test_memory_that_is_freed_is_used_again() -> None:
    faults = {}
    for way in ("kept", "given back"):
        ran = subprocess.run([sys.executable, "-c", _PROGRAM, way], capture_output=True, text=True, check=True)
        faults[way] = int(ran.stdout)
    pages = 10 * 8 * 4_000_000 // resource.getpagesize()
    assert faults["kept"] < pages / 20
    assert faults["given back"] > pages / 2


class Process:
    """A process that has so many megabytes in use, and others that are free."""

    def __init__(self) -> None:
        self.used, self.free = 100, 0
        self.given_back: list[int] = []
        self.freed = FreedMemory(lambda: (self.used + self.free) * _MEGABYTE, self._give_back)

    def _give_back(self) -> None:
        self.given_back.append(self.free)
        self.free = 0

    def has(self, used: int, free: int) -> None:
        self.used, self.free = used, free
        self.freed.look()


def test_what_is_free_is_given_back_also_what_was_in_use_the_last_time() -> None:
    process = Process()
    process.has(100, 10)
    assert process.given_back == []
    process.has(400, 50)
    process.has(120, 230)
    assert process.given_back == [50, 230]
    for _ in range(3):
        process.has(125, 5)
    assert process.given_back == [50, 230]


_FLOOD = """
import ctypes, threading
from protocol.processes.memory import FreedMemory, _own_bytes, keep_freed_memory
keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
freed = FreedMemory(_own_bytes, lambda: libc.malloc_trim(0))
before = _own_bytes()
def flood():
    parts = [libc.malloc(1_000_000) for _ in range(200)]
    for part in parts:
        ctypes.memset(part, 1, 1_000_000)
    libc.malloc(1000)  # stays in use behind them
    for part in parts:
        libc.free(part)
thread = threading.Thread(target=flood)
thread.start()
thread.join()
print(_own_bytes() - before)
freed.look()
print(_own_bytes() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other systems' malloc gives back in ways of its own")
def test_the_memory_of_a_flood_is_given_back() -> None:
    ran = subprocess.run([sys.executable, "-c", _FLOOD], capture_output=True, text=True, check=True)
    after_flood, at_the_end = map(int, ran.stdout.split())
    assert after_flood > 100_000_000
    assert at_the_end < 20_000_000
