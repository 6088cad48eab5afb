"""Patterns and expressions with parts of theirs replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from protocol.language import algebra as a

T = TypeVar("T")


def with_parts(node: T, /, **parts: object) -> T:
    """A pattern or expression with some of its parts replaced; the same object where they are the same."""
    if all(_same(getattr(node, name), part) for name, part in parts.items()):
        return node
    return replace(node, **parts)  # type: ignore[type-var]  # nodes are dataclasses


def with_names(node: T, names: Mapping[a.Variable, a.Variable]) -> T:
    """A pattern, or a part of one, with other names for variables wherever these are; the names are not in it yet."""
    if isinstance(node, a.Variable):
        return names.get(node, node)  # type: ignore[return-value]  # a Variable for a Variable
    if isinstance(node, tuple):
        return tuple(with_names(one, names) for one in node)  # type: ignore[return-value]  # of the same members
    if not is_dataclass(node):
        return node
    return with_parts(node, **{part.name: with_names(getattr(node, part.name), names) for part in fields(node)})


def _same(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other
