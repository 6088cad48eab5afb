"""The commands of an example, run to their end in a shell of their own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.docs.pages import DOCS, ROOT

EXAMPLES = DOCS / "examples"

_BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
_PATIENCE = 30.0
"""Seconds in which what is told to end does so."""
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
"""With the programs that this Python's packages bring."""


class Example:
    """A folder of ``docs/examples``: what its page says, and its commands, which are the page's first block of bash.

    ``given`` are texts in it that the test has other ones for, ports above all.
    """

    def __init__(self, name: str, given: Mapping[str, str] | None = None) -> None:
        self._folder = EXAMPLES / name
        self._given = dict(given or {})
        self.page = (self._folder / "README.md").read_text("utf-8")
        self.commands = self._changed(_BLOCK.findall(self.page)[0])

    def promised(self, sentence: str) -> str:
        """What the page says in the only place that the expression finds, its group."""
        (found,) = re.findall(sentence, self.page)
        return str(found)

    def run(self, folder: Path, seconds: float, environment: Mapping[str, str] | None = None) -> None:
        """Run the commands in a copy of the example (see ``run_commands``)."""
        for file in sorted(self._folder.rglob("*")):
            if "__pycache__" in file.parts:
                continue
            copy = folder / file.relative_to(self._folder)
            if file.is_dir():
                copy.mkdir(exist_ok=True)
            else:
                copy.write_text(self._changed(file.read_text("utf-8")), "utf-8")
        run_commands(self.commands, folder, seconds, environment)

    def _changed(self, text: str) -> str:
        for old, new in self._given.items():
            text = text.replace(old, new)
        return text


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is not on the path."""
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"{program} is not installed: this machine's, not a fault")


def run_commands(commands: str, folder: Path, seconds: float, environment: Mapping[str, str] | None = None) -> None:
    """Run them in the folder; whatever they have started is ended then. AssertionError where one fails, or where they
    take longer than so many seconds.
    """
    with (folder / "said.txt").open("wb") as said:
        shell = subprocess.Popen(
            ["bash", "-c", f"set -eu\n{commands}"],
            cwd=folder,
            env={**os.environ, "PATH": _PATH, "PYTHONPATH": str(ROOT), **(environment or {})},
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
    for pid in psutil.pids():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if os.getpgid(pid) == number and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
