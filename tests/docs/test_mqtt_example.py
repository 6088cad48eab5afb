"""The example of MQTT does what its page says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.example_run import Example, endpoint_of_its_own, free_port, needs
from tests.endpoint.sources.broker import MOSQUITTO, needs_mosquitto


@needs_mosquitto
@needs("mosquitto_pub")
@pytest.mark.server
@pytest.mark.spark
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    assert MOSQUITTO is not None
    example = Example("mqtt", {"1883": str(free_port()), **endpoint_of_its_own()})
    example.run(tmp_path, 250, {"PATH": f"{os.environ['PATH']}:{Path(MOSQUITTO).parent}"})
    assert (tmp_path / "answer.csv").read_text("utf-8").split() == [example.promised(r"The answer is `(.*?)`")]
