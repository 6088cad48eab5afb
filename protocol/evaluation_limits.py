"""What clients ask for of the time and memory that one evaluation may take (docs/http.md, "Standing queries")."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EvaluationLimits:
    """What one evaluation may take where a client asks for less than the settings say: seconds, bytes of memory."""

    seconds: float | None = None
    memory: int | None = None


NO_LIMITS = EvaluationLimits()
"""A client asks for none: those of the settings hold."""
LEAST_EVALUATION_MEMORY = 2**26
"""Bytes below which an evaluation cannot even begin."""
