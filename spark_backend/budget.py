"""What one evaluation may take, and the two lanes in which evaluations are made (docs/architecture.md, "Two lanes")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from protocol.evaluation_limits import EvaluationLimits


class Lane(StrEnum):
    """``common``: the streaming query, in which light queries are evaluated together. ``own``: jobs of one query.

    ``new``: jobs of queries that are evaluated for the first time, while others are evaluated already.
    """

    COMMON = "common"
    OWN = "own"
    NEW = "new"


@dataclass(frozen=True)
class Budget:
    """What one evaluation may take: ``seconds``, and bytes of ``memory`` and of its ``answer``.

    It may put as many bytes again as it has memory into files of its own.
    """

    seconds: float = 30.0
    memory: int = 2**31
    answer: int = 2**27

    def asked(self, limits: EvaluationLimits) -> Budget:
        """This budget with what a client asks for, which can only be less."""
        return replace(
            self,
            seconds=self.seconds if limits.seconds is None else min(self.seconds, limits.seconds),
            memory=self.memory if limits.memory is None else min(self.memory, limits.memory),
        )

    def lowered(self, limits: EvaluationLimits) -> EvaluationLimits:
        """Those of the limits that are less than this budget; what asks for as much or more is None."""
        return EvaluationLimits(
            limits.seconds if limits.seconds is not None and limits.seconds < self.seconds else None,
            limits.memory if limits.memory is not None and limits.memory < self.memory else None,
        )

    @property
    def common(self) -> Budget:
        """What an evaluation may take in the common lane, where others wait for it."""
        return replace(self, seconds=min(self.seconds, COMMON_SECONDS), answer=min(self.answer, COMMON_ANSWER))


OWN_AT_ONCE = 2
"""So many evaluations are made at once in lanes of their own; the others wait for their turns."""
COMMON_SECONDS = 0.3
COSTLY_IN_A_ROW = 3
"""A query whose evaluations took more than that, so many in a row, with its share of what tables cost that others read
as well, is in a lane of its own: what is made once, when it is new or its process is, is no reason."""
COMMON_ANSWER = 2**24
