"""Clients that know nothing of streams, against a running endpoint under uvicorn and under Flask: reading, writing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.dom.minidom import Document, Text

import pytest
import rdflib
from rdflib import RDF, XSD, Dataset, Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import (
    CSV,
    GET,
    JSON,
    JSONLD,
    N3,
    POST,
    POSTDIRECTLY,
    RDFXML,
    TSV,
    TURTLE,
    URLENCODED,
    XML,
    SPARQLWrapper,
)
from SPARQLWrapper.SPARQLExceptions import QueryBadFormed

from tests.server.one_shot_server import PREFIXES, one_shot_server

pytestmark = pytest.mark.server

EX = rdflib.Namespace("http://ex/")
COMUNICA = Path(__file__).with_name("comunica")


@pytest.fixture(scope="module", params=PREFIXES)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with one_shot_server(request.param) as running:
        yield running


@pytest.fixture
def graph() -> URIRef:
    """A name that no other test uses."""
    return URIRef(f"http://ex/graphs/{uuid.uuid4()}")


def wrapper(url: str, query: str, form: str = GET, sent: str = URLENCODED) -> SPARQLWrapper:
    made = SPARQLWrapper(f"{url}/sparql")
    made.setMethod(form)
    made.setRequestMethod(sent)
    made.setQuery(query)
    return made


def update(url: str, text: str, sent: str = URLENCODED) -> None:
    wrapper(url, text, POST, sent).query()


# SPARQLWrapper


@pytest.mark.parametrize(("form", "sent"), [(GET, URLENCODED), (POST, URLENCODED), (POST, POSTDIRECTLY)])
@pytest.mark.parametrize("media", [JSON, XML, CSV, TSV])
def test_sparqlwrapper_reads_solutions(url: str, graph: URIRef, form: str, sent: str, media: str) -> None:
    update(url, f'INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> <http://ex/p> "é+%", 1 }} }}')
    asked = wrapper(url, f"SELECT ?o FROM <{graph}> {{ ?s ?p ?o }} ORDER BY DATATYPE(?o)", form, sent)
    asked.setReturnFormat(media)
    answered: Any = asked.query().convert()
    if media == JSON:
        values = [row["o"]["value"] for row in answered["results"]["bindings"]]
    elif media == XML:
        assert isinstance(answered, Document)
        values = [
            child.data
            for node in answered.getElementsByTagName("literal")
            for child in node.childNodes
            if isinstance(child, Text)
        ]
    else:
        values = [line.strip('"') for line in answered.decode().splitlines()[1:]]
    assert sorted(values) == ["1", "é+%"]


@pytest.mark.parametrize("media", [JSON, XML])
def test_sparqlwrapper_asks(url: str, media: str) -> None:
    asked = wrapper(url, "ASK {}")
    asked.setReturnFormat(media)
    answered: Any = asked.query().convert()
    assert (answered["boolean"] if media == JSON else "true" in answered.toxml()) in (True,)


# SPARQLWrapper's own: it reads RDF/XML and JSON-LD into a class that rdflib has deprecated.
@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
@pytest.mark.parametrize("media", [TURTLE, N3, RDFXML, XML, JSONLD])
@pytest.mark.parametrize("form", ["CONSTRUCT", "DESCRIBE"])
def test_sparqlwrapper_reads_graphs(url: str, media: str, form: str) -> None:
    update(url, "INSERT DATA { <http://ex/described> <http://ex/p> 'constructed' }")
    what = {
        "CONSTRUCT": "CONSTRUCT WHERE { <http://ex/described> ?p ?o }",
        "DESCRIBE": "DESCRIBE <http://ex/described>",
    }
    asked = wrapper(url, what[form])
    asked.setReturnFormat(media)
    answered: Any = asked.query().convert()
    if not isinstance(answered, Graph):
        answered = Graph().parse(data=answered, format="turtle")
    assert (EX.described, EX.p, Literal("constructed")) in answered


@pytest.mark.parametrize("sent", [URLENCODED, POSTDIRECTLY])
def test_sparqlwrapper_updates(url: str, graph: URIRef, sent: str) -> None:
    update(url, f"INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> <http://ex/p> 1, 2 }} }}", sent)
    update(url, f"DELETE {{ GRAPH ?g {{ ?s ?p 1 }} }} WHERE {{ GRAPH ?g {{ ?s ?p 1 }} FILTER(?g = <{graph}>) }}", sent)
    asked = wrapper(url, f"SELECT ?o FROM <{graph}> {{ ?s ?p ?o }}")
    asked.setReturnFormat(JSON)
    answered: Any = asked.query().convert()
    assert [row["o"]["value"] for row in answered["results"]["bindings"]] == ["2"]


def test_sparqlwrapper_names_the_dataset(url: str, graph: URIRef) -> None:
    update(url, f"INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> <http://ex/p> 'only here' }} }}")
    asked = wrapper(url, "SELECT ?o { ?s ?p ?o }")
    asked.addDefaultGraph(str(graph))
    asked.setReturnFormat(JSON)
    answered: Any = asked.query().convert()
    assert [row["o"]["value"] for row in answered["results"]["bindings"]] == ["only here"]


def test_sparqlwrapper_is_told_of_a_syntax_error(url: str) -> None:
    with pytest.raises(QueryBadFormed, match="line"):
        wrapper(url, "SELECT WHERE").query()


# rdflib's stores


@pytest.mark.parametrize("method", ["GET", "POST", "POST_FORM"])
@pytest.mark.parametrize("media", ["json", "xml", "csv", "tsv"])
def test_rdflibs_store_reads(url: str, graph: URIRef, method: Any, media: str) -> None:
    update(url, f"INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> a <http://ex/C> ; <http://ex/p> 1, 'é'@fr }} }}")
    store = SPARQLStore(f"{url}/sparql", method=method, returnFormat=media)
    remote = Graph(store, identifier=graph)
    assert len(remote) == 3
    assert remote.value(EX.s, RDF.type) == EX.C
    rows = {row.o for row in remote.query("SELECT ?o { ?s <http://ex/p> ?o }")}  # type: ignore[union-attr]
    if media == "csv":  # CSV knows no kinds of terms
        assert {str(row) for row in rows} == {"1", "é"}
    else:
        assert rows == {Literal("1", datatype=XSD.integer), Literal("é", lang="fr")}
        assert set(remote.objects(EX.s, EX.p)) == rows
    if media in ("json", "xml"):  # the others have no form for it
        assert remote.query("ASK { ?s a <http://ex/C> }").askAnswer is True


def test_rdflibs_store_reads_named_graphs_and_constructs(url: str, graph: URIRef) -> None:
    update(url, f"INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> <http://ex/p> <http://ex/o> }} }}")
    store = SPARQLStore(f"{url}/sparql")
    assert graph in set(store.contexts())
    assert graph in set(store.contexts((EX.s, EX.p, EX.o)))
    built = Graph(store).query(f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}").graph
    assert built is not None
    assert set(built) == {(EX.s, EX.p, EX.o)}


def test_rdflibs_update_store_writes_and_removes(url: str, graph: URIRef) -> None:
    remote = Graph(SPARQLUpdateStore(f"{url}/sparql", f"{url}/sparql"), identifier=graph)
    remote.add((EX.s, EX.p, Literal('one "quoted"\n\\ line', lang="en")))
    remote.addN([(EX.s, EX.p, Literal(number), remote) for number in range(100)])
    remote.bind("ex", EX)
    remote.update("INSERT { ex:t ex:p ?o } WHERE { ex:s ex:p ?o FILTER(ISNUMERIC(?o)) }")
    assert len(remote) == 201
    assert (EX.s, EX.p, Literal('one "quoted"\n\\ line', lang="en")) in remote
    remote.remove((EX.s, None, None))
    assert set(remote.subjects()) == {EX.t}
    remote.remove((None, None, None))
    assert len(remote) == 0


def test_rdflibs_update_store_writes_named_graphs_in_one_transaction(url: str, graph: URIRef) -> None:
    store = SPARQLUpdateStore(f"{url}/sparql", f"{url}/sparql", autocommit=False)
    remote = Dataset(store)
    other = URIRef(f"{graph}/other")
    for name in (graph, other):
        remote.graph(name).add((EX.s, EX.p, name))
    seen = Graph(SPARQLStore(f"{url}/sparql"), identifier=graph)
    assert len(seen) == 0
    store.commit()
    assert set(seen) == {(EX.s, EX.p, graph)}
    remote.remove_graph(other)
    store.commit()
    assert not Graph(SPARQLStore(f"{url}/sparql"), identifier=other)


def test_an_rdflib_query_asks_the_endpoint_as_a_service(url: str, graph: URIRef) -> None:
    update(url, f"INSERT DATA {{ <http://ex/s> <{graph}> 'far' }}")
    local = Graph().add((EX.s, EX.near, Literal("near")))
    query = f"SELECT ?near ?far {{ ?s <http://ex/near> ?near SERVICE <{url}/sparql> {{ ?s <{graph}> ?far }} }}"
    assert [tuple(map(str, row)) for row in local.query(query)] == [("near", "far")]  # type: ignore[arg-type]


# Comunica


class Comunica:
    """Comunica in one Node.js process, which takes seconds to load it (``comunica/run.mjs`` says what requests are)."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def __call__(self, *requests: dict[str, Any]) -> list[Any]:
        to, of = self._process.stdin, self._process.stdout
        assert to is not None
        assert of is not None
        late = threading.Timer(120, self._process.kill)
        late.start()
        try:
            print(json.dumps(requests), file=to, flush=True)
            line = of.readline()
        finally:
            late.cancel()
        assert line, self._log.read_text()
        answers: list[Any] = json.loads(line)
        return answers


@pytest.fixture(scope="session")
def comunica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comunica]:
    """Its packages are installed once for each lock file, below the user's cache directory."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node.js (node and npm) is not installed: the machine's, not a fault of the endpoint")
    lock = (COMUNICA / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparql-streams"
    packages = cache / f"comunica-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not packages.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, ignore_cleanup_errors=True) as made:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(COMUNICA / name, made)
            installed = subprocess.run(
                ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                cwd=made, capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            if installed.returncode != 0:
                pytest.skip(
                    f"npm cannot install Comunica: the machine's network, not a fault: {installed.stderr[-300:]}"
                )
            os.rename(made, packages)
            os.mkdir(made)
    log = tmp_path_factory.mktemp("comunica") / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            ["node", str(COMUNICA / "run.mjs"), str(packages)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        ) as process,
    ):  # fmt: skip
        try:
            yield Comunica(process, log)
        finally:
            # That its input ends it may never hear: processes that were forked meanwhile hold the other end, too.
            process.kill()


def source(url: str) -> list[dict[str, str]]:
    return [{"type": "sparql", "value": f"{url}/sparql"}]


def test_comunica_reads(url: str, graph: URIRef, comunica: Comunica) -> None:
    # Without a language tag: Comunica 4.5 takes it apart from two versions of its own packages, and loses it.
    update(url, f"INSERT DATA {{ GRAPH <{graph}> {{ <http://ex/s> <http://ex/p> 'é', 2 ; <http://ex/q> [] }} }}")
    inside = f"GRAPH <{graph}> {{ <http://ex/s> ?p ?o }}"
    there = {"sources": source(url)}
    rows, joined, yes, no, quads = comunica(
        {"kind": "bindings", "query": f"SELECT ?o {{ {inside} FILTER(ISLITERAL(?o)) }} ORDER BY ?o", **there},
        {"kind": "bindings", "query": f"SELECT (COUNT(*) AS ?n) {{ {inside} OPTIONAL {{ ?o ?x ?y }} }}", **there},
        {"kind": "boolean", "query": f"ASK {{ {inside} }}", **there},
        {"kind": "boolean", "query": f"ASK {{ GRAPH <{graph}> {{ <http://ex/nothing> ?p ?o }} }}", **there},
        {"kind": "quads", "query": f"CONSTRUCT {{ <http://ex/s> ?p ?o }} {{ {inside} }}", **there},
    )
    integer = f"^^{XSD.integer}"
    assert sorted(row["o"] for row in rows) == sorted(['"é"', f'"2"{integer}'])
    assert joined == [{"n": f'"3"{integer}'}]
    assert (yes, no) == (True, False)
    assert len(quads) == 3
    assert {quad[1] for quad in quads} == {"http://ex/p", "http://ex/q"}


def test_comunica_joins_the_endpoint_with_another_source(url: str, graph: URIRef, comunica: Comunica) -> None:
    update(url, f"INSERT DATA {{ <{graph}> <http://ex/floor> 1 }}")
    document = {"type": "serialized", "value": f"<{graph}> <http://ex/label> 'kitchen' .",
                "mediaType": "text/turtle", "baseIRI": "http://ex/"}  # fmt: skip
    query = f"SELECT ?label ?floor {{ <{graph}> <http://ex/label> ?label ; <http://ex/floor> ?floor }}"
    service = f"""SELECT ?label ?floor {{ <{graph}> <http://ex/label> ?label
        SERVICE <{url}/sparql> {{ <{graph}> <http://ex/floor> ?floor }} }}"""
    expected = [{"label": '"kitchen"', "floor": f'"1"^^{XSD.integer}'}]
    assert comunica(
        {"kind": "bindings", "query": query, "sources": [document, *source(url)]},
        {"kind": "bindings", "query": service, "sources": [document]},
    ) == [expected, expected]


def test_comunica_writes(url: str, graph: URIRef, comunica: Comunica) -> None:
    subject, inside = f"<{graph}#s>", f"GRAPH <{graph}>"
    written = {"kind": "update", "sources": source(url), "destination": source(url)[0]}
    counted = {"kind": "bindings", "sources": source(url)}
    count = f"SELECT (COUNT(*) AS ?n) {{ {inside} {{ ?s ?p ?o }} }}"
    copy = f"INSERT {{ {subject} <http://ex/moved> ?o }} WHERE {{ {inside} {{ ?s ?p ?o }} }}"
    _, inserted, _, deleted, _, moved = comunica(
        {**written, "query": f"INSERT DATA {{ {inside} {{ {subject} <http://ex/p> 1, 'é' }} }}"},
        {**counted, "query": count},
        {**written, "query": f"DELETE DATA {{ {inside} {{ {subject} <http://ex/p> 1 }} }}"},
        {**counted, "query": count},
        {**written, "query": copy},
        {**counted, "query": f"SELECT ?o {{ {subject} <http://ex/moved> ?o }}"},
    )
    integer = f"^^{XSD.integer}"
    assert (inserted, deleted, moved) == ([{"n": f'"2"{integer}'}], [{"n": f'"1"{integer}'}], [{"o": '"é"'}])
