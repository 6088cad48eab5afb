"""A snapshot that a reader has open: on disk, and, when it has been told to make a copy, in memory as well."""

from __future__ import annotations

import re
from pathlib import Path

import pyoxigraph as ox

from endpoint.graphs.dataset import EndpointDataset, dataset_over

_MOST_BYTES_A_QUAD = 250
_MOST_BYTES_BESIDES = 2**24
"""A store with more bytes than these, for each quad there may be and besides, is not even counted."""

_SLICE = re.compile(r"\b(?:limit|offset)\b", re.IGNORECASE)
_ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)


class OpenSnapshot:
    """A snapshot, opened read-only, as the endpoint's dataset."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.oxigraph = ox.Store.read_only(directory)
        self.on_disk = dataset_over(lambda: self.oxigraph)
        self._in_memory: EndpointDataset | None = None

    def dataset(self, text: str) -> EndpointDataset:
        """The dataset that is to answer this query.

        A client that turns pages (LIMIT, OFFSET) without ORDER BY relies on an order that the standard leaves open
        (SPARQL 1.1 Query section 15.4), and which differs in memory: all its pages come from the disk.
        """
        if self._in_memory is None or (_SLICE.search(text) and not _ORDER.search(text)):
            return self.on_disk
        return self._in_memory

    def copy(self, most_quads: int) -> bool:
        """Copy it into memory, where Oxigraph joins and scans three times as fast; False if it has more quads."""
        if self._in_memory is None and self._has_at_most(most_quads):
            copy = ox.Store()
            # As quads, not as text: the labels of blank nodes stay.
            copy.bulk_extend(self.oxigraph.quads_for_pattern(None, None, None, None))
            for graph in self.oxigraph.named_graphs():
                # Those without a quad as well.
                copy.add_graph(graph)
            self._in_memory = dataset_over(lambda: copy)
        return self._in_memory is not None

    def _has_at_most(self, quads: int) -> bool:
        size = sum(one.stat().st_size for one in Path(self.directory).iterdir())
        return size <= quads * _MOST_BYTES_A_QUAD + _MOST_BYTES_BESIDES and len(self.oxigraph) <= quads

    def close(self) -> None:
        """Let go of the files, and of the copy."""
        # As in GraphStore.close: Oxigraph closes when nothing refers to it, and rdflib's cycles would.
        if self._in_memory is not None:
            self._in_memory.close()
        self.on_disk.close()
        del self.oxigraph
