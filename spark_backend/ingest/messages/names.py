"""Blank nodes named by what their message says and when, so that they are the same however it is delivered.

docs/model.md, "Elements and streams": blank nodes are scoped to their message; docs/model.md, "Same log, same answers":
the same elements in any order and batching give the same answers, byte for byte. A name has three parts: a digest of
the stream and of the message's triples with their times; how many equal messages came before it; the node's number in
the message, by order of appearance. The graphs of a message are not in the digest: whether the request or a timestamped
graph tells the time is no difference between elements. The count is the one part that others have a say in: here it is
that within the request, and the log adds what it has (``log.appending.equal_messages``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import is_triple, rename_blank_nodes
from spark_backend.ingest.terms.quads import Quads
from spark_backend.log.appending.equal_messages import scope_name, triple_terms_with_blank_nodes

_EMPTY, _SPACE, _END, _BLANK, _NODE = (pa.scalar(text, pa.string()) for text in ("", " ", ".\n", "_:b", "b"))

_Integers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]

_FEW = 48
"""Below so many statements, one by one is faster than by columns."""


def name_blank_nodes(
    quads: Quads, message: pa.Int32Array, element: pa.Int32Array, times: pa.Int64Array, stream: str
) -> Quads:
    """The quads with every blank node named by its message.

    ``message`` and ``element`` are those of each row, messages never falling; ``times`` (ms) those of the elements.
    ``stream``: its IRI. New labels have ASCII letters and digits only.
    """
    within = pc.any(triple_terms_with_blank_nodes(quads.o.dictionary)).as_py()
    if not within and not any(
        pc.any(pc.starts_with(column.dictionary, "_:")).as_py() for column in (quads.s, quads.o, quads.g)
    ):
        return quads
    named = _one_by_one if within or len(quads) < _FEW else _by_columns
    return named(quads, message, times.take(element), f"{stream}\n".encode())


def _one_by_one(quads: Quads, message: pa.Int32Array, time: pa.Int64Array, stream: bytes) -> Quads:
    s, p, o, g = (column.to_pylist() for column in (quads.s, quads.p, quads.o, quads.g))
    times, owner = time.to_pylist(), message.to_pylist()
    known: dict[str, int] = {}
    begin = 0
    while begin < len(owner):
        end = begin
        numbers = _Numbers()
        lines = []
        while end < len(owner) and owner[end] == owner[begin]:
            subject, object_ = (_written(term, "_:", numbers) for term in (s[end], o[end]))
            lines.append(f"{times[end]} {subject} {p[end]} {object_} .\n")
            end += 1
        for name in g[begin:end]:
            _written(name, "_:", numbers)
        if numbers:
            scope = _scope("".join(lines).encode(), stream, known)
            for column in (s, o, g):
                for row in range(begin, end):
                    column[row] = _written(column[row], scope, numbers)
        begin = end
    s, o, g = (pa.array(column, pa.string()).dictionary_encode() for column in (s, o, g))
    return Quads(g, s, quads.p, o)


class _Numbers(dict[str, int]):
    """The number of each blank node of a message, given when it is first asked for."""

    def __missing__(self, label: str) -> int:
        number = self[label] = len(self)
        return number


def _written(term: str | None, before: str, numbers: _Numbers) -> str | None:
    """The term with its number behind ``before`` for each blank node."""
    if term is None or not (term[0] == "_" or is_triple(term)):
        return term
    return rename_blank_nodes(term, lambda label: f"{before}b{numbers[label]}")


def _by_columns(quads: Quads, message: pa.Int32Array, time: pa.Int64Array, stream: bytes) -> Quads:
    columns = [quads.s, quads.o, quads.g]
    blank = [_blank_rows(column) for column in columns]
    ordinals = message.to_numpy()
    # Rows of the messages that have blank nodes; rows and messages are counted among these from here on.
    rows = np.flatnonzero(np.isin(ordinals, ordinals[blank[0] | blank[1] | blank[2]]))
    concerned, owner = np.unique(ordinals[rows], return_inverse=True)
    taken = pa.array(rows)
    texts = [pc.dictionary_decode(column.take(taken)) for column in columns]
    masks = [mask[rows] for mask in blank]
    numbers = _numbers(texts, masks, owner)
    s, o = (
        pc.replace_with_mask(text, pa.array(mask), pc.binary_join_element_wise(_BLANK, number, _EMPTY))
        for text, mask, number in zip(texts[:2], masks[:2], numbers[:2], strict=True)
    )
    p = pc.dictionary_decode(quads.p.take(taken))
    lines = pc.binary_join_element_wise(time.take(taken).cast(pa.string()), s, p, o, _END, _SPACE)
    begins = np.searchsorted(owner, np.arange(len(concerned)))
    scopes = _scopes(lines, begins, stream)
    named = []
    for column, mask, chosen, number in zip(columns, blank, masks, numbers, strict=True):
        if len(number):
            labels = pc.binary_join_element_wise(scopes.take(pa.array(owner[chosen])), _NODE, number, _EMPTY)
            column = pc.replace_with_mask(pc.dictionary_decode(column), pa.array(mask), labels).dictionary_encode()
        named.append(column)
    s, o, g = named
    return Quads(g, s, quads.p, o)


def _blank_rows(column: pa.DictionaryArray) -> _Mask:
    """Which rows have a blank node."""
    blank = pc.starts_with(column.dictionary, "_:").take(column.indices)
    mask: _Mask = pc.fill_null(blank, False).to_numpy(zero_copy_only=False)
    return mask


def _numbers(texts: Sequence[pa.StringArray], masks: Sequence[_Mask], owner: _Integers) -> list[pa.StringArray]:
    """The numbers of the blank nodes of each column: counted from 0 within the message (``owner``).

    By first appearance in subjects and objects, row by row; then in graphs.
    """
    labels = pa.concat_arrays([text.filter(pa.array(mask)) for text, mask in zip(texts, masks, strict=True)])
    encoded = labels.dictionary_encode()
    at = [np.flatnonzero(mask) for mask in masks]
    place = np.concatenate([2 * at[0], 2 * at[1] + 1, 2 * len(owner) + at[2]])
    order = np.argsort(place)
    key = np.concatenate([owner[rows] for rows in at]) * len(encoded.dictionary) + encoded.indices.to_numpy()
    # Nodes in the order of their messages, with the first place of each.
    nodes, first, node = np.unique(key[order], return_index=True, return_inverse=True)
    of_message = nodes // len(encoded.dictionary)
    rank = np.empty(len(nodes), np.int64)
    rank[np.lexsort((first, of_message))] = np.arange(len(nodes))
    number = np.empty(len(key), np.int64)
    number[order] = (rank - np.searchsorted(of_message, of_message))[node]
    written = pa.array(number).cast(pa.string())
    ends = np.cumsum([len(rows) for rows in at]).tolist()
    return [written.slice(end - len(rows), len(rows)) for rows, end in zip(at, ends, strict=True)]


def _scopes(lines: pa.StringArray, begins: _Integers, stream: bytes) -> pa.StringArray:
    """The names of messages, given their lines and where those of each begin."""
    _, offsets, characters = lines.buffers()
    bounds = np.frombuffer(offsets, np.int32)[lines.offset :][: len(lines) + 1]
    text, starts = memoryview(characters), bounds[begins].tolist()
    known: dict[str, int] = {}
    ends = [*starts[1:], int(bounds[-1])]
    names = [_scope(text[start:end], stream, known) for start, end in zip(starts, ends, strict=True)]
    return pa.array(names, pa.string())


def _scope(content: bytes | memoryview, stream: bytes, known: dict[str, int]) -> str:
    """The name of a message with this content; ``known`` has the last count of each digest in the request."""
    digest = hashlib.blake2b(stream, digest_size=16)
    digest.update(content)
    name = digest.hexdigest()
    before = known[name] = known.get(name, -1) + 1
    return scope_name(name, before)
