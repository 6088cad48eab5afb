"""The commands of an example, run to their end in a shell of their own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.docs.pages import ROOT

_PATIENCE = 30.0
"""Seconds in which what is told to end does so."""


def run_commands(commands: str, folder: Path, seconds: float, environment: Mapping[str, str] | None = None) -> None:
    """Run them in the folder; whatever they have started is ended then. AssertionError where one fails, or where they
    take longer than so many seconds.
    """
    with (folder / "said.txt").open("wb") as said:
        shell = subprocess.Popen(
            ["bash", "-c", f"set -eu\n{commands}"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            stdout=said,
            stderr=said,
            start_new_session=True,  # what is in the background is of this group, too
        )
        try:
            code: int | None = shell.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(shell)
    text = (folder / "said.txt").read_text("utf-8", errors="replace")
    assert code is not None, f"not done in {seconds:g} s:\n{text}"
    assert code == 0, text


def _end(shell: subprocess.Popen[bytes]) -> None:
    """End what is left of the shell's group: what does not end when it is told so, at once."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for process in _group(shell.pid):
            process.send_signal(sign)
        psutil.wait_procs(_group(shell.pid), _PATIENCE)
    shell.wait(_PATIENCE)


def _group(number: int) -> list[psutil.Process]:
    """The processes of a group that have not ended."""
    found = []
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == number and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
