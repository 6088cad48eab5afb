"""Where evaluators of this machine put what does not fit into memory, and what they leave behind."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import psutil

from spark_backend.layout import Layout


def spill_of(layout: Layout, pid: int) -> Path:
    """The directory of the evaluator with that process id."""
    return layout.spill(_on_this_host(pid))


def remove_orphaned_spill(layout: Layout) -> None:
    """Remove what processes of this machine have left that were ended together with those who would have."""
    for directory in layout.spark.glob(layout.spill(_on_this_host("*")).name):
        if not psutil.pid_exists(int(directory.name.rpartition(".")[2])):
            shutil.rmtree(directory, ignore_errors=True)


def _on_this_host(pid: int | str) -> str:
    return f"{socket.gethostname()}.{pid}"
