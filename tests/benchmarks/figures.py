"""Figures of a benchmark: what was measured, beside the baseline of the same run and the target."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    ``value`` and ``baseline`` are medians in ``unit``; ``compared`` is what the target is about: their ratio, or the
    value itself where there is no baseline. ``at_least`` says on which side of ``target`` the figure should be.
    A figure without a target is information.
    """

    benchmark: str
    name: str
    value: float
    unit: str
    compared: float
    target: float | None = None
    at_least: bool = True
    baseline: float | None = None
    baseline_name: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Which side of the target the figure is on; nothing to say where it has none."""
        if self.target is None:
            return ""
        ahead = self.compared >= self.target if self.at_least else self.compared <= self.target
        return "ahead" if ahead else "behind"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}

    def line(self) -> str:
        measured = f"{shown(self.value)} {self.unit}"
        if self.baseline is not None:
            measured += f"  {shown(self.compared)} x {self.baseline_name} ({shown(self.baseline)})"
        if self.target is None:
            return f"({self.benchmark}) {self.name:<44} {measured}"
        wanted = (
            f"target {'>=' if self.at_least else '<='} {shown(self.target)}{' x' if self.baseline is not None else ''}"
        )
        return f"({self.benchmark}) {self.name:<44} {measured}  [{wanted}]  {self.verdict}"


def shown(number: float) -> str:
    """A number with about three digits that mean something."""
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def median_of(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]
