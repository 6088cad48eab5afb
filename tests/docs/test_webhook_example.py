"""The example of a webhook does what its page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.example_run import Example, endpoint_of_its_own, free_port


@pytest.mark.server
@pytest.mark.spark
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    example = Example("webhook", {"9000": str(free_port()), **endpoint_of_its_own()})
    example.run(tmp_path, 150)
    assert (tmp_path / "alerts.txt").read_text("utf-8") == example.promised(r"has printed `(.*?)`") + "\n"
