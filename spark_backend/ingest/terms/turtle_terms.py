"""Terms as Turtle writes them become canonical, a column at a time (RDF 1.1 Turtle, sections 2.2 to 2.6).

Those of the usual shapes: whole IRIs in angle brackets, prefixed names of letters and digits, blank nodes with a label,
numbers, booleans, strings in two quotes without escapes. What has another shape is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import RDF_TYPE, XSD
from spark_backend.ingest.terms.texts import characters_of, slices, without_start

_MOST_PREFIXES = 64
"""A document that declares more is left to the parser: each is looked for among all names."""

_MOST_ADDED = 2**28
"""So are terms to which prefixes may add more bytes than this: the process that parses them is bounded."""

# In RE2's syntax and Python's. Of an IRI, what is relative, or has segments that resolving it would take away
# (RFC 3986 section 5.2.4), is not the one that is written.
_IRI = r'<[A-Za-z][A-Za-z0-9+.-]*:[^<>"{}|^`\\\x00-\x20]*>'
_DOTS = r"[:/]\."
_NAME = r"(?:[A-Za-z][A-Za-z0-9_-]*)?:(?:[A-Za-z0-9_:](?:[A-Za-z0-9_:.-]*[A-Za-z0-9_:-])?)?"
_BLANK_NODE = r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?"
_STRING = rf'"[^"\\\x00-\x1f]*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^(?:{_IRI}|{_NAME}))?'
_NUMBERS = (
    ("integer", r"[+-]?[0-9]+"),
    ("decimal", r"[+-]?[0-9]*\.[0-9]+"),
    ("double", r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"),
)
_VERBS = {"a": RDF_TYPE}
_BOOLEANS = {word: f'"{word}"^^<{XSD}boolean>' for word in ("true", "false")}

_LESS, _QUOTE, _LOW_LINE = b'<"_'
_BEGIN_NUMBERS = np.isin(np.arange(256), list(b"0123456789+-."))

_Mask = npt.NDArray[np.bool_]
_Read = Callable[[pa.StringArray], pa.StringArray | None]


class TurtleTerms:
    """Terms of a document that declares these prefixes, each for an absolute IRI."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = prefixes
        self._longest = max((len(iri.encode()) for iri in prefixes.values()), default=0)

    def verbs(self, texts: pa.StringArray) -> pa.DictionaryArray | None:
        """As ``terms``, where ``a`` may stand, and is an IRI (Turtle [9])."""
        return self._encoded(texts, _VERBS)

    def terms(self, texts: pa.StringArray) -> pa.DictionaryArray | None:
        """The terms that are written so, none twice in the dictionary; None where one has another shape.

        They are canonical if they are any in N-Triples: an IRI may have characters that none has there, and a string
        may have the datatype that it has anyway.
        """
        return self._encoded(texts, _BOOLEANS)

    def _encoded(self, texts: pa.StringArray, words: Mapping[str, str]) -> pa.DictionaryArray | None:
        written = texts.dictionary_encode()
        terms = self._canonical(written.dictionary, words)
        if terms is None:
            return None
        distinct = terms.dictionary_encode()
        if len(distinct.dictionary) == len(terms):
            return pa.DictionaryArray.from_arrays(written.indices, terms)
        return distinct.take(written.indices)

    def _canonical(self, texts: pa.StringArray, words: Mapping[str, str]) -> pa.StringArray | None:
        if len(self._prefixes) > _MOST_PREFIXES or len(texts) * self._longest > _MOST_ADDED:
            return None
        bounds, characters = characters_of(texts)
        initials = characters[bounds[:-1]]
        in_angles, quoted, labels = initials == _LESS, initials == _QUOTE, initials == _LOW_LINE
        numbers = _BEGIN_NUMBERS[initials]
        return _by_shape(
            texts,
            (in_angles, _iris),
            (quoted, self._strings),
            (labels, _blank_nodes),
            (numbers, _numbers),
            (~(in_angles | quoted | labels | numbers), lambda others: self._names(others, words)),
        )

    def _strings(self, texts: pa.StringArray) -> pa.StringArray | None:
        if not _all_match(texts, _STRING):
            return None
        offsets, characters = characters_of(texts)
        bounds = offsets.astype(np.int64)
        # Each has two quotes, of which the first is where it begins.
        closing = bounds[0] + np.flatnonzero(characters[bounds[0] : bounds[-1]] == _QUOTE)[1::2]
        forms, suffixes = slices(characters, (bounds[:-1], closing + 1), (closing + 1, bounds[1:]))
        behind = suffixes.dictionary_encode()
        written = [self._suffix(suffix) for suffix in behind.dictionary.to_pylist()]
        if any(suffix is None for suffix in written):
            return None
        return pc.binary_join_element_wise(forms, pa.array(written, pa.string()).take(behind.indices), "")

    def _suffix(self, suffix: str) -> str | None:
        """What stands behind a string, with its datatype as an IRI; None where that has no such name."""
        if not suffix.startswith("^^") or suffix.startswith("^^<"):
            return None if re.search(_DOTS, suffix) else suffix
        prefix, _, local = suffix.removeprefix("^^").partition(":")
        return f"^^<{self._prefixes[prefix]}{local}>" if prefix in self._prefixes else None

    def _names(self, texts: pa.StringArray, words: Mapping[str, str]) -> pa.StringArray | None:
        """Prefixed names and, of words, those that mean a term."""
        shapes = [
            (pc.starts_with(texts, f"{prefix}:"), partial(_prefixed, length=len(prefix) + 1, iri=iri))
            for prefix, iri in self._prefixes.items()
        ]
        shapes += [(pc.equal(texts, word), partial(_repeated, term=term)) for word, term in words.items()]
        return _by_shape(texts, *((mask.to_numpy(zero_copy_only=False), read) for mask, read in shapes))


def _by_shape(texts: pa.StringArray, *shapes: tuple[_Mask, _Read]) -> pa.StringArray | None:
    """The terms that are written so, by the shape that each has; None where one has none, or not quite."""
    rows, terms = [], []
    for mask, read in shapes:
        if np.any(mask):
            rows.append(np.flatnonzero(mask))
            found = read(texts.take(pa.array(rows[-1])))
            if found is None:
                return None
            terms.append(found)
    if sum(map(len, rows)) != len(texts):
        return None
    return pa.concat_arrays(terms).take(pa.array(np.argsort(np.concatenate(rows)))) if terms else texts


def _matching(texts: pa.StringArray, shape: str) -> _Mask:
    found: _Mask = pc.match_substring_regex(texts, f"^(?:{shape})$").to_numpy(zero_copy_only=False)
    return found


def _all_match(texts: pa.StringArray, shape: str) -> bool:
    return bool(np.all(_matching(texts, shape)))


def _iris(texts: pa.StringArray) -> pa.StringArray | None:
    are_whole = _all_match(texts, _IRI) and not pc.any(pc.match_substring_regex(texts, _DOTS)).as_py()
    return texts if are_whole else None


def _blank_nodes(texts: pa.StringArray) -> pa.StringArray | None:
    return texts if _all_match(texts, _BLANK_NODE) else None


def _prefixed(texts: pa.StringArray, length: int, iri: str) -> pa.StringArray | None:
    """Names whose prefix, with its colon, has this length."""
    if not _all_match(texts, _NAME):
        return None
    return pc.binary_join_element_wise(f"<{iri}", without_start(texts, length), ">", "")


def _repeated(texts: pa.StringArray, term: str) -> pa.StringArray:
    return pa.repeat(pa.scalar(term, pa.string()), len(texts))


def _numbers(texts: pa.StringArray) -> pa.StringArray | None:
    return _by_shape(
        texts, *((_matching(texts, shape), partial(_typed, datatype=XSD + name)) for name, shape in _NUMBERS)
    )


def _typed(forms: pa.StringArray, datatype: str) -> pa.StringArray:
    return pc.binary_join_element_wise('"', forms, f'"^^<{datatype}>', "")
