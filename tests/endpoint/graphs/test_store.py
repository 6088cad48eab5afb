from __future__ import annotations

import errno
import os
import shutil
import signal
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
import rdflib

from endpoint.graphs.change import Change
from endpoint.graphs.store import GraphStore
from endpoint.graphs.writer_process import WriterEnded, WriterProcess
from protocol.errors import ProtocolError

DATA = """
INSERT DATA {
  <http://ex/s> <http://ex/p> "a\\"b\\n", "chat"@fr, 1.5 .
  GRAPH <http://ex/g1> { <http://ex/s> <http://ex/p> <http://ex/o> }
  GRAPH <http://ex/g2> { _:b <http://ex/p> "x"^^<http://ex/type> }
}
"""


@pytest.fixture
def store() -> GraphStore:
    store = GraphStore()
    store.update(DATA)
    return store


def test_quads_of_the_default_graph_are_canonical_n_triples(store: GraphStore) -> None:
    assert set(store.quads()) == {
        ("", "<http://ex/s>", "<http://ex/p>", '"a\\"b\\n"'),
        ("", "<http://ex/s>", "<http://ex/p>", '"chat"@fr'),
        ("", "<http://ex/s>", "<http://ex/p>", '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
    }


def test_names_with_full_stops_and_booleans_in_capitals_are_read_in_updates() -> None:
    store = GraphStore()
    store.update(
        "PREFIX : <http://ex/> INSERT DATA { :s :v1.2.3 TRUE . GRAPH :g.h.i { :s :p :a.b.c:d } } ;"
        "DELETE { GRAPH ?g { ?s :p :a.b.c } } INSERT { GRAPH ?g { ?s :p False } } WHERE { GRAPH ?g { ?s :p :a.b.c:d } }"
    )
    both = {quad[3] for quad in store.quads(graphs=["http://ex/g.h.i"])}
    assert both == {"<http://ex/a.b.c:d>", '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'}
    assert store.quads() == [
        ("", "<http://ex/s>", "<http://ex/v1.2.3>", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>')
    ]


def test_quads_of_one_named_graph_or_of_all(store: GraphStore) -> None:
    one = ("<http://ex/g1>", "<http://ex/s>", "<http://ex/p>", "<http://ex/o>")
    assert store.quads(graphs=["http://ex/g1"]) == [one]
    assert {quad[0] for quad in store.quads(graphs=store.named_graphs())} == {"<http://ex/g1>", "<http://ex/g2>"}
    assert store.quads(graphs=["http://ex/none"]) == []
    assert store.named_graphs() == ["http://ex/g1", "http://ex/g2"]


def test_every_term_that_comes_out_finds_its_quad_again(store: GraphStore) -> None:
    for graphs in (None, store.named_graphs()):
        for quad in store.quads(None, None, None, graphs):
            assert store.quads(*quad[1:], graphs) == [quad]


def test_quads_are_the_same_from_the_process_that_has_the_store_and_from_a_snapshot(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    many = " ".join(f'<http://ex/{n}> <http://ex/many> "{n}"@en-GB .' for n in range(10_001))
    store.update(f"{DATA} ; INSERT DATA {{ {many} GRAPH <http://ex/g1> {{ [] <http://ex/p> '\\u00e4\\n\\t', 1e0 }} }}")

    def read() -> list[object]:
        return [store.named_graphs(), sorted(store.quads()), sorted(store.quads(graphs=store.named_graphs()))]

    asked = read()
    assert store.writer is not None
    assert not list((tmp_path / "store-views").glob("*"))
    store.close()
    store = GraphStore(tmp_path / "store")
    assert read() == asked
    assert store.writer is None
    assert len(store.quads()) == 3 + 10_001
    store.close()


def test_patterns_no_triple_can_match_match_none(store: GraphStore) -> None:
    assert list(store.quads('"literal"', None, None)) == []
    assert list(store.quads(None, '"literal"', None)) == []
    assert list(store.quads(None, "_:b", None)) == []


@pytest.mark.parametrize("text", ["", "nonsense", '"open', "?x"])
def test_what_is_no_term_is_refused(store: GraphStore, text: str) -> None:
    with pytest.raises(ValueError, match=r"not an RDF term|IRI"):
        list(store.quads(None, None, text))


def test_the_version_grows_with_each_change_that_succeeds(store: GraphStore) -> None:
    before = store.version
    store.update("CLEAR ALL")
    cleared = store.version
    assert cleared > before
    with pytest.raises(ProtocolError):
        store.update("CLEAR EVERYTHING")
    with pytest.raises(ProtocolError):
        store.update(
            "INSERT DATA { <http://ex/a> <http://ex/b> 1 } ; CREATE GRAPH <http://ex/x> ; CREATE GRAPH <http://ex/x>"
        )
    assert store.version == cleared
    assert list(store.quads()) == []


def test_the_version_is_settled_when_no_change_is_being_committed(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.update("CLEAR ALL")
    commit, settled = WriterProcess.commit, list[Future[int]]()
    with ThreadPoolExecutor(1) as other:

        def looked_at(self: WriterProcess, version: int) -> bool:
            there = commit(self, version)
            # It is done, and its version is not the store's yet.
            assert (len(store.quads()), store.version < version) == (1, True)
            settled.append(other.submit(lambda: store.settled_version))
            wait(settled, 0.1)
            return there

        monkeypatch.setattr(WriterProcess, "commit", looked_at)
        store.update("INSERT DATA { <http://ex/a> <http://ex/b> 1 }")
        assert settled[0].result() == store.version


def test_what_is_read_after_a_commit_of_which_nobody_knows_is_not_of_the_version_before(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.update("CLEAR ALL")
    before, replaced = store.version, list[int]()
    replace = GraphStore._replace

    def lost(self: WriterProcess, version: int) -> bool:
        raise WriterEnded("it stood still")

    def seen(self: GraphStore, *given: Any) -> None:
        replace(self, *given)
        replaced.append(self.version)

    monkeypatch.setattr(WriterProcess, "commit", lost)
    monkeypatch.setattr(GraphStore, "_replace", seen)
    with pytest.raises(WriterEnded):
        store.update("INSERT DATA { <http://ex/a> <http://ex/b> 1 }")
    # Whoever may yet commit it is ended before there is a version for what is read.
    assert replaced[0] == before < store.version


def test_it_is_known_what_changes_have_touched(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(since: int, graph: str, predicate: str) -> bool:
        return store.touched(since, None if graph == "any" else [graph], f"<{predicate}>")

    monkeypatch.setattr("endpoint.graphs.store._REMEMBERED", 3)
    begin = store.version
    store.update("INSERT DATA { <x:s> <x:p> 1 }")
    first = store.version
    for since, graph, predicate, found in (
        (begin, "", "x:p", True), (begin, "any", "x:p", True), (begin, "", "x:q", False), (begin, "x:g", "x:p", False),
        (first, "", "x:p", False), (begin - 1, "", "x:q", True),
    ):  # fmt: skip
        assert touched(since, graph, predicate) is found
    store.change(Change("DROP SILENT GRAPH <x:g> ; INSERT DATA { GRAPH <x:g> { <x:s> <x:q> 1 } }", within="x:g"))
    assert [touched(begin, *of) for of in (("x:g", "x:r"), ("x:h", "x:p"), ("", "x:p"))] == [True, False, True]
    assert [touched(first, *of) for of in (("x:g", "x:r"), ("", "x:p"))] == [True, False]
    store.update("INSERT DATA { <x:s> <x:r> [] }")
    assert touched(first, "x:h", "x:p")
    last = store.version
    for number in range(3):
        assert not touched(last, "x:h", "x:p")
        store.update(f"INSERT DATA {{ <x:s> <x:q> {number} }}")
    assert not touched(last, "x:h", "x:p")
    store.update("INSERT DATA { <x:s> <x:q> 4 }")
    assert touched(last, "x:h", "x:p"), "it is forgotten"


def test_what_a_change_of_which_nobody_knows_has_touched_may_be_anything(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = store.version
    store.update("INSERT DATA { <x:s> <x:p> 1 }")
    before = store.version
    commit = WriterProcess.commit

    def lost(self: WriterProcess, version: int) -> bool:
        commit(self, version)
        raise WriterEnded("it ended while it committed")

    monkeypatch.setattr(WriterProcess, "commit", lost)
    with pytest.raises(WriterEnded):
        store.update("INSERT DATA { <x:s> <x:q> 1 }")
    monkeypatch.undo()
    assert store.touched(before, [""], "<x:r>")
    store.update("INSERT DATA { <x:s> <x:p> 2 }")
    assert store.touched(begin, [""], "<x:r>")
    assert store.touched(before, [""], "<x:r>")


def test_the_dataset_is_rdflibs(store: GraphStore) -> None:
    assert isinstance(store.dataset, rdflib.Dataset)
    graph = store.dataset.graph(rdflib.URIRef("http://ex/g1"))
    assert (rdflib.URIRef("http://ex/s"), rdflib.URIRef("http://ex/p"), rdflib.URIRef("http://ex/o")) in graph
    assert len(store.dataset.graph(rdflib.URIRef("http://ex/unknown"))) == 0
    assert "http://ex/unknown" not in store.named_graphs()


def test_a_store_in_a_directory_outlives_its_process(tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "deep" / "store")
    store.update(DATA)
    with pytest.raises(OSError, match="store"):
        GraphStore(tmp_path / "deep" / "store")
    store.close()
    del store
    assert len(set(GraphStore(tmp_path / "deep" / "store").quads())) == 3


RDF_XML = (
    '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/"><r:Description r:about=""><e:p>'
)


def test_files_are_loaded_by_their_extension(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<#a> <http://ex/p> 'ä' .", encoding="utf-8")
    (tmp_path / "b.trig").write_text("<http://ex/g> { <http://ex/a> <http://ex/p> 1 }")
    store = GraphStore(load=[tmp_path / "a.ttl", tmp_path / "b.trig"], now=lambda: 1.0)
    assert [quad[3] for quad in store.quads()] == ['"ä"']
    assert store.named_graphs() == ["http://ex/g"]
    assert store.version == 1002


def test_rdf_xml_is_loaded_as_it_is_read_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "a.rdf"
    file.write_text(f"{RDF_XML}a<!-- b -->c</e:p></r:Description></r:RDF>")
    assert [quad[1:] for quad in GraphStore(load=[file]).quads()] == [(f"<{file.as_uri()}>", "<http://ex/p>", '"ac"')]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.ttl", "<http://ex/a> nonsense"), ("a.doc", ""), ("a.rdf", f"{RDF_XML}b</e:p></r:Description>")],
)
def test_a_file_that_is_no_rdf_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"load: .*a\.(ttl|doc|rdf)"):
        GraphStore(load=[tmp_path / name])


@pytest.mark.parametrize("damaged", ["*.sst", "MANIFEST-*", "CURRENT"])
def test_a_store_that_has_lost_a_file_is_not_opened_and_named(damaged: str, tmp_path: Path) -> None:
    store = GraphStore(tmp_path / "store")
    store.update(DATA)
    store.close()
    for file in (tmp_path / "store").glob(damaged):
        if damaged == "CURRENT":
            file.write_bytes(b"")
        else:
            file.unlink()
    with pytest.raises(OSError, match=f"the store in {tmp_path}/store cannot be opened"):
        GraphStore(tmp_path / "store")


def test_a_store_whose_files_are_another_users_is_not_opened_and_says_whose_they_have_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(file: Path, beside: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(file))

    store = GraphStore(tmp_path / "store")
    store.update(DATA)
    store.close()
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refused)
        with pytest.raises(OSError, match=f"the store in {tmp_path}/store cannot be opened.*user that the server runs"):
            GraphStore(tmp_path / "store")
    again = GraphStore(tmp_path / "store")
    assert len(again.dataset) == 5
    again.close()


def test_what_is_left_out_of_the_log_of_a_store_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = GraphStore(tmp_path / "store")
    for number in range(20):
        store.update(f"INSERT DATA {{ <http://ex/s> <http://ex/p> '{number}{'x' * 5000}' }}")
    assert store.writer is not None
    # As after a crash: what is only in the database's own log is there.
    os.kill(store.writer, signal.SIGSTOP)
    for name in ("whole", "damaged"):
        shutil.copytree(tmp_path / "store", tmp_path / name)
    os.kill(store.writer, signal.SIGCONT)
    store.close()
    (log,) = (path for path in (tmp_path / "damaged").glob("*.log") if path.stat().st_size)
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 4
    log.write_bytes(content)
    whole = GraphStore(tmp_path / "whole")
    assert (len(whole.quads()), whole.warnings) == (20, [])
    damaged = GraphStore(tmp_path / "damaged")
    assert len(damaged.quads()) < 20
    assert f"damaged/{log.name}: dropping" in damaged.warnings[0]
    assert "may be lost" in caplog.text


def test_the_version_is_the_same_after_a_restart_and_another_where_something_may_have_been_written(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "store"
    seconds = iter(range(1, 100))

    def opened() -> GraphStore:
        return GraphStore(directory, now=lambda: next(seconds))

    store = opened()
    store.update(DATA)
    version = store.version
    store.close()
    store = opened()
    assert store.version == version
    store.update("INSERT DATA { <http://ex/z> <http://ex/p> 1 }")
    assert store.version > version
    version, told = store.version, []
    store.listen(lambda: told.append(store.version))
    # As if the machine went down between a commit and its note.
    note = (directory / "committed").read_bytes()
    store.update("INSERT DATA { <http://ex/y> <http://ex/p> 1 }")
    assert told == [store.version]
    store.close()
    (directory / "committed").write_bytes(note)
    store = opened()
    assert store.version > told[0]
    store.close()
