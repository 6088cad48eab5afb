"""What a command does where its standard streams are closed or full, and at Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from endpoint.cli import main
from endpoint.cli.standard_streams import announce

FULL = Path("/dev/full")
only_with_full = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")


def ended(*arguments: str, before: Callable[[], None] | None = None, output: Path | None = None) -> tuple[int, str]:
    """What a command ended with, and what it said on standard error."""
    command = [sys.executable, "-m", "endpoint.cli", *arguments]
    # With a buffer, whose rest is written when the interpreter ends.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with (output or Path(os.devnull)).open("wb") as out:
        process = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=before
        )
    return process.returncode, process.stderr


@only_with_full
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("streams", "--help")])
def test_what_a_full_disk_does_not_take_is_told_in_one_line(arguments: tuple[str, ...]) -> None:
    assert ended(*arguments, output=FULL) == (1, "Error: No space left on device\n")


@only_with_full
def test_an_announcement_that_nobody_takes_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with FULL.open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        announce("here")
        announce("still here")


def test_a_question_that_is_to_come_from_closed_input_is_missed() -> None:
    status, told = ended("query", before=lambda: os.close(0))
    assert status == 2
    assert told.endswith("Error: standard input is empty: a query was expected\n")


def test_a_command_does_its_work_where_its_output_is_closed() -> None:
    assert ended("--version", before=lambda: os.closerange(0, 2)) == (0, "")


def interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", ["query", "subscribe"])
def test_every_client_ends_alike_at_ctrl_c(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(sys.modules[f"endpoint.cli.{command}"], "query_text", interrupted)
    result = CliRunner().invoke(main, [command, "ASK {}"])
    assert (result.exit_code, result.output) == (130, "")
