"""An rdflib processor that hands the text of a query to Oxigraph, dataset included.

``Dataset.query(text, processor="oxigraph", result="oxigraph", use_store_provided=False, …)`` is the one
door for one-shot queries. oxrdflib's own ``query`` knows no FROM parameters, and rdflib evaluates in
Python whatever it declines; here nothing is declined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import IO, Any, cast

import pyoxigraph as ox
from oxrdflib._converter import from_ox
from rdflib import Graph, Variable, plugin
from rdflib.query import Processor, Result
from rdflib.term import Node

from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, QuerySemanticError, ServiceFailed, StorageDamaged
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.formats.csv_solutions import write_csv
from protocol.formats.json.ld import json_ld_lacks
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.formats.xml.rdf_xml import write_rdf_xml
from protocol.formats.xml.text import Output, XmlOutput
from protocol.functions.aggregates import AGGREGATES_NAMESPACE, CUSTOM_AGGREGATES
from protocol.functions.table import CUSTOM_FUNCTIONS
from protocol.grammar.one_shot import as_standard, exact_text, standard_text
from protocol.sparql.corrections import corrected
from protocol.sparql.dataset import dataset_clauses
from protocol.sparql.guard import permitted_query, refuse_excess, service_names
from protocol.sparql.iris import named_iris
from protocol.sparql.syntax import query_error, refuse_misreading

NAME = "oxigraph"

# What Store.query takes in its lists, which are invariant.
DefaultName = ox.NamedNode | ox.BlankNode | ox.DefaultGraph
NamedName = ox.NamedNode | ox.BlankNode
Functions = dict[ox.NamedNode, Callable[..., Any]]
"""What a query may call, by IRI."""

OxigraphAnswer = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples


_UNNAMED_SERVICE = "{service_name}"
"""Stands so in what Oxigraph says of an answer without solutions."""
_NO_SERVICE = ("variable encoding the service name is unbound", "is not a valid service name")
"""What Oxigraph says of ``SERVICE ?x`` where no service is named."""


class OxigraphResult(Result):
    """An rdflib Result over Oxigraph's answer, which is read once: either by ``written`` or as rdflib terms.

    Oxigraph's answers must be dropped in the thread that asked: ``close`` does it, whatever else still
    holds the result (the frames of a traceback, say).
    """

    def __init__(self, answered: Mapping[str, Any]) -> None:
        answer: OxigraphAnswer = answered["answer"]
        kind = {ox.QuerySolutions: "SELECT", ox.QueryBoolean: "ASK", ox.QueryTriples: "CONSTRUCT"}[type(answer)]
        super().__init__(kind)
        self.answer: OxigraphAnswer | None = answer
        self._services: Sequence[str] = answered.get("services", ())
        self._graph: Graph | None = None
        if isinstance(answer, ox.QueryBoolean):
            self.askAnswer = bool(answer)
        elif isinstance(answer, ox.QuerySolutions):
            self.vars = [Variable(variable.value) for variable in answer.variables]
            self.bindings = _solutions(self.vars, answer)

    def close(self) -> None:
        """Let go of Oxigraph's answer; what was not read of it is gone."""
        self.answer = None
        self._genbindings = None

    @property
    def graph(self) -> Graph | None:
        """The triples of CONSTRUCT or DESCRIBE, made when first asked for."""
        if self._graph is None and isinstance(self.answer, ox.QueryTriples):
            self._graph = Graph()
            for triple in self.answer:
                self._graph.add(cast("tuple[Node, Node, Node]", from_ox(triple)))
        return self._graph

    @graph.setter
    def graph(self, graph: Graph | None) -> None:
        self._graph = graph

    def write(self, syntax: SolutionsFormat | RdfSyntax, output: Output | None = None) -> bytes:
        """The whole answer in this format, by Oxigraph's serializers. Evaluates what is not evaluated yet.

        Raises NotExpressible for what the format has no way to write.
        """
        if output is None:
            document = BytesIO()
            self.write(syntax, document)
            return document.getvalue()
        file = cast("IO[bytes]", XmlOutput(output) if syntax is SolutionsFormat.XML else output)
        try:
            if isinstance(self.answer, ox.QueryTriples):
                assert isinstance(syntax, RdfSyntax)
                if syntax is RdfSyntax.RDF_XML:
                    write_rdf_xml(self.answer, output)
                    return b""
                return self.answer.serialize(file, syntax.oxigraph) or b""
            assert self.answer is not None
            assert isinstance(syntax, SolutionsFormat)
            if syntax is SolutionsFormat.CSV and isinstance(self.answer, ox.QuerySolutions):
                write_csv(self.answer, output)
                return b""
            return self.answer.serialize(file, syntax.oxigraph) or b""
        except (RuntimeError, OSError) as error:
            problem = _problem_of(error, self._services)
            if problem is None:
                raise
            raise problem from error


def _problem_of(error: RuntimeError | OSError, services: Sequence[str]) -> ProtocolError | None:
    """What an error of Oxigraph's is to the client, in a query that asks these services; None: it is ours."""
    if (damaged := StorageDamaged.of(error)) is not None:
        return damaged
    if isinstance(error, OSError) and (lacking := json_ld_lacks(error)) is not None:
        return lacking
    # An OSError with a number is that of the output or the disk; Oxigraph's of the network have none. What is wrong
    # with the text of an answer is a RuntimeError, as is all that is wrong with the query.
    text = str(error)
    of_query = error.errno is not None if isinstance(error, OSError) else any(one in text for one in _NO_SERVICE)
    if services and not of_query:
        named = " or ".join(services)
        said = text.replace(_UNNAMED_SERVICE, named)
        # Oxigraph names it as an IRI, or as an address.
        told = any(service.strip("<>") in said for service in services)
        return ServiceFailed(said if told else f"{named} gave no answer that can be read: {said}")
    return None if isinstance(error, OSError) else QuerySemanticError(text)


def _solutions(variables: Sequence[Variable], answer: ox.QuerySolutions) -> Iterator[Mapping[Variable, Any]]:
    for solution in answer:
        yield {name: from_ox(term) for name, term in zip(variables, solution, strict=True) if term is not None}


class OxigraphProcessor(Processor):
    """Evaluates query text in the Oxigraph store under an rdflib graph."""

    def __init__(self, graph: Graph) -> None:
        self._store: ox.Store = graph.store._inner  # type: ignore[attr-defined]

    def query(  # type: ignore[override]
        self,
        strOrQuery: str,  # noqa: N803
        initBindings: Mapping[str, Any] | None = None,  # noqa: N803
        initNs: Mapping[str, Any] | None = None,  # noqa: N803
        DEBUG: bool = False,  # noqa: N803
        *,
        base: str | None = None,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
        allow_fetch: AllowList = NOTHING,
        functions: Functions = CUSTOM_FUNCTIONS,
        union: bool = False,
        regime: Regime = Regime.NONE,
    ) -> Mapping[str, Any]:
        """``{"answer": …}``. Graphs given here, of either kind, are the whole dataset, whatever FROM says.

        ``functions``, ``union`` and ``regime`` are as for ``one_shot``.
        ``initNs`` is not used: SPARQL knows the prefixes the text declares. Raises ProtocolError for
        what is no query, for SERVICE with an address that is not on the list, and for text too complex to be evaluated.
        Oxigraph calls a service by itself: it follows no redirect, and waits without end.
        """
        if initBindings:
            raise NotImplementedError("bindings are not handed to Oxigraph: use VALUES")
        try:
            # Oxigraph would take an aggregate of two arguments for a function.
            text = standard_text(strOrQuery, base) if AGGREGATES_NAMESPACE in strOrQuery else strOrQuery
            return self._answered(text, base, default_graphs, named_graphs, allow_fetch, functions, union, regime)
        except SyntaxError:
            standard = as_standard(strOrQuery, base)
        try:
            return self._answered(standard, base, default_graphs, named_graphs, allow_fetch, functions, union, regime)
        except SyntaxError:
            raise query_error(strOrQuery, base) from None

    def _answered(
        self,
        query: str,
        base: str | None,
        default_graphs: Sequence[str],
        named_graphs: Sequence[str],
        allow_fetch: AllowList,
        functions: Functions,
        union: bool,
        regime: Regime,
    ) -> Mapping[str, Any]:
        """As ``query``; SyntaxError for what Oxigraph does not read."""
        refuse_excess(query)
        text = permitted_query(query, allow_fetch, base=base)
        services = service_names(text) if allow_fetch else []
        default: list[DefaultName] = [ox.NamedNode(iri) for iri in default_graphs]
        named: list[NamedName] = [ox.NamedNode(iri) for iri in named_graphs]
        if not default and not named:
            default, named = _from_clauses(text, base)
            if union and not default and not named and not _has_dataset(text):
                named = list(self._store.named_graphs())
                default = [ox.DefaultGraph(), *named]
        refuse_misreading(query, base)
        try:
            text = corrected(exact_text(text, base), lambda: self._named_graphs(query, base, default, named))
            if not default and not named:
                answer = self._store.query(
                    text,
                    base_iri=base,
                    custom_functions=functions,
                    custom_aggregate_functions=CUSTOM_AGGREGATES,
                )
                return {"answer": answer, "services": services}
            store = self._store
            if len(default) > 1 and (regime.infers or self._overlap(default)):
                # Oxigraph gives a triple once per graph it is in; an RDF merge (Query section 13.2.1) has it once.
                store, default = merged(store, default, named, regime), [ox.DefaultGraph()]
            answer = store.query(
                text,
                base_iri=base,
                default_graph=default,
                named_graphs=named,
                custom_functions=functions,
                custom_aggregate_functions=CUSTOM_AGGREGATES,
            )
            return {"answer": answer, "services": services}
        except (RuntimeError, OSError) as error:
            problem = _problem_of(error, services)
            if problem is None:
                raise
            raise problem from error

    def _named_graphs(
        self, text: str, base: str | None, default: Sequence[DefaultName], named: Sequence[NamedName]
    ) -> list[str]:
        """IRIs of the named graphs of the query's dataset: of those given, or else of FROM's, or else the store's."""
        graphs: Iterable[object] = named
        if not default and not named:
            clauses = dataset_clauses(text)
            from_some = bool(clauses.default or clauses.named)
            graphs = _resolved(clauses.prologue, clauses.named, base) if from_some else self._store.named_graphs()
        return [graph.value for graph in graphs if isinstance(graph, ox.NamedNode)]

    def _overlap(self, graphs: Sequence[DefaultName]) -> bool:
        """Whether any triple is in more than one of the graphs, of which only the first may be the default graph."""
        # Not by their names in the text: where that is a blank node it would be a variable.
        text = "ASK { ?s ?p ?o GRAPH ?g { ?s ?p ?o } }"
        return any(
            bool(self._store.query(text, default_graph=[graph], named_graphs=cast("list[NamedName]", later)))
            for number, graph in enumerate(graphs)
            if (later := list(graphs[number + 1 :]))
        )


def merged(
    store: ox.Store, default: Iterable[DefaultName], named: Iterable[NamedName], regime: Regime = Regime.NONE
) -> ox.Store:
    """A store with the RDF merge of some graphs as its default graph, and its named graphs; each is copied.

    Under a regime, with what follows from the merge of several; of each graph by itself it is in the store.
    """
    made, parts = ox.Store(), list(default)
    for graph in parts:
        made.extend(
            ox.Quad(quad.subject, quad.predicate, quad.object)
            for quad in store.quads_for_pattern(None, None, None, graph)
        )
    if regime.infers and len(parts) > 1 and len(made):
        # Few processes infer: the others need not load it.
        from protocol.entailment.closure import closure

        made.extend(ox.Quad(*one) for one in closure(regime, (quad.triple for quad in made)))
    for graph in named:
        made.extend(store.quads_for_pattern(None, None, None, graph))
    return made


def _has_dataset(text: str) -> bool:
    clauses = dataset_clauses(text)
    return bool(clauses.default or clauses.named)


def _from_clauses(text: str, base: str | None) -> tuple[list[DefaultName], list[NamedName]]:
    """The graphs of FROM and FROM NAMED, each once, where there is more than one of a kind; else nothing.

    One graph of each kind Oxigraph reads from the text rightly; of one named twice it would give every
    solution twice.
    """
    if text.upper().count("FROM") < 2:
        return [], []
    clauses = dataset_clauses(text)
    if len(clauses.default) < 2 and len(clauses.named) < 2:
        return [], []
    return (
        [*_resolved(clauses.prologue, clauses.default, base)],
        [*_resolved(clauses.prologue, clauses.named, base)],
    )


def _resolved(prologue: str, names: Sequence[str], base: str | None) -> list[ox.NamedNode]:
    """The graphs that a query names; none where it has a fault, whose place its parser will find."""
    return [ox.NamedNode(iri) for iri in named_iris(prologue, names, base) or ()]


plugin.register(NAME, Processor, __name__, "OxigraphProcessor")
plugin.register(NAME, Result, __name__, "OxigraphResult")
