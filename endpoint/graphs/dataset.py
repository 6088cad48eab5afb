"""The endpoint's rdflib Dataset over Oxigraph, and the one door for one-shot queries: for server and readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyoxigraph as ox
import rdflib
from oxrdflib import OxigraphStore

from endpoint.graphs import processor as oxigraph_processor
from endpoint.graphs.processor import Functions, OxigraphResult
from protocol.entailment.regimes import Regime
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.functions.table import CUSTOM_FUNCTIONS


class EndpointDataset(rdflib.Dataset):
    """rdflib's Dataset, without the deprecation warning that its own ``query`` and ``update`` cause."""

    @property
    def default_context(self) -> rdflib.Graph:
        default: rdflib.Graph = self.default_graph
        return default

    @default_context.setter
    def default_context(self, graph: rdflib.Graph) -> None:
        self.default_graph = graph


class _SuccessiveStores(OxigraphStore):
    """rdflib's store over whichever Oxigraph store is the one at the moment."""

    def __init__(self, current: Callable[[], ox.Store]) -> None:
        super().__init__()
        self._current = current

    @property
    def _inner(self) -> ox.Store:
        return self._current()

    def add_graph(self, graph: rdflib.Graph) -> None:
        """Nothing: rdflib says so of every graph that is looked at, and what is only read is not made by it."""

    def close(self, commit_pending_transaction: bool = False) -> None:
        del self._current


def store_over(current: Callable[[], ox.Store]) -> OxigraphStore:
    """rdflib's store that reads the store that this gives."""
    return _SuccessiveStores(current)


def dataset_over(current: Callable[[], ox.Store]) -> EndpointDataset:
    """The dataset that reads the store that this gives; its default graph is no union.

    rdflib's switches stay as they are: where the endpoint is embedded, they are the application's.
    """
    return EndpointDataset(store_over(current))


def one_shot(
    dataset: EndpointDataset,
    text: str,
    *,
    base: str | None = None,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
    allow_fetch: AllowList = NOTHING,
    functions: Functions = CUSTOM_FUNCTIONS,
    union: bool = False,
    regime: Regime = Regime.NONE,
) -> OxigraphResult:
    """Answer a one-shot query. The graphs given, of either kind, are its dataset instead of FROM's.

    ``functions`` are those it may call by IRI; ``union``: where neither says what the default graph is, it is the union
    of all graphs; ``regime``: the one under which the dataset has what follows from each of its graphs.

    Raises ProtocolError for what is no query, cannot be answered, or is refused.
    """
    result = dataset.query(
        text,
        processor=oxigraph_processor.NAME,
        result=oxigraph_processor.NAME,
        use_store_provided=False,
        base=base,
        default_graphs=default_graphs,
        named_graphs=named_graphs,
        allow_fetch=allow_fetch,
        functions=functions,
        union=union,
        regime=regime,
    )
    assert isinstance(result, OxigraphResult)
    return result
