"""Matches of a rule's premises, as columns of numbers: one column a variable, one row a match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from protocol.entailment.relation import NO_NUMBERS, Relation, is_among, paired
from protocol.integers import Numbers

Place = int | str
"""A term's number, or the name of a variable."""
NumberedPattern = tuple[Place, Place, Place]
Triples = Mapping[int, Relation]
"""By predicate."""

_NOTHING = Relation()


@dataclass(frozen=True)
class Premise:
    """A pattern, and the triples that it is to match."""

    pattern: NumberedPattern
    triples: Triples
    size: int
    """How many triples there are."""

    def least(self) -> int:
        """No more matches than these, whatever the other premises leave of them."""
        subject, predicate, object = (place if isinstance(place, int) else None for place in self.pattern)
        if predicate is None:
            return self.size
        return self.triples.get(predicate, _NOTHING).count(subject, object)


@dataclass(frozen=True)
class Matches:
    """So many rows of columns of equal length."""

    rows: int
    columns: Mapping[str, Numbers]

    def taken(self, rows: Numbers, more: Mapping[str, Numbers]) -> Matches:
        """Some of the rows (by their indexes), with more columns beside them."""
        return Matches(len(rows), {**{name: column[rows] for name, column in self.columns.items()}, **more})


_UNIT = Matches(1, {})


def matches(premises: Sequence[Premise], unequal: Sequence[tuple[str, str]] = ()) -> Matches:
    """What matches all of them: the smallest first, and then the smallest of those that share a variable with it.

    Where the variables of a pair in ``unequal`` are the same, it is left out as soon as that is known.

    A premise whose predicate is a variable comes after one that binds that, where there is one.
    """
    waiting = list(premises)
    found = _UNIT
    while waiting:
        joined = [one for one in waiting if any(place in found.columns for place in one.pattern)]
        chosen = min(joined or waiting, key=lambda one: _cost(one, found))
        waiting.remove(chosen)
        found = _extended(found, chosen)
        for left, right in unequal:
            if found.rows and left in found.columns and right in found.columns:
                found = found.taken(np.flatnonzero(found.columns[left] != found.columns[right]), {})
        if not found.rows:
            return found
    return found


def _cost(premise: Premise, found: Matches) -> tuple[bool, int]:
    return isinstance(premise.pattern[1], str) and premise.pattern[1] not in found.columns, premise.least()


def _extended(found: Matches, premise: Premise) -> Matches:
    subject, predicate, object = premise.pattern
    if isinstance(predicate, int):
        return _with(found, premise.triples.get(predicate, _NOTHING), subject, object)
    if predicate not in found.columns:
        parts = [
            _named(_with(found, relation, subject, object), predicate, number)
            for number, relation in premise.triples.items()
            if len(relation)
        ]
        return _together([part for part in parts if part.rows])
    column = found.columns[predicate]
    parts = []
    for number in np.unique(column).tolist():
        if relation := premise.triples.get(number):
            rows = np.flatnonzero(column == number)
            parts.append(_with(found.taken(rows, {}), relation, subject, object))
    return _together([part for part in parts if part.rows])


def _named(found: Matches, name: str, number: int) -> Matches:
    """With a column that is the same in all rows, or where it is there already, those in which it is this."""
    if name in found.columns:
        return found.taken(np.flatnonzero(found.columns[name] == number), {})
    return Matches(found.rows, {**found.columns, name: np.full(found.rows, number, np.int64)})


def _with(found: Matches, relation: Relation, subject: Place, object: Place) -> Matches:
    subjects, objects = _bound(found, subject), _bound(found, object)
    if subjects is not None and objects is not None:
        return found.taken(np.flatnonzero(is_among(paired(subjects, objects), relation.pairs)), {})
    if subjects is not None:
        rows, values = relation.objects_of(subjects)
        return found.taken(rows, {str(object): values})
    if objects is not None:
        rows, values = relation.subjects_of(objects)
        return found.taken(rows, {str(subject): values})
    columns = {str(subject): relation.subjects, str(object): relation.objects}
    if subject == object:
        same = columns[str(subject)]
        columns = {str(subject): same[relation.subjects == relation.objects]}
    size = len(next(iter(columns.values())))
    rows = np.repeat(np.arange(found.rows), size)
    return found.taken(rows, {name: np.tile(column, found.rows) for name, column in columns.items()})


def _bound(found: Matches, place: Place) -> Numbers | None:
    if isinstance(place, int):
        return np.full(found.rows, place, np.int64)
    return found.columns.get(place)


def _together(parts: Sequence[Matches]) -> Matches:
    if not parts:
        return Matches(0, {})
    names = parts[0].columns
    return Matches(
        sum(part.rows for part in parts),
        {name: np.concatenate([part.columns[name] for part in parts]) for name in names},
    )


def column(found: Matches, place: Place) -> Numbers:
    """What a conclusion has at this place, a number a row."""
    bound = _bound(found, place)
    return NO_NUMBERS if bound is None else bound
