"""Pairs of numbers, sorted both ways: the subjects and objects of all triples with one predicate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from protocol.integers import Numbers

_BITS = 32
_LOW = (1 << _BITS) - 1

NO_NUMBERS: Numbers = np.empty(0, np.int64)


def paired(left: Numbers, right: Numbers) -> Numbers:
    """Each pair as one number, which sorts as the pair does; both are below 2**31."""
    return (left << _BITS) | right


def subjects_of(pairs: Numbers) -> Numbers:
    return pairs >> _BITS


def objects_of(pairs: Numbers) -> Numbers:
    return pairs & _LOW


def is_among(numbers: Numbers, ordered: Numbers) -> npt.NDArray[np.bool_]:
    """Of each number, whether it is one of the sorted ones."""
    if not len(ordered):
        return np.zeros(len(numbers), np.bool_)
    at = np.searchsorted(ordered, numbers)
    at[at == len(ordered)] = 0
    return np.equal(ordered[at], numbers)


class Relation:
    """The pairs (subject, object) of one predicate, each once; it is never changed."""

    def __init__(self, pairs: Numbers = NO_NUMBERS) -> None:
        """``pairs`` are sorted, each once."""
        self.pairs = pairs
        self._reversed: Numbers | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def subjects(self) -> Numbers:
        return subjects_of(self.pairs)

    @property
    def objects(self) -> Numbers:
        return objects_of(self.pairs)

    @property
    def reversed(self) -> Numbers:
        """The pairs (object, subject), sorted."""
        if self._reversed is None:
            self._reversed = np.sort(paired(self.objects, self.subjects))
        return self._reversed

    def with_new(self, new: Relation) -> Relation:
        """With other pairs, none of which is here."""
        if not len(self):
            return new
        if not len(new):
            return self
        whole = Relation(_merged(self.pairs, new.pairs))
        if self._reversed is not None:
            whole._reversed = _merged(self._reversed, new.reversed)
        return whole

    def without(self, pairs: Numbers) -> Numbers:
        """Those of the pairs that are not here."""
        return pairs[~is_among(pairs, self.pairs)]

    def count(self, subject: int | None, object: int | None) -> int:
        """How many pairs have this subject, or this object (None: any)."""
        if subject is not None:
            return _counted(self.pairs, subject)
        return len(self) if object is None else _counted(self.reversed, object)

    def objects_of(self, subjects: Numbers) -> tuple[Numbers, Numbers]:
        """Which of the subjects (by its index), and an object that it has, for all that match."""
        return _matched(self.pairs, subjects)

    def subjects_of(self, objects: Numbers) -> tuple[Numbers, Numbers]:
        """Which of the objects (by its index), and a subject that has it, for all that match."""
        return _matched(self.reversed, objects)


def _merged(ordered: Numbers, others: Numbers) -> Numbers:
    return np.insert(ordered, np.searchsorted(ordered, others), others)


def _counted(ordered: Numbers, left: int) -> int:
    first, last = np.searchsorted(ordered, np.array([left << _BITS, (left + 1) << _BITS], np.int64))
    return int(last - first)


def _matched(ordered: Numbers, lefts: Numbers) -> tuple[Numbers, Numbers]:
    first = np.searchsorted(ordered, lefts << _BITS)
    counts = np.searchsorted(ordered, (lefts + 1) << _BITS) - first
    which = np.repeat(np.arange(len(lefts)), counts)
    begun = np.cumsum(counts) - counts
    at = np.arange(len(which)) - begun[which] + first[which]
    return which, ordered[at] & _LOW
