"""Functions that rdflib calls while it evaluates a query: of rows and patterns, which no expression has.

rdflib-endpoint's ``DatasetExt`` and its older functions extend rdflib's evaluation itself, so a query that names one of
them is evaluated by rdflib, over the same snapshot as Oxigraph would. They are found by module and name, as in
``protocol.functions.python_functions``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import rdflib
from oxrdflib import OxigraphStore
from rdflib import Graph, Namespace, URIRef
from rdflib.plugins import sparql
from rdflib.plugins.sparql import CUSTOM_EVALS, prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query
from rdflib.store import Store

from endpoint.graphs.dataset import store_over
from endpoint.graphs.processor import OxigraphResult, merged
from endpoint.readers.exchange import QueryQuestion
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, QuerySemanticError
from protocol.formats.allow_list import AllowList
from protocol.functions.python_functions import FunctionsNotLoaded, Named, extend_path
from protocol.sparql.guard import permitted_query, refuse_excess, refuse_in_patterns

if TYPE_CHECKING:
    from rdflib_endpoint import DatasetExt

_CUSTOM_EVAL, _OLDER = "sparql-streams:custom_eval", "sparql-streams:functions"
_PARSED = 256
_INSTEAD = "ask for its answer in a query, then send INSERT DATA"


@dataclass(frozen=True)
class Decorated:
    """A function that one of ``DatasetExt``'s decorators was given: which one, and with what."""

    decorator: str
    namespace: str
    use_subject: bool
    iri: str
    named: Named

    def register(self, dataset: DatasetExt) -> None:
        options: dict[str, Any] = {"namespace": Namespace(self.namespace)}
        if self.use_subject:
            options["use_subject"] = True
        getattr(dataset, self.decorator)(**options)(self.named.function())


@dataclass(frozen=True)
class RdflibFunctions:
    """What extends rdflib's evaluation: decorated functions, those of rdflib-endpoint's older interface by IRI.

    With ``custom_eval`` every query is rdflib's. ``path`` is where modules are found. ``union``: the default graph of a
    query is the union of all graphs, whoever evaluates it.
    """

    decorated: tuple[Decorated, ...] = ()
    functions: Mapping[str, Named] = field(default_factory=dict)
    custom_eval: Named | None = None
    path: tuple[str, ...] = ()
    union: bool = False

    @property
    def iris(self) -> frozenset[str]:
        """Of the functions: a query that has one of them is rdflib's."""
        return frozenset({*(one.iri for one in self.decorated), *self.functions})

    @property
    def called(self) -> frozenset[str]:
        """IRIs of those that are called, and not matched as patterns."""
        called = (one.iri for one in self.decorated if one.decorator in ("extension_function", "graph_function"))
        return frozenset({*called, *self.functions})

    def __bool__(self) -> bool:
        """Whether any query is rdflib's."""
        return bool(self.iris) or self.custom_eval is not None

    def refuse_update(self, text: str, base: str | None) -> None:
        """Raise UnsupportedFeature, with the place, for an update, of one prologue, in whose WHERE these take part."""
        if self.custom_eval is not None:
            refuse_in_patterns(
                text, None, f"custom_eval evaluates queries only, no WHERE of an update: {_INSTEAD}", base
            )
        elif self.iris:
            refuse_in_patterns(
                text, self.iris, f"functions of rows and patterns are called in queries only: {_INSTEAD}", base
            )

    def to_json(self) -> str:
        """What readers are told."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RdflibFunctions:
        document = json.loads(text)
        custom_eval = document["custom_eval"]
        return cls(
            tuple(Decorated(**{**one, "named": Named(**one["named"])}) for one in document["decorated"]),
            {iri: Named(**named) for iri, named in document["functions"].items()},
            None if custom_eval is None else Named(**custom_eval),
            tuple(document["path"]),
            document["union"],
        )


class RdflibEvaluation:
    """Evaluates, in a reader, the queries that name one of the functions. Sets rdflib's switches for the process.

    Literals stay as written and compare as the SPARQL test suites expect, and no address that a query names is read
    (rdflib would by default).
    """

    def __init__(self, functions: RdflibFunctions, regime: Regime = Regime.NONE) -> None:
        """``regime``: that of the snapshots."""
        rdflib.NORMALIZE_LITERALS = False
        rdflib.DAWG_LITERAL_COLLATION = True
        sparql.SPARQL_LOAD_GRAPHS = False
        # The dataset then says itself whether its default graph is the union.
        sparql.SPARQL_DEFAULT_GRAPH_UNION = True
        extend_path(functions.path)
        self._functions = functions
        self._regime = regime
        self._iris = functions.iris

    @property
    def union(self) -> bool:
        return self._functions.union

    def takes(self, text: str, base: str | None) -> bool:
        """Whether it evaluates this query: not what rdflib does not read."""
        functions = self._functions
        return bool(functions) and (functions.custom_eval is not None or not self._iris.isdisjoint(_iris(text, base)))

    def answer(self, store: ox.Store, question: QueryQuestion, allow_fetch: AllowList) -> OxigraphResult:
        """The whole answer, over what is in the store. Raises ProtocolError.

        A function of rows that raises ends the query, as it does in rdflib-endpoint.
        """
        base = question.base
        refuse_excess(question.text)
        text = permitted_query(question.text, allow_fetch, base=base)
        try:
            query = prepareQuery(text, base=base)
            with self._dataset(store, *_graphs(question, query)) as dataset:
                result = dataset.query(query, processor="sparql", use_store_provided=False)
                return OxigraphResult({"answer": _answer(result)})
        except ProtocolError:
            raise
        except Exception as error:
            raise QuerySemanticError(f"rdflib, which evaluates queries with these functions, says: {error}") from error

    @contextmanager
    def _dataset(self, store: ox.Store, default: Sequence[str], named: Sequence[str]) -> Iterator[DatasetExt]:
        """Over the graphs named, where there are any; else over the store.

        What it has rdflib call is forgotten with it, at once: the garbage collector would do so at any time, also while
        rdflib looks through all of that for the next query, which would fail.
        """
        # It brings FastAPI along, which readers that are never asked for such a function need not load.
        from rdflib_endpoint import DatasetExt

        union, graphs = self._functions.union, list(map(ox.NamedNode, named))
        if default or named:
            store, union = merged(store, map(ox.NamedNode, default), graphs, self._regime), False
        elif union and self._regime.infers:
            every = list(store.named_graphs())
            store, union = merged(store, [ox.DefaultGraph(), *every], every, self._regime), False
        dataset = DatasetExt(store=_Scratch(store), default_union=union)
        try:
            for decorated in self._functions.decorated:
                decorated.named.function()  # its module may have rdflib call something, too: that stays
            others = set(CUSTOM_EVALS)
            for decorated in self._functions.decorated:
                decorated.register(dataset)
            its_own = [name for name in CUSTOM_EVALS if name not in others]
            older = {iri: named.function() for iri, named in self._functions.functions.items()}
            if self._functions.custom_eval is not None:
                CUSTOM_EVALS[_CUSTOM_EVAL] = self._functions.custom_eval.function()
        except Exception as error:
            raise FunctionsNotLoaded(f"{type(error).__name__}: {error}") from error
        if older:
            CUSTOM_EVALS[_OLDER] = _older_functions(older)
        try:
            yield dataset
        finally:
            for name in its_own:
                del CUSTOM_EVALS[name]


def _graphs(question: QueryQuestion, query: Query) -> tuple[Sequence[str], Sequence[str]]:
    """IRIs of the default and the named graphs that the request names, or else FROM, which is taken out of the query.

    Over graphs of FROM rdflib makes a dataset of its own, of which the functions know nothing.
    """
    clauses = query.algebra.datasetClause or ()
    query.algebra.datasetClause = None
    if question.default_graphs or question.named_graphs:
        return question.default_graphs, question.named_graphs
    return [str(one.default) for one in clauses if one.default], [str(one.named) for one in clauses if one.named]


def _older_functions(functions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """What rdflib-endpoint's router has rdflib call, for its own functions alone."""
    from rdflib_endpoint import SparqlRouter

    router: Any = SimpleNamespace(functions=functions)

    def evaluate(ctx: Any, part: Any) -> Any:
        if part.name != "Extend" or str(getattr(part.expr, "iri", "")) not in functions:
            raise NotImplementedError
        return SparqlRouter.eval_custom_functions(router, ctx, part)

    return evaluate


@lru_cache(maxsize=_PARSED)
def _iris(text: str, base: str | None) -> frozenset[str]:
    """All IRIs in a query; none where rdflib does not read it."""
    try:
        return frozenset(_found(prepareQuery(text, base=base).algebra))
    except Exception:  # whatever a parser of Python's raises: Oxigraph says what is wrong with it
        return frozenset()


def _found(node: object) -> Iterator[str]:
    if isinstance(node, URIRef):
        yield str(node)
    elif isinstance(node, CompValue):
        for part in node.values():
            yield from _found(part)
    elif isinstance(node, list | tuple | set):
        for part in node:
            yield from _found(part)


def _answer(result: Any) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
    """rdflib's answer as Oxigraph's, which is written in any format."""
    if result.type in ("SELECT", "ASK"):
        written = io.BytesIO(result.serialize(format="json") or b"")
        return ox.parse_query_results(written, format=ox.QueryResultsFormat.JSON)
    store = ox.Store()
    store.extend(ox.parse(result.graph.serialize(format="nt", encoding="utf-8"), format=ox.RdfFormat.N_TRIPLES))
    triples = store.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    assert isinstance(triples, ox.QueryTriples)
    return triples


def _distinct(triples: Iterable[Any]) -> Iterator[Any]:
    known = set()
    for triple in triples:
        if triple not in known:
            known.add(triple)
            yield triple


class _Scratch(Store):
    """rdflib's store over a snapshot, with what a query adds for itself (graphs that functions make) beside it."""

    context_aware = True
    graph_aware = True

    def __init__(self, snapshot: ox.Store) -> None:
        super().__init__()
        self._snapshot = store_over(lambda: snapshot)
        self._own = OxigraphStore(store=ox.Store())

    def _both(self, read: Callable[[OxigraphStore], Iterable[Any]]) -> Iterator[Any]:
        return chain(read(self._snapshot), read(self._own))

    def triples(self, triple_pattern: Any, context: Graph | None = None) -> Iterator[Any]:
        """Each triple once, with its graphs; ``context`` None is the union of all."""
        found = self._both(lambda store: store.triples(triple_pattern, context))
        if context is not None:
            return found
        return ((triple, self.contexts(triple)) for triple in _distinct(triple for triple, _ in found))

    def contexts(self, triple: Any = None) -> Generator[Graph, None, None]:
        yield from self._both(lambda store: store.contexts(triple))

    def __len__(self, context: Graph | None = None) -> int:
        return self._snapshot.__len__(context) + self._own.__len__(context)

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        self._own.add(triple, context, quoted)

    def remove(self, triple: Any, context: Any = None) -> None:
        self._own.remove(triple, context)

    def add_graph(self, graph: Graph) -> None:
        """Nothing: rdflib says so of every graph that is looked at."""

    def remove_graph(self, graph: Graph) -> None:
        self._own.remove_graph(graph)

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self._own.bind(prefix, namespace, override)

    def namespace(self, prefix: str) -> URIRef | None:
        return self._own.namespace(prefix)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._own.prefix(namespace)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        yield from self._own.namespaces()
