"""What a command does where its standard streams are closed or full, with what is no text, and at Ctrl-C."""

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


def ended(
    *arguments: str, before: Callable[[], None] | None = None, output: Path | None = None, **variables: str
) -> tuple[int, str]:
    """What a command ended with, and what it said on standard error."""
    command = [sys.executable, "-m", "endpoint.cli", *arguments]
    # With a buffer, whose rest is written when the interpreter ends.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | variables
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("streams", "show", "x\udcff"), "the last character of 'x\\udcff' cannot be written in utf-8"),
        (("query", "ASK {}", "--since", "x\udcff"), "the last character of 'x\\udcff' cannot be written in utf-8"),
        (("query", 'ASK { ?s ?p "\udcff" }'), "the query is not UTF-8 (line 1)"),
        (("register", "name", 'ASK { ?s ?p "\udcff" }'), "the query is not UTF-8 (line 1)"),
    ],
)
def test_an_argument_that_is_no_text_is_told_in_one_line(arguments: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code in (1, 2)
    assert result.output.endswith(f"Error: {told}\n")


def test_what_the_terminal_cannot_show_is_told_in_one_line() -> None:
    status, told = ended("subscribe", "--help", PYTHONIOENCODING="latin-1")
    assert status == 1
    assert told.startswith("Error: the last character of ")
    assert told.endswith("\\u2026' cannot be written in latin-1\n")
    assert told.count("\n") == 1


@pytest.mark.parametrize("server", ["http://a:x", "http://a..b", f"http://{'a' * 70}", "http://a/?b", "http://\udcff"])
def test_a_server_that_is_no_url_is_named(server: str) -> None:
    result = CliRunner().invoke(main, ["streams", "--server", server])
    assert result.exit_code == 2
    assert "is not a URL such as http://127.0.0.1:8000" in result.output


def interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", ["query", "subscribe"])
def test_every_client_ends_alike_at_ctrl_c(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(sys.modules[f"endpoint.cli.{command}"], "query_text", interrupted)
    result = CliRunner().invoke(main, [command, "ASK {}"])
    assert (result.exit_code, result.output) == (130, "")
