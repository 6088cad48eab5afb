"""The applications that the documentation embeds an endpoint in are served."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from rdflib import RDFS, Literal, URIRef

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
    assert len(PYTHON) == 5


@pytest.mark.parametrize("package", ["starlette.applications", "fastapi"])
def test_mounted(run: Any, package: str) -> None:
    with TestClient(run(package)["app"]) as client:
        assert client.get(f"/rdf{ASK}").json()["boolean"] is True
        created = client.put("/rdf/streams/s", json={"time": "event"})
        assert created.json()["iri"] == "http://127.0.0.1:9000/rdf/streams/s"


@pytest.fixture
def imported(in_a_folder_of_its_own: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports the block with a line as a module, whose functions other processes find by its name."""
    monkeypatch.syspath_prepend(Path.cwd())
    made: list[str] = []

    def module(name: str, line: str) -> Any:
        (block,) = [block for block in PYTHON if line in block.text.splitlines()]
        Path(f"{name}.py").write_text(block.text)
        made.append(name)
        return importlib.import_module(name)

    yield module
    for name in made:
        del sys.modules[name]


def test_in_place_of_rdflib_endpoint(imported: Any) -> None:
    rooms = imported("rooms", "from endpoint.rdflib_endpoint import DatasetExt, SparqlEndpoint")
    query = (
        "PREFIX func: <urn:sparql-function:> "
        "SELECT ?name { ?s ?p ?label BIND(func:shout(?label) AS ?name) } ORDER BY ?name"
    )
    with TestClient(rooms.app) as client:
        rooms.ds.default_graph.add((URIRef("http://example.org/hall"), RDFS.label, Literal("hall")))
        answer = client.get("/", params={"query": query}, headers={"Accept": "application/json"}).json()
        assert [one["name"]["value"] for one in answer["results"]["bindings"]] == ["HALL!", "KITCHEN!"]
        assert client.get("/hello").status_code == 200
        assert client.put("/streams/s").status_code == 201


def test_functions_in_python(imported: Any) -> None:
    query = (
        "SELECT (<http://example.org/fahrenheit>(20) AS ?f) "
        "(<http://example.org/page>(<http://example.org/s/7>) AS ?p) {}"
    )
    with TestClient(imported("sensors", "from rdflib import Literal, URIRef").app) as client:
        (solution,) = client.get("/sparql", params={"query": query}).json()["results"]["bindings"]
    assert {name: term["value"] for name, term in solution.items()} == {"f": "68", "p": "https://example.org/sensors/7"}


def test_flask(run: Any, tmp_path: Path) -> None:
    client = run("flask")["app"].test_client()
    assert client.get(f"/sparql-streams{ASK}").get_json()["boolean"] is True
    client.post("/sparql-streams/sparql", data={"update": "INSERT DATA { <urn:s> <urn:p> 1 }"})
    assert client.get("/").text == "1 triples"
    assert (tmp_path / "rdf-data").is_dir()
