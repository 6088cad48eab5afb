"""The applications that the documentation embeds an endpoint in are served."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.docs.pages import DOCS, page
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

PYTHON = page(DOCS / "embedding.md").blocks_of("python")
ASK = "/sparql?query=ASK%20%7B%7D"


@pytest.fixture
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an example keeps its data. The backend is one in memory: what is shown here is the mounting."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("endpoint.app.spark_backend", lambda *_: FakeBackend())


@pytest.fixture
def run(in_a_folder_of_its_own: None) -> Iterator[Any]:
    """Runs the block that imports a package; Flask's endpoint is stopped at the end."""
    made: list[dict[str, Any]] = []

    def module(package: str) -> dict[str, Any]:
        (block,) = [block for block in PYTHON if f"from {package}" in block.text]
        Path("myapp.py").write_text(block.text)
        made.append(runpy.run_path("myapp.py", run_name="myapp"))
        return made[-1]

    yield module
    for names in made:
        if isinstance(names["app"], Flask):
            names["endpoint"].stop()


def test_there_is_one_for_each() -> None:
    assert len(PYTHON) == 3


@pytest.mark.parametrize("package", ["starlette.applications", "fastapi"])
def test_mounted(run: Any, package: str) -> None:
    with TestClient(run(package)["app"]) as client:
        assert client.get(f"/rdf{ASK}").json()["boolean"] is True
        created = client.put("/rdf/streams/s", json={"time": "event"})
        assert created.json()["iri"] == "http://127.0.0.1:9000/rdf/streams/s"


def test_flask(run: Any, tmp_path: Path) -> None:
    client = run("flask")["app"].test_client()
    assert client.get(f"/sparql-streams{ASK}").get_json()["boolean"] is True
    client.post("/sparql-streams/sparql", data={"update": "INSERT DATA { <urn:s> <urn:p> 1 }"})
    assert client.get("/").text == "1 triples"
    assert (tmp_path / "rdf-data").is_dir()
