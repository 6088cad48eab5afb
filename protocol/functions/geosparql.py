"""GeoSPARQL's functions that Oxigraph evaluates (OGC GeoSPARQL 1.1, sections 8.7, 9 and 11): which there are.

They are of geometries as WKT or GeoJSON literals in longitude and latitude (CRS84). What they give, Oxigraph says, in
one-shot and in continuous queries.
"""

from __future__ import annotations

from collections.abc import Mapping

GEOF = "http://www.opengis.net/def/function/geosparql/"
GEO = "http://www.opengis.net/ont/geosparql#"
GEOMETRY_DATATYPES = (f"{GEO}wktLiteral", f"{GEO}geoJSONLiteral")

_NEAR = "sfEquals sfIntersects sfTouches sfWithin sfContains sfOverlaps sfCrosses"
_NEAR += " ehEquals ehMeet ehOverlap ehCovers ehCoveredBy ehInside ehContains"
_NEAR += " rcc8eq rcc8ec rcc8po rcc8tppi rcc8tpp rcc8ntpp rcc8ntppi"
_APART = "sfDisjoint ehDisjoint rcc8dc"
_OF_ONE = (
    "asGeoJSON centroid convexHull coordinateDimension dimension envelope getSRID isEmpty isSimple spatialDimension"
)
_OF_TWO = "area length perimeter difference intersection symDifference union"
_OF_THREE = "distance relate"

RELATIONS: Mapping[str, bool] = {
    **{f"{GEOF}{name}": False for name in _NEAR.split()},
    **{f"{GEOF}{name}": True for name in _APART.split()},
}
"""Relations of two geometries, by IRI: whether they hold of those that have nothing in common."""

GEOSPARQL: Mapping[str, int] = {
    **{f"{GEOF}{name}": 1 for name in _OF_ONE.split()},
    **dict.fromkeys(RELATIONS, 2),
    **{f"{GEOF}{name}": 2 for name in _OF_TWO.split()},
    **{f"{GEOF}{name}": 3 for name in _OF_THREE.split()},
}
"""How many arguments each function takes, by IRI."""
