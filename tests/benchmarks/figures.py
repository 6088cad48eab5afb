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
        """Whether the target is met; nothing to say where it has none."""
        if self.target is None:
            return ""
        met = self.compared >= self.target if self.at_least else self.compared <= self.target
        return "met" if met else "not met"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}

    def cells(self) -> tuple[str, ...]:
        """What stands in a row of a table, under :data:`HEAD`."""
        times = "" if self.baseline is None else " x"
        target = "" if self.target is None else f"{'≥' if self.at_least else '≤'} {shown(self.target)}{times}"
        beside, ratio = (
            ("", "")
            if self.baseline is None
            else (f"{self.baseline_name}: {shown(self.baseline)}", f"{shown(self.compared)} x")
        )
        return self.name, f"{shown(self.value)} {self.unit}".rstrip(), beside, ratio, target, self.verdict


HEAD = ("what", "measured", "beside", "ratio", "target", "")


def table(figures: Sequence[Figure]) -> str:
    """A table in Markdown, with a row for each figure, aligned for who reads it as text."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    head, *body = (
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows
    )
    return "\n".join([head, f"|{'|'.join('-' * (width + 2) for width in widths)}|", *body])


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
