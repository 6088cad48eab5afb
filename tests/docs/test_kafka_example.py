"""The example of Kafka does what its page says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.example_run import Example, endpoint_of_its_own
from tests.endpoint.sources.kafka_broker import KafkaBroker, write_scripts


@pytest.mark.server
@pytest.mark.spark
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    with KafkaBroker(tmp_path / "broker") as broker:
        example = Example("kafka", {"localhost:9092": broker.address, **endpoint_of_its_own()})
        scripts = write_scripts(tmp_path / "scripts")
        folder = tmp_path / "example"
        folder.mkdir()
        example.run(folder, 400, {"PATH": f"{scripts}:{os.environ['PATH']}"})
    assert (folder / "answer.txt").read_text("utf-8").strip() == example.promised(r"The answer is `(.*?)`")
