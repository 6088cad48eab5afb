"""``create_app(functions=…)``: queries and updates call them, in the processes that evaluate."""

from __future__ import annotations

import pytest

from endpoint import Settings, create_app
from protocol.functions.geosparql import GEOF
from tests.application_functions import IRI, OF_TERMS
from tests.endpoint.asgi_client import TestClient
from tests.endpoint.fake_backend import FakeBackend

PREFIX = f"PREFIX f: <{IRI}>"


def test_in_queries_and_updates() -> None:
    app = create_app(Settings(threads=2, readers=1, max_readers=1), functions=OF_TERMS, backend=FakeBackend())
    with TestClient(app) as client:
        client.post(
            "/sparql",
            data={"update": f"{PREFIX} INSERT {{ <urn:s> <urn:p> ?r }} WHERE {{ BIND(f:described('x'@en) AS ?r) }}"},
        ).raise_for_status()
        query = f"{PREFIX} SELECT (f:same(?o) AS ?a) (f:picky(1, 2) AS ?b) (f:picky(2, 2) AS ?c) {{ ?s ?p ?o }}"
        answer = client.get("/sparql", params={"query": query}).json()
        (solution,) = answer["results"]["bindings"]
        assert {name: term["value"] for name, term in solution.items()} == {"a": "literal x en None", "c": "4"}
        description = client.get("/sparql", headers={"Accept": "application/n-triples"}).text
        assert f"#extensionFunction> <{IRI}picky>" in description
        assert f"#extensionFunction> <{GEOF}sfContains>" in description


def test_what_cannot_be_a_function_is_refused_where_it_is_given() -> None:
    with pytest.raises(ValueError, match=r"functions: <urn:f>: .*lambda"):
        create_app(Settings(), functions={"urn:f": lambda term: term}, backend=FakeBackend())
