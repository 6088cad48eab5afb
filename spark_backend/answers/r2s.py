"""Relation-to-stream operators by membership, multiplicities kept (RSP-QL Definitions 20 to 22)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from protocol.language.model import R2S


def relation_to_stream(
    operator: R2S, current: Sequence[Hashable], previous: Sequence[Hashable]
) -> tuple[Sequence[int], bool]:
    """Which solutions an operator streams out: their places, and whether they are those of ``previous``.

    RSTREAM all of the current ones, ISTREAM the current ones that are not among the previous, DSTREAM the
    previous ones that are not among the current. Solutions are told apart by their text.
    """
    match operator:
        case R2S.RSTREAM:
            return range(len(current)), False
        case R2S.ISTREAM:
            known = frozenset(previous)
            return [place for place, solution in enumerate(current) if solution not in known], False
        case R2S.DSTREAM:
            known = frozenset(current)
            return [place for place, solution in enumerate(previous) if solution not in known], True
