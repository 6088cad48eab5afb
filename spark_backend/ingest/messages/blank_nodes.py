"""Blank node labels scoped to their message (W3C RSP CG, *RDF Messages*; docs/model.md, "Elements and streams")."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import rename_blank_nodes
from spark_backend.ingest.terms.quads import Quads
from spark_backend.ingest.terms.texts import without_start
from spark_backend.log.appending.equal_messages import triple_terms_with_blank_nodes

_FALSE = pa.scalar(False, pa.bool_())


def scope_blank_nodes(quads: Quads, message: pa.Int32Array, scope: str) -> Quads:
    """The quads with every label made of the scope, the message's ordinal and the label it had.

    New labels have ASCII letters and digits only. Two are the same if and only if all three parts are,
    so nodes of different messages and, as ``scope`` is unique per request, of different requests never meet.
    """
    g, s, o = (_scope(column, message, scope) for column in (quads.g, quads.s, quads.o))
    return Quads(g, s, quads.p, o)


def _scope(terms: pa.DictionaryArray, message: pa.Int32Array, scope: str) -> pa.DictionaryArray:
    if pc.any(triple_terms_with_blank_nodes(terms.dictionary)).as_py():
        terms = _scope_within(terms, message, scope)
    if not pc.any(pc.starts_with(terms.dictionary, "_:")).as_py():
        return terms
    column = pc.dictionary_decode(terms)
    blank = pc.fill_null(pc.starts_with(column, "_:"), _FALSE)
    labels = without_start(column.filter(blank), 2)
    return pc.replace_with_mask(column, blank, _labels(labels, message.filter(blank), scope)).dictionary_encode()


def _scope_within(terms: pa.DictionaryArray, message: pa.Int32Array, scope: str) -> pa.DictionaryArray:
    """The triple terms with their blank nodes scoped, one by one."""
    column = pc.dictionary_decode(terms)
    within = pc.fill_null(triple_terms_with_blank_nodes(column), _FALSE)

    def scoped(label: str, ordinal: int) -> str:
        (renamed,) = _labels(pa.array([label[2:]]), pa.array([ordinal], pa.int32()), scope).to_pylist()
        return str(renamed)

    triples = zip(column.filter(within).to_pylist(), message.filter(within).to_pylist(), strict=True)
    renamed = [rename_blank_nodes(term, partial(scoped, ordinal=ordinal)) for term, ordinal in triples]
    return pc.replace_with_mask(column, within, pa.array(renamed, pa.string())).dictionary_encode()


def _labels(labels: pa.StringArray, message: pa.Int32Array, scope: str) -> pa.StringArray:
    # The scope's length keeps it apart from what follows it, whatever it ends in.
    prefix = f"_:s{len(scope)}x{scope}m"
    parts = (_text(prefix), message.cast(pa.string()), _text("b"), labels)
    kept = pc.binary_join_element_wise(*parts, _text(""))
    odd = pc.match_substring_regex(labels, "[^A-Za-z0-9]")
    if not pc.any(odd).as_py():
        return kept
    encoded = [
        f"{prefix}{ordinal}h{label.encode().hex()}"
        for ordinal, label in zip(message.filter(odd).to_pylist(), labels.filter(odd).to_pylist(), strict=True)
    ]
    return pc.replace_with_mask(kept, odd, pa.array(encoded, pa.string()))


def _text(value: str) -> pa.StringScalar:
    return pa.scalar(value, pa.string())
