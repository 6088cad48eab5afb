"""A cost against a size on log-log axes: the slope of the line through the points, and a picture of it in SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _RIGHT, _TOP = 760, 520, 80, 60, 250, 40
_COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b", "#555555")


def slope(points: Points) -> float:
    """The exponent b of the power law a·xᵇ that is nearest to the points (least squares of the logarithms)."""
    xs, ys = ([math.log10(point[axis]) for point in points] for axis in (0, 1))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def picture(title: str, x_name: str, y_name: str, lines: Mapping[str, Points]) -> str:
    """An SVG document: a line with its points for each name, both axes logarithmic."""
    x = _Axis([point[0] for points in lines.values() for point in points], _LEFT, _WIDTH - _RIGHT)
    y = _Axis([point[1] for points in lines.values() for point in points], _HEIGHT - _BOTTOM, _TOP)
    size = f'width="{_WIDTH}" height="{_HEIGHT}"'
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 24, title, size=15),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, x_name, anchor="middle"),
        f'<text transform="translate(18 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y_name)}</text>',
    ]
    for decade in x.decades:
        drawn.append(_rule(x.at(decade), _TOP, x.at(decade), _HEIGHT - _BOTTOM))
        drawn.append(_text(x.at(decade), _HEIGHT - _BOTTOM + 18, f"{decade:,.0f}", anchor="middle"))
    for decade in y.decades:
        drawn.append(_rule(_LEFT, y.at(decade), _WIDTH - _RIGHT, y.at(decade)))
        drawn.append(_text(_LEFT - 8, y.at(decade) + 4, f"{decade:g}", anchor="end"))
    for place, (name, points) in enumerate(lines.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        at = [(x.at(a), y.at(b)) for a, b in points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in at]
        drawn.append(f'<circle cx="{_WIDTH - _RIGHT + 20}" cy="{_TOP + 20 * place + 6}" r="4" fill="{colour}"/>')
        told = f"{name}: slope {slope(points):.2f}" if len(points) > 1 else name
        drawn.append(_text(_WIDTH - _RIGHT + 32, _TOP + 20 * place + 10, told))
    return "\n".join([*drawn, "</svg>", ""])


class _Axis:
    """Values to pixels, from the decade below the least to the one above the greatest."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self._low, self._high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self._high = max(self._high, self._low + 1)
        self._begin, self._end = begin, end

    @property
    def decades(self) -> list[float]:
        return [10.0**exponent for exponent in range(self._low, self._high + 1)]

    def at(self, value: float) -> float:
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return self._begin + part * (self._end - self._begin)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'
