"""The example of MQTT does what its page says."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

import pytest

from tests.docs.example_run import run_commands
from tests.docs.pages import DOCS
from tests.endpoint.sources.broker import MOSQUITTO, needs_mosquitto

README = (DOCS / "examples" / "mqtt" / "README.md").read_text("utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_page_is_short() -> None:
    assert len(README.splitlines()) < 30


@needs_mosquitto
@pytest.mark.server
@pytest.mark.spark
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    assert MOSQUITTO is not None
    (commands,) = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    (promised,) = re.findall(r"The answer is `(.*?)`", README)
    endpoint = free_port()
    commands = commands.replace("1883", str(free_port())).replace("localhost:8000", f"127.0.0.1:{endpoint}")
    commands = commands.replace("sparql-streams serve", f"{sys.executable} -m endpoint.cli serve --port {endpoint}")
    run_commands(commands, tmp_path, 250, {"PATH": f"{os.environ['PATH']}:{Path(MOSQUITTO).parent}"})
    assert (tmp_path / "answer.csv").read_text("utf-8").split() == [promised]
