"""Queries and the store: what they read of it, also while it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from protocol.errors import UnsupportedFeature
from protocol.evaluations import Ended
from protocol.language.model import ContinuousQuery
from protocol.sparql.dataset import NONE_REQUESTED, RequestedGraphs
from protocol.windows.spec import StreamWindow
from spark_backend.compiler.plan import Plan
from spark_backend.registry import Registry
from spark_backend.statics.graphs import Quad
from tests.spark_backend.engine_side import EX, LABELLED, answers, files, post
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend


def label(name: str) -> tuple[str, str, str, str]:
    return ("", f"<{EX}{name}>", f"<{EX}label>", '"l"')


def test_a_change_of_the_store_is_seen_from_the_next_evaluation_on(stepped: SteppedBackend) -> None:
    stepped.register("q", LABELLED)
    post(stepped, 1, 3)
    stepped.run()
    stepped.graphs.set([label("e3"), label("e5")])
    stepped.backend.store_changed()
    post(stepped, 5)
    stepped.run()
    stepped.graphs.set([])
    stepped.backend.store_changed()
    post(stepped, 7)
    stepped.run()
    assert answers(stepped) == {2: [], 4: ["e3"], 6: []}


def test_a_change_of_the_store_while_a_query_is_registered_is_seen(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_query = stepped.backend._preparation.compile

    def changed_meanwhile(query: ContinuousQuery, windows: tuple[StreamWindow, ...]) -> Plan:
        plan = compile_query(query, windows)
        if not stepped.graphs.version:
            stepped.graphs.set([label("e1")])
            stepped.backend.store_changed()
        return plan

    monkeypatch.setattr(stepped.backend._preparation, "compile", changed_meanwhile)
    stepped.register("q", LABELLED)
    post(stepped, 1, 3)
    stepped.run()
    assert answers(stepped) == {2: ["e1"]}


def test_a_change_that_touches_no_querys_triples_prepares_nothing_anew(tmp_path: Path, stepped: SteppedBackend) -> None:
    stepped.graphs.set([label("e1")])
    stepped.register("q", LABELLED)
    stepped.register("without", f"SELECT ?s FROM STREAM <{EX}s> [RANGE 2] WHERE {{ ?s a <{EX}T> }}")
    before, prepared = files(tmp_path), sorted(path.name for path in (tmp_path / "queries").iterdir())
    stepped.graphs.set([label("e1"), ("", f"<{EX}x>", f"<{EX}y>", f"<{EX}z>")])
    stepped.backend.store_changed()
    assert files(tmp_path) == before
    assert sorted(path.name for path in (tmp_path / "queries").iterdir()) == prepared


@pytest.mark.parametrize("prepared", [True, False])
def test_a_change_of_the_store_that_could_not_be_written_down_is_seen_once_it_can_be(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, prepared: bool
) -> None:
    for name in ("q", "other"):
        stepped.register(name, LABELLED)
    post(stepped, 1)

    def full(*given: object, **named: object) -> None:
        raise OSError("No space left on device")

    stepped.graphs.set([label("e1"), label("e3")])
    with monkeypatch.context() as broken:
        broken.setattr("spark_backend.streams.catalogue.write_atomically", full)
        broken.setattr(Registry, "write_prepared" if prepared else "write", full)
        with pytest.raises(OSError, match="No space"):
            stepped.backend.store_changed()
        with pytest.raises(OSError, match="No space"):
            stepped.backend._write_again()
    stepped.backend._write_again()
    post(stepped, 3, 5)
    stepped.run()
    assert answers(stepped) == answers(stepped, "other") == {2: ["e1"], 4: ["e3"]}


def test_a_query_that_a_changed_schema_ends_is_told_so_once_that_could_be_written_down(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("q", LABELLED)

    def full(*given: object, **named: object) -> None:
        raise OSError("No space left on device")

    def refused(*given: object) -> None:
        raise UnsupportedFeature("a schema under which it is not answered")

    stepped.graphs.set([label("e1")])
    with monkeypatch.context() as broken:
        broken.setattr(stepped.backend._preparation, "compile", refused)
        with monkeypatch.context() as without_room:
            without_room.setattr("spark_backend.streams.catalogue.write_atomically", full)
            with pytest.raises(OSError, match="No space"):
                stepped.backend.store_changed()
        assert (stepped.backend.query("q").state, stepped.notices) == ("running", [])
        stepped.backend._write_again()
    assert stepped.backend.query("q").state == "failed"
    assert [type(one) for one in stepped.notices] == [Ended]


def test_after_a_restart_the_store_is_read_as_it_is_then(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", LABELLED)
    post(stepped, 1)
    again = opened(Graphs([label("e1")]))
    post(again, 5)
    again.run()
    assert answers(again) == {2: ["e1"]}


OWN_GRAPHS = f"""SELECT ?s FROM <{EX}g2> FROM STREAM <{EX}s> [RANGE 2]
WHERE {{ ?s a <{EX}T> OPTIONAL {{ ?s <{EX}label> ?l }} OPTIONAL {{ GRAPH ?g {{ ?s <{EX}label> ?n }} }} """


@pytest.mark.parametrize(
    ("requested", "default", "named"),
    [
        (NONE_REQUESTED, ["e2"], []),
        (RequestedGraphs((EX + "g1",)), ["e1"], []),
        (RequestedGraphs((), (EX + "g1",)), [], ["e1"]),
        (RequestedGraphs((EX + "g1", EX + "g2"), (EX + "g3",)), ["e1", "e2"], ["e3"]),
    ],
)
def test_requested_graphs_are_the_static_dataset_also_after_a_restart_and_in_replays(
    opened: Callable[..., SteppedBackend], requested: RequestedGraphs, default: list[str], named: list[str]
) -> None:
    labels = [(f"<{EX}g{n}>", f"<{EX}e{n}>", f"<{EX}label>", '"l"') for n in (1, 2, 3)]
    everywhere = ("", f"<{EX}e3>", f"<{EX}label>", '"in the default graph, which no clause names"')
    stepped = opened(Graphs([*labels, everywhere]))
    stepped.event_stream("s", EX + "s")
    stepped.register("default", OWN_GRAPHS + "FILTER(BOUND(?l)) }", requested=requested)
    stepped.register("named", OWN_GRAPHS + "FILTER(BOUND(?n)) }", requested=requested)
    for start in (3, 13):
        for n in (1, 2, 3):
            stepped.post("s", f"<{EX}e{n}> a <{EX}T> .", start)
        post(stepped, start + 2)
        stepped.run()
        for name, expected in (("default", default), ("named", named)):
            assert answers(stepped, name)[start + 1] == expected
            assert stepped.replayed(name, start, start + 1) == {start + 1: stepped.answers(name)[start + 1]}
        stepped = opened()


class SlowGraphs(Graphs):
    """Graphs that do something of the test's before they answer."""

    asked: Callable[[], object] | None = None

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterator[Quad]:
        if self.asked is not None:
            self.asked()
        return super().quads(subject, predicate, object, graphs)


def test_while_a_plan_waits_for_the_store_others_are_described(opened: Callable[..., SteppedBackend]) -> None:
    graphs = SlowGraphs([label("e1")])
    stepped = opened(graphs)
    stepped.event_stream("s", EX + "s")
    stepped.register("q", LABELLED)
    graphs.version += 1
    others: list[bool] = []

    def describe() -> None:
        thread = threading.Thread(target=lambda: stepped.backend.query("q"), daemon=True)
        thread.start()
        thread.join(timeout=10)
        others.append(not thread.is_alive())

    graphs.asked = describe
    stepped.backend.plan("q")
    assert others
    assert all(others)


def test_while_it_is_found_what_a_new_query_reads_of_a_store_that_changes_others_are_described(
    opened: Callable[..., SteppedBackend],
) -> None:
    def name(element: str) -> Quad:
        g, s, p, o = label(element)
        return g, s, p.replace("label", "name"), o

    graphs = SlowGraphs([label("e1"), name("e1")])
    stepped = opened(graphs)
    stepped.event_stream("s", EX + "s")
    stepped.register("q", LABELLED)
    others: list[bool] = []
    changes: list[threading.Thread] = []

    def change_and_describe() -> None:
        if not changes:
            # It is read when the new query has found what it reads.
            graphs.set([label("e1"), label("e3"), name("e3")])
            changes.append(threading.Thread(target=stepped.backend.store_changed, daemon=True))
            changes[0].start()
        described = threading.Thread(target=lambda: stepped.backend.query("q"), daemon=True)
        described.start()
        described.join(timeout=10)
        others.append(not described.is_alive())

    graphs.asked = change_and_describe
    stepped.register("new", LABELLED.replace("label", "name"))
    graphs.asked = None
    changes[0].join(timeout=60)
    assert len(others) > 1
    assert all(others)
    post(stepped, 3, 5)
    stepped.run()
    assert answers(stepped) == answers(stepped, "new") == {4: ["e3"]}
