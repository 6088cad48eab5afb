"""The lines of a text in N-Triples or N-Quads, cut where white space is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_backend.ingest.terms.texts import Bounds, Positions, slices

_TAB, _LINE_FEED, _RETURN, _SPACE, _QUOTE, _FULL_STOP, _LESS, _GREATER, _LOW_LINE = b'\t\n\r ".<>_'

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Lines:
    """Lines of a text that hold anything, by their tokens: what white space is around.

    ``starts``, ``ends``: of all tokens of the text; ``first``, ``last``: which are the first and the last of each line.
    """

    text: bytes
    characters: npt.NDArray[np.uint8]
    starts: Positions
    ends: Positions
    first: Positions
    last: Positions

    @classmethod
    def of(cls, text: bytes) -> Lines | None:
        """Those of a text with a line feed at its end; None where it has control characters that are no white space."""
        characters = np.frombuffer(text, np.uint8)
        spaces = np.flatnonzero(characters <= _SPACE)
        kinds = characters[spaces]
        line_ends, returns = kinds == _LINE_FEED, kinds == _RETURN
        if not np.all((kinds == _SPACE) | line_ends | (kinds == _TAB) | returns):
            return None
        if np.any(returns) and not np.all(characters[spaces[returns] + 1] == _LINE_FEED):
            return None
        lengths = np.diff(spaces, prepend=-1) - 1
        has_token = lengths > 0
        upto = np.cumsum(has_token)[line_ends]
        ends = spaces[has_token]
        first, last = np.concatenate(([0], upto))[:-1], upto - 1
        there = last >= first
        return cls(text, characters, ends - lengths[has_token], ends, first[there], last[there])

    def __len__(self) -> int:
        return len(self.first)

    @property
    def initials(self) -> npt.NDArray[np.uint8]:
        """The character that each line begins with."""
        return self.characters[self.starts[self.first]]

    def filter(self, mask: Mask) -> Lines:
        """The lines for which the mask is true."""
        return Lines(self.text, self.characters, self.starts, self.ends, self.first[mask], self.last[mask])

    def alone(self) -> bytes:
        """A text of these lines alone."""
        (texts,) = slices(self.text, (self.starts[self.first], self.ends[self.last]))
        whole = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
        return bytes(pc.binary_join(whole, "\n")[0].as_buffer())

    def terms(self, *, graphs: bool) -> tuple[Mask, list[Bounds]]:
        """Which lines may be statements, and where the terms of these are: s, p, o and, with ``graphs``, g.

        Where g is empty, a line names no graph. What may be a graph or the last word of a literal is taken for a graph.
        """
        starts, ends, characters = self.starts, self.ends, self.characters
        first, last = self.first, self.last
        stop_apart = ends[last] - starts[last] == 1
        # The last token of the last term, and where that ends.
        final = last - stop_apart
        end = np.where(stop_apart, ends[final], ends[last] - 1)
        taken: Mask = (characters[ends[last] - 1] == _FULL_STOP) & (final >= first + 2)
        if not np.all(taken):
            first, final, end = first[taken], final[taken], end[taken]
        object_end = end
        if graphs:
            # A guess: a literal may end in what looks so.
            begins, closes = characters[starts[final]], characters[end - 1]
            looks_so = ((begins == _LESS) & (closes == _GREATER)) | ((begins == _LOW_LINE) & (closes != _QUOTE))
            named = looks_so & (final > first + 2)
            object_end = np.where(named, ends[final - 1], end)
            graph = (np.where(named, starts[final], end), end)
        s, p, o = ((starts[first], ends[first]), (starts[first + 1], ends[first + 1]), (starts[first + 2], object_end))
        return taken, [s, p, o, graph] if graphs else [s, p, o]
