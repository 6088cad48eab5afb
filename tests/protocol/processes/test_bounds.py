"""What the kernel holds a child process to ends it, whatever the environment asks for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import pyoxigraph as ox
from protocol.processes.bounds import bound_memory
store = ox.Store()
predicate, long = ox.NamedNode("http://ex/p"), ox.Literal("x" * 1000)
store.extend(ox.Quad(ox.NamedNode(f"http://ex/{n}"), predicate, long) for n in range(3_000))
bound_memory(30_000_000)
kept = []
while True:
    kept.append(ox.serialize(store, format=ox.RdfFormat.N_QUADS))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to RLIMIT_DATA")
def test_a_panic_without_memory_ends_also_where_backtraces_are_asked_for() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, timeout=60, env={**os.environ, "RUST_BACKTRACE": "1"}
    )
    assert ran.returncode != 0
    assert b"MemoryError" in ran.stderr
