"""The examples of applications with an endpoint in them do what their pages say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.examples.example_run import Example
from tests.free_port import free_port

PATIENCE = 600.0


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_flask(tmp_path: Path) -> None:
    example = Example("flask", {"9000": str(free_port())})
    example.run(tmp_path, PATIENCE)
    assert (tmp_path / "names.json").read_text("utf-8").strip() == example.promised(r"page has shown `(.*?)`")
    assert (tmp_path / "answer.csv").read_text("utf-8").split() == [example.promised(r"was opened, `(.*?)`")]


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
def test_fastapi(tmp_path: Path) -> None:
    example = Example("fastapi", {"9000": str(free_port())})
    example.run(tmp_path, PATIENCE)
    assert (tmp_path / "warm.json").read_text("utf-8").strip() == example.promised(r"has answered `(.*?)`")
