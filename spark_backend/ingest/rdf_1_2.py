"""What RDF 1.2 adds, and streams do not take yet: triple terms and base directions."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.ingest.parsing.triple_terms import NO_TRIPLE_TERMS

_TRIPLE_TERM = "<<("
_DIRECTIONS = ("--ltr", "--rtl")  # no other canonical term ends so: IRIs end in '>', labels here in a letter or digit


def find_rdf_1_2(objects: pa.DictionaryArray) -> tuple[int, str] | None:
    """The first row whose object RDF 1.1 does not have, and what to say of it."""
    distinct = objects.dictionary
    foreign = pc.starts_with(distinct, _TRIPLE_TERM)
    for direction in _DIRECTIONS:
        foreign = pc.or_(foreign, pc.ends_with(distinct, direction))
    if not pc.any(foreign).as_py():
        return None
    row = pc.index(foreign.take(objects.indices), pa.scalar(True, pa.bool_())).as_py()
    if objects[row].as_py().startswith(_TRIPLE_TERM):
        return row, NO_TRIPLE_TERMS
    return row, "strings with a base direction (RDF 1.2) are not supported yet; leave the direction out"
