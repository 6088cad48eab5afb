"""Bounding boxes of geometries: what two of them must share where they have a point in common.

Oxigraph says what the box of a literal is (``geof:envelope``), so that one is known only of what it takes for a
geometry that is not empty. Of everything else it is unknown, and stands for all there is: nothing is excluded by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyoxigraph

from protocol.functions.geosparql import GEO, GEOF, GEOMETRY_DATATYPES

Box = tuple[float, float, float, float]
"""West, east, south and north, in degrees."""

_UNKNOWN: Box = (-math.inf, math.inf, -math.inf, math.inf)
_SIDES = ("geo_west", "geo_east", "geo_south", "geo_north")
_PER_QUERY = 2000
_REMEMBERED_CHARACTERS = 2**23
_GEOMETRY = tuple(f'"^^<{datatype}>' for datatype in GEOMETRY_DATATYPES)
_POINT = re.compile(
    rf'"POINT ?\((-?[0-9]{{1,9}}(?:\.[0-9]{{1,20}})?) (-?[0-9]{{1,9}}(?:\.[0-9]{{1,20}})?)\)"\^\^<{GEO}wktLiteral>'
)
_POLYGON = re.compile(r"POLYGON\(\(([^()]*)\)\)\Z")


class Boxes:
    """The boxes of terms, which it remembers."""

    def __init__(self) -> None:
        self._store = pyoxigraph.Store()
        self._known: dict[str, Box] = {}
        self._characters = 0

    def of(self, terms: Sequence[str]) -> list[Box]:
        """Of each of different terms."""
        if self._characters > _REMEMBERED_CHARACTERS:
            self._known, self._characters = {}, 0
        known = self._known
        unknown = [term for term in terms if term not in known]
        if unknown:
            self._characters += sum(map(len, unknown))
            known |= self._found(unknown)
        return [known[term] for term in terms]

    def _found(self, terms: Sequence[str]) -> dict[str, Box]:
        found = dict.fromkeys(terms, _UNKNOWN)
        asked = []
        for term in terms:
            if (point := _POINT.fullmatch(term)) is not None:
                x, y = float(point[1]), float(point[2])
                found[term] = (x, x, y, y)
            elif term.endswith(_GEOMETRY):
                asked.append(term)
        for start in range(0, len(asked), _PER_QUERY):
            some = asked[start : start + _PER_QUERY]
            lines = "\n".join(f"({number} {term})" for number, term in enumerate(some))
            query = f"SELECT ?n ?b {{ VALUES (?n ?g) {{ {lines} }} BIND(STR(<{GEOF}envelope>(?g)) AS ?b) }}"
            solutions: Any = self._store.query(query)
            for solution in solutions:
                if solution["b"] is not None:
                    found[some[int(solution["n"].value)]] = _box(solution["b"].value)
        return found


def _box(envelope: str) -> Box:
    """The box that an envelope in WKT is."""
    ring = _POLYGON.search(envelope)
    if ring is None:
        return _UNKNOWN
    corners = [tuple(map(float, corner.split(" "))) for corner in ring[1].split(",")]
    xs, ys = zip(*corners, strict=True)
    box = (min(xs), max(xs), min(ys), max(ys))
    return box if all(map(math.isfinite, box)) else _UNKNOWN


_boxes = Boxes()


def _side(place: int) -> Callable[..., pa.Array]:
    def vectorised(terms: Any) -> pa.Array:
        # In pairs that are left over from a join few terms are there many times.
        encoded = terms.combine_chunks() if isinstance(terms, pa.ChunkedArray) else terms
        encoded = encoded.dictionary_encode()
        sides = pa.array([box[place] for box in _boxes.of(encoded.dictionary.to_pylist())], pa.float64())
        return sides.take(encoded.indices)

    return vectorised


SIDES = {name: _side(place) for place, name in enumerate(_SIDES)}
"""The sides of boxes as functions of the prelude, by their names in SQL."""
