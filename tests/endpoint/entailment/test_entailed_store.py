"""The process that infers may end, stand still or find no room: an error for who asks then, and no more."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox
import pytest

from endpoint.entailment.entailed_store import ClosureFailed, ClosureTooLarge, EntailedStore
from endpoint.graphs.store import GraphStore
from endpoint.processes.frames import Connection
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, Unavailable

SCHEMA = "PREFIX : <http://ex/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
CAT, ANIMAL = ox.NamedNode("http://ex/Cat"), ox.NamedNode("http://ex/Animal")
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


@pytest.fixture
def graphs(tmp_path: Path) -> Iterator[GraphStore]:
    store = GraphStore(tmp_path / "store")
    store.update(f"{SCHEMA} INSERT DATA {{ :Cat rdfs:subClassOf :Animal . :tom a :Cat }}")
    yield store
    store.close()


def made(graphs: GraphStore, tmp_path: Path, **limits: float) -> EntailedStore:
    return EntailedStore(graphs, Regime.RDFS, (), tmp_path / "entailed", **limits)  # type: ignore[arg-type]


def animals(store: EntailedStore, directory: Path) -> set[str]:
    """Those of a snapshot that is made there."""
    store.backup(directory)
    found = ox.Store.read_only(str(directory)).quads_for_pattern(None, TYPE, ANIMAL, ox.DefaultGraph())
    return {str(quad.subject) for quad in found}


def test_one_that_was_killed_is_started_again_and_knows_what_it_knew(graphs: GraphStore, tmp_path: Path) -> None:
    store = made(graphs, tmp_path)
    assert animals(store, tmp_path / "1") == {"<http://ex/tom>"}
    assert store.process is not None
    os.kill(store.process, signal.SIGKILL)
    graphs.update(f"{SCHEMA} INSERT DATA {{ :ann a :Cat }}")
    with suppress(Unavailable):  # whether its end was seen in time is chance
        store.backup(tmp_path / "2")
    assert animals(store, tmp_path / "3") == {"<http://ex/tom>", "<http://ex/ann>"}
    store.end()


def test_one_that_is_killed_while_it_infers_is_an_error_of_who_asked(
    graphs: GraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = made(graphs, tmp_path)
    animals(store, tmp_path / "1")
    process = store.process
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    graphs.update(f"{SCHEMA} INSERT DATA {{ :ann a :Cat }}")
    told: list[ProtocolError] = []
    asked, send = threading.Event(), Connection.send

    def ask() -> None:
        try:
            store.backup(tmp_path / "2")
        except ProtocolError as error:
            told.append(error)

    def sent(connection: Connection, question: bytes) -> None:
        send(connection, question)
        if str(tmp_path / "2").encode() in question:
            asked.set()

    monkeypatch.setattr(Connection, "send", sent)
    asking = threading.Thread(target=ask)
    asking.start()
    assert asked.wait(30)
    os.kill(process, signal.SIGKILL)
    asking.join()
    (error,) = told
    assert isinstance(error, Unavailable)
    assert "was ended from outside (SIGKILL)" in error.detail
    assert animals(store, tmp_path / "3") == {"<http://ex/tom>", "<http://ex/ann>"}
    store.end()
    assert store.process is None
    assert not (tmp_path / "entailed").exists()


def test_one_that_stands_still_is_ended(graphs: GraphStore, tmp_path: Path) -> None:
    store = made(graphs, tmp_path, frozen_after=1)
    animals(store, tmp_path / "1")
    assert store.process is not None
    os.kill(store.process, signal.SIGSTOP)
    graphs.update(f"{SCHEMA} INSERT DATA {{ :ann a :Cat }}")
    with pytest.raises(ClosureFailed, match="stood still"):
        store.backup(tmp_path / "2")
    assert animals(store, tmp_path / "3") == {"<http://ex/tom>", "<http://ex/ann>"}
    store.end()


def test_what_takes_more_memory_than_it_may_is_refused(graphs: GraphStore, tmp_path: Path) -> None:
    chain = " ".join(f":C{number} rdfs:subClassOf :C{number + 1} ." for number in range(3000))
    graphs.update(f"{SCHEMA} INSERT DATA {{ {chain} }}")
    store = made(graphs, tmp_path, memory=300_000_000)
    with pytest.raises(ClosureTooLarge, match=r"needs more than .* of memory: ask with entailment=none"):
        store.backup(tmp_path / "1")
    graphs.update("CLEAR DEFAULT")
    assert animals(store, tmp_path / "2") == set()
    store.end()


def test_where_a_snapshot_cannot_be_written_the_next_one_may(graphs: GraphStore, tmp_path: Path) -> None:
    store = made(graphs, tmp_path)
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(ProtocolError):
        store.backup(tmp_path / "taken" / "snapshot")
    assert animals(store, tmp_path / "1") == {"<http://ex/tom>"}
    store.end()
