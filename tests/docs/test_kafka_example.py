"""The example of Kafka does what its page says."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.endpoint.sources.kafka_broker import KafkaBroker, write_scripts

README = (DOCS / "examples" / "kafka" / "README.md").read_text("utf-8")


def test_the_page_is_short() -> None:
    assert len(README.splitlines()) < 30


@pytest.mark.server
@pytest.mark.spark
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = probe.getsockname()[1]
    (commands,) = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    (promised,) = re.findall(r"The answer is `(.*?)`", README)
    with KafkaBroker(tmp_path / "broker") as broker:
        commands = commands.replace("localhost:9092", broker.address).replace("localhost:8000", f"127.0.0.1:{endpoint}")
        commands = commands.replace("sparql-streams serve", f"{sys.executable} -m endpoint.cli serve --port {endpoint}")
        scripts = write_scripts(tmp_path / "scripts")
        run = subprocess.run(
            ["bash", "-c", f"set -eu\ntrap 'kill $(jobs -p)' EXIT\n{commands}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{scripts}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=400,
        )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "answer.txt").read_text("utf-8").strip() == promised
