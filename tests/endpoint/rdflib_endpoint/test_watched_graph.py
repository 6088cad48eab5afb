"""An rdflib graph and the endpoint's graphs stay the same, whoever changes one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Quad
from rdflib import XSD, BNode, Dataset, Graph, Literal, URIRef, Variable
from rdflib.compare import isomorphic
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from endpoint.graphs.store import GraphStore
from endpoint.rdflib_endpoint import watched_graph
from endpoint.rdflib_endpoint.watched_graph import WatchedGraph
from protocol.functions.python_functions import rdflib_term

A, B, P, G = (URIRef(f"http://ex/{name}") for name in "abpg")
ONE = Literal("01", datatype=XSD.integer, normalize=False)
NODES = [A, B, BNode("n"), BNode("m")]
OBJECTS = [
    *NODES,
    Literal("x"),
    Literal("x", lang="en"),
    Literal("01", datatype=XSD.integer, normalize=False),
    Literal(1),
]
GRAPHS = [None, G, URIRef("http://ex/h")]

triples = st.tuples(st.sampled_from(NODES), st.just(P), st.sampled_from(OBJECTS))
patterns = st.tuples(
    *(st.one_of(st.none(), part) for part in (st.sampled_from(NODES), st.just(P), st.sampled_from(OBJECTS)))
)
there = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(GRAPHS), triples),
    st.tuples(st.just("remove"), st.sampled_from(GRAPHS), patterns),
    st.tuples(st.just("parse"), st.sampled_from(GRAPHS), triples),
)
UPDATES = [
    "INSERT DATA { <http://ex/a> <http://ex/p> <http://ex/new> }",
    "INSERT DATA { GRAPH <http://ex/g> { _:x <http://ex/p> _:x } }",
    "DELETE WHERE { ?s <http://ex/p> 'x' }",
    "CLEAR ALL",
]
here = st.tuples(st.just("update"), st.none(), st.sampled_from(UPDATES))


@pytest.fixture(scope="module")
def store() -> Iterator[GraphStore]:
    made = GraphStore()
    yield made
    made.close()


def same(dataset: Dataset, store: GraphStore) -> bool:
    ours, theirs = _by_name(map(_of_ox, store.oxigraph)), _by_name(dataset.quads())
    return ours.keys() == theirs.keys() and all(isomorphic(ours[name], theirs[name]) for name in ours)


def _of_ox(quad: Quad) -> tuple[Any, ...]:
    graph = None if isinstance(quad.graph_name, DefaultGraph) else quad.graph_name.value
    return (*map(rdflib_term, (quad.subject, quad.predicate, quad.object)), graph)


def _by_name(quads: Iterable[tuple[Any, ...]]) -> dict[str, Graph]:
    graphs: dict[str, Graph] = {}
    for subject, predicate, object, graph in quads:
        # The store gives numbers back as it writes them.
        written = Literal(1) if object == ONE else object
        name = "" if graph in (None, DATASET_DEFAULT_GRAPH_ID) else str(graph)
        graphs.setdefault(name, Graph()).add((subject, predicate, written))
    return graphs


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(there, there, here), max_size=8))
def test_both_are_the_same_after_any_changes(
    store: GraphStore, operations: list[tuple[str, URIRef | None, object]]
) -> None:
    dataset = Dataset()
    watched = WatchedGraph(dataset)
    for kind, name, what in operations:
        graph = dataset.default_graph if name is None else dataset.graph(name)
        if kind == "add":
            graph.add(what)  # type: ignore[arg-type]
        elif kind == "remove":
            graph.remove(what)  # type: ignore[arg-type]
        elif kind == "parse":
            graph.addN([(*what, graph)])  # type: ignore[misc]
        else:
            if watched.changed:
                store.update(watched.take())
            store.update(str(what))
            watched.become(store)
            assert not watched.changed
            assert same(dataset, store)
    if watched.changed:
        store.update(watched.take())
    assert same(dataset, store)


def test_a_number_is_left_as_it_is_written(store: GraphStore) -> None:
    graph = Graph()
    price = (A, P, Literal("1.50", datatype=XSD.decimal, normalize=False))
    graph.add(price)
    watched = WatchedGraph(graph)
    store.update(watched.take())
    store.update("INSERT DATA { <http://ex/b> <http://ex/p> 'y' }")
    watched.become(store)
    assert set(graph) == {price, (B, P, Literal("y"))}


def test_a_number_stays_that_is_removed_as_it_is_written_otherwise(store: GraphStore) -> None:
    dataset = Dataset()
    watched = WatchedGraph(dataset)
    prices = [Literal(text, datatype=XSD.decimal, normalize=False) for text in ("1.50", "1.5", "2.50")]
    for name in ("", G):
        graph = dataset.graph(name) if name else dataset.default_graph
        for price in prices:
            graph.add((A, P, price))
        graph.add((A, A, prices[1]))
        store.update(watched.take())
        graph.remove((A, P, prices[1]))
        graph.remove((None, P, prices[2]))
        graph.remove((A, None, prices[1]))
        store.update(watched.take())
        store.update("INSERT DATA { <http://ex/b> <http://ex/p> 'y' }")
        assert watched.become(store)
        assert list(graph.objects(A)) == prices[:1]
    store.update("DROP ALL")


def test_nothing_is_lost_that_changes_meanwhile(store: GraphStore) -> None:
    dataset = Dataset()
    graph = dataset.default_graph
    watched = WatchedGraph(dataset)
    store.update(watched.take())
    store.update("INSERT DATA { <http://ex/a> <http://ex/p> 1 }")
    graph.add((A, P, Literal(2)))
    assert watched.become(store)
    assert set(graph) == {(A, P, Literal(1)), (A, P, Literal(2))}
    assert watched.changed
    store.update(watched.take())
    assert watched.become(store)
    assert same(dataset, store)


def test_what_changes_meanwhile_wins_and_nothing_waits_for_it(store: GraphStore) -> None:
    dataset = Dataset()
    graph = dataset.default_graph
    for number in range(4):
        graph.add((A, P, Literal(number)))
    watched = WatchedGraph(dataset)
    store.update(watched.take())
    store.update("DELETE DATA { <http://ex/a> <http://ex/p> 0, 1 } ; INSERT DATA { <http://ex/b> <http://ex/p> 5, 6 }")
    graph.add((A, P, Literal("01", datatype=XSD.integer, normalize=False)))
    graph.remove((A, P, Literal("02", datatype=XSD.integer, normalize=False)))
    graph.remove((A, P, Literal(2)))
    graph.remove((B, P, None))
    assert watched.become(store)
    assert not list(graph.triples((B, P, None)))
    store.update(watched.take())
    assert same(dataset, store)
    graph.add((A, P, BNode()))
    store.update("INSERT DATA { <http://ex/b> <http://ex/p> 7 }")
    assert not watched.become(store)
    assert (B, P, Literal(7)) not in graph


def test_who_wants_to_know_is_told() -> None:
    told: list[int] = []
    graph = Graph()
    watched = WatchedGraph(graph, lambda: told.append(len(graph)))
    watched.take()
    graph.add((A, P, B))
    graph.remove((A, P, B))
    graph.add((B, P, A))
    assert told == [1, 0, 1]
    assert watched.take() == (
        "DELETE DATA { <http://ex/a> <http://ex/p> <http://ex/b> . } ;\n"
        "INSERT DATA { <http://ex/b> <http://ex/p> <http://ex/a> . }"
    )


def test_an_update_is_not_lost_beside_many_triples_that_the_application_adds(
    monkeypatch: pytest.MonkeyPatch, store: GraphStore
) -> None:
    monkeypatch.setattr(watched_graph, "_AT_ONCE", 1000)
    graph = Graph()
    watched = WatchedGraph(graph)
    store.update(watched.take())
    store.update("INSERT DATA { <http://ex/a> <http://ex/p> 'of a client' }")
    for _ in range(2):
        for number in range(3000):
            graph.add((B, P, Literal(number)))
    assert watched.become(store)
    store.update(watched.take())
    assert (A, P, Literal("of a client")) in graph
    assert len(graph) == len(store.oxigraph) == 3001


def test_more_changes_than_there_are_triples_are_told_by_the_whole(
    monkeypatch: pytest.MonkeyPatch, store: GraphStore
) -> None:
    monkeypatch.setattr(watched_graph, "_AT_ONCE", 1000)
    graph = Graph()
    watched = WatchedGraph(graph)
    store.update(watched.take())
    for number in range(3000):
        graph.add((B, P, Literal(number)))
        graph.remove((B, P, Literal(number - 1)))
    assert watched.take() == (
        "CLEAR DEFAULT ;\nINSERT DATA {\n"
        '<http://ex/b> <http://ex/p> "2999"^^<http://www.w3.org/2001/XMLSchema#integer> .\n}'
    )


def test_what_is_no_rdf_is_left_out(caplog: pytest.LogCaptureFixture, store: GraphStore) -> None:
    # A reasoner adds triples whose subjects are literals, and in N3 there are variables.
    no_rdf = [
        (A, P, URIRef("http://ex/with space")),
        (A, P, Literal("x", datatype=URIRef("http://ex/with space"))),
        (Literal("x"), P, B),
        (A, BNode("p"), B),
        (A, Literal("p"), B),
        (A, P, Variable("v")),
    ]
    graph = Graph()
    for triple in (*no_rdf, (A, P, B)):
        graph.add(triple)
    watched = WatchedGraph(graph)
    store.update(watched.take())
    assert len(store.oxigraph) == 1
    assert caplog.text.count("a triple of the rdflib graph is left out") == len(no_rdf)
    for triple in no_rdf:
        graph.remove(triple)
        graph.add(triple)
    store.update(watched.take())
    store.update("INSERT DATA { <http://ex/b> <http://ex/p> 'y' }")
    assert watched.become(store)
    assert set(graph) == {*no_rdf, (A, P, B), (B, P, Literal("y"))}


@pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")  # rdflib's own parser
def test_what_n3_has_beyond_rdf_is_left_out(store: GraphStore) -> None:
    dataset = Dataset()
    watched = WatchedGraph(dataset)
    store.update(watched.take())
    text = "@prefix : <http://ex/> . :a :says { :b :p :c } . :a :p _:node ."
    dataset.default_graph.parse(data=text, format="n3")
    # What is told of each by itself, then the whole.
    dataset.default_graph.add((A, P, B))
    for _ in range(2):
        store.update(watched.take())
        assert len(store.quads(None, f"<{P}>")) == 2
        assert (store.quads(None, "<http://ex/says>"), store.named_graphs()) == ([], [])
        watched.take_all_again()
    store.update("DROP ALL")


def test_a_blank_node_may_be_called_as_sparql_calls_none(store: GraphStore) -> None:
    graph = Graph()
    watched = WatchedGraph(graph)
    store.update(watched.take())
    graph.add((BNode("a:b"), P, BNode("a:b")))
    graph.add((BNode("a:c"), P, BNode("a_b")))
    store.update(watched.take())
    found = [(quad.subject, quad.object) for quad in store.oxigraph]
    assert len(found) == 2
    assert len({node for both in found for node in both}) == 3
    assert watched.become(store)
    assert len(graph) == 2


def test_what_is_no_rdf_is_removed_as_it_was_added(store: GraphStore) -> None:
    dataset, strange = Dataset(), URIRef("http://ex/with space")
    watched = WatchedGraph(dataset)
    store.update(watched.take())
    for graph in (dataset.default_graph, dataset.graph(strange)):
        graph.add((A, P, strange))
        graph.remove((A, P, strange))
    dataset.graph(strange).add((A, P, B))
    dataset.graph(strange).remove((A, P, None))
    dataset.default_graph.add((A, P, B))
    store.update(watched.take())
    assert [(quad.object.value, quad.graph_name) for quad in store.oxigraph] == [(str(B), DefaultGraph())]


class Meanwhile:
    """A thread that works within the first call of a method, behind it; the call waits until that is done, or waits
    for the lock of the graph's store itself.
    """

    def __init__(self, graph: Graph, owner: Any, method: str, work: Callable[[], object]) -> None:
        self._method, self._work = getattr(owner, method), work
        self._goes_on = threading.Event()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        setattr(owner, method, self._last)
        watched_graph._locks[graph.store] = cast("threading.RLock", self)

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self._goes_on.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _last(self, *args: Any, **kwargs: Any) -> Any:
        result = self._method(*args, **kwargs)
        if self._thread is None:
            self._thread = threading.Thread(target=self._other, daemon=True)
            self._thread.start()
            assert self._goes_on.wait(60)
        return result

    def _other(self) -> None:
        self._work()
        self._goes_on.set()

    def join(self) -> None:
        assert self._thread is not None
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_changes_are_told_in_the_order_in_which_they_are_made(store: GraphStore) -> None:
    graph = Graph()
    other = Meanwhile(graph, graph.store, "add", lambda: graph.remove((A, P, B)))
    watched = WatchedGraph(graph)
    store.update(watched.take())
    graph.add((A, P, B))
    other.join()
    store.update(watched.take())
    assert len(graph) == len(store.oxigraph) == 0


def test_no_update_is_lost_that_has_not_been_told_yet(store: GraphStore) -> None:
    # A store that evaluates updates by itself.
    graph = Graph()
    add = graph.store.add
    graph.store.update = lambda *_, **__: add((A, P, Literal(2)), graph)  # type: ignore[method-assign]
    other = Meanwhile(graph, graph.store, "update", lambda: watched.become(store))
    watched = WatchedGraph(graph)
    store.update(watched.take())
    store.update("INSERT DATA { <http://ex/a> <http://ex/p> 1 }")
    graph.update("INSERT DATA { <http://ex/a> <http://ex/p> 2 }")
    other.join()
    assert (A, P, Literal(2)) in graph


def test_what_a_change_that_fails_has_done_is_told(store: GraphStore) -> None:
    graph = Graph()
    add = graph.store.add

    def failing(triple: Any, *args: Any, **kwargs: Any) -> None:
        if triple[2] == Literal(2):
            raise OSError("no room")
        add(triple, *args, **kwargs)

    graph.store.add = failing  # type: ignore[method-assign]
    watched = WatchedGraph(graph)
    store.update(watched.take())
    with pytest.raises(OSError, match="no room"):
        graph.addN([(A, P, Literal(1), graph), (A, P, Literal(2), graph)])
    store.update(watched.take())
    assert len(graph) == len(store.oxigraph) == 1


def test_two_endpoints_of_one_graph_do_not_wait_for_each_other(store: GraphStore) -> None:
    graph, second_store = Graph(), GraphStore()
    graph.add((A, P, Literal(1)))
    graph.add((A, P, Literal(2)))
    other = Meanwhile(graph, graph, "remove", lambda: second.become(second_store))
    first, second = WatchedGraph(graph), WatchedGraph(graph)
    for watched, its in ((first, store), (second, second_store)):
        its.update(watched.take())
    store.update("DELETE WHERE { ?s ?p 1 }")
    second_store.update("DELETE WHERE { ?s ?p 2 }")
    first.become(store)
    other.join()
    assert not list(graph)
    second_store.close()


def test_a_graph_is_the_default_graph_and_no_other(store: GraphStore) -> None:
    graph = Graph()
    graph.add((A, P, B))
    watched = WatchedGraph(graph)
    store.update(watched.take())
    store.update("INSERT DATA { GRAPH <http://ex/g> { <http://ex/a> <http://ex/p> 1 } }")
    assert watched.become(store)
    assert set(graph) == {(A, P, B)}
    graph.add((A, P, BNode()))
    store.update(watched.take())
    assert store.named_graphs() == [str(G)]
    store.update("DROP ALL")


def test_another_graph_of_the_same_store_is_none_of_this_one() -> None:
    graph = Graph(identifier=G)
    watched = WatchedGraph(graph)
    watched.take()
    Graph(store=graph.store, identifier=A).add((A, P, B))
    assert not watched.changed
