"""What is freed stays with the process: pages are not asked for again."""

from __future__ import annotations

import platform
import resource
import subprocess
import sys

import pytest

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
