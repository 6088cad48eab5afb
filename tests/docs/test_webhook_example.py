"""The example of a webhook does what its page says."""

from __future__ import annotations

import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.docs.example_run import run_commands
from tests.docs.pages import DOCS

FOLDER = DOCS / "examples" / "webhook"
README = (FOLDER / "README.md").read_text("utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_page_is_short() -> None:
    assert len(README.splitlines()) < 30


@pytest.mark.server
@pytest.mark.spark
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    (commands,) = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    (promised,) = re.findall(r"has printed `(.*?)`", README)
    shutil.copy(FOLDER / "receiver.py", tmp_path)
    endpoint = free_port()
    commands = commands.replace("9000", str(free_port())).replace("localhost:8000", f"127.0.0.1:{endpoint}")
    commands = commands.replace("sparql-streams serve", f"{sys.executable} -m endpoint.cli serve --port {endpoint}")
    commands = commands.replace("python3 ", f"{sys.executable} ")
    run_commands(commands, tmp_path, 150)
    assert (tmp_path / "alerts.txt").read_text("utf-8") == f"{promised}\n"
