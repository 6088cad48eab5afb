"""What every part of a SQL tree has in common: how it is written, as DuckDB reads it.

A tree is written once, into pieces: text, and between it the placeholders (``placeholders``). Filling them in is
joining texts, at every evaluation; nothing that was written is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property


class Node:
    """A part of a SQL statement. It never changes."""

    def parts(self) -> Iterable[str | Node]:
        """What it is written as, in order: words, and the nodes that it is made of."""
        raise NotImplementedError

    @property
    def written(self) -> Pieces:
        return written(self.parts())


class Placeholder(Node):
    """What stands for a table or a constant that is known where the statement is evaluated."""

    def parts(self) -> Iterable[str | Node]:
        return (self,)

    @property
    def written(self) -> Pieces:
        return (self,)

    @property
    def name(self) -> str:
        """How it is called where nothing is filled in."""
        raise NotImplementedError


Pieces = tuple[str | Placeholder, ...]
"""A written tree. No two texts in it follow each other."""

_PLACEHOLDER_LENGTH = 24


@dataclass(frozen=True, eq=False, repr=False)
class Expression(Node):
    """A part that has a value in every row. Two are equal where they are written alike.

    One expression may be a part of many others: what it is written as is kept.
    """

    @cached_property
    def written(self) -> Pieces:
        return written(self.parts())

    @cached_property
    def length(self) -> int:
        """Of what is written, in characters, about."""
        return sum(len(piece) if isinstance(piece, str) else _PLACEHOLDER_LENGTH for piece in self.written)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.written == other.written

    def __hash__(self) -> int:
        return hash(self.written)

    def __repr__(self) -> str:
        return f"<{named(self.written)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Word(Expression):
    """An expression that has no parts: a name, a literal."""

    def parts(self) -> Iterable[str | Node]:
        return (self.text,)

    @property
    def text(self) -> str:
        raise NotImplementedError


def written(parts: Iterable[str | Node]) -> Pieces:
    """The pieces of several parts, one behind the other.

    Without recursion: a statement may nest deeper than Python's stack is.
    """
    found: list[str | Placeholder] = []
    begun: list[tuple[Node | None, Iterator[str | Node], list[str | Placeholder]]] = [(None, iter(parts), found)]
    while begun:
        node, rest, pieces = begun[-1]
        for part in rest:
            if isinstance(part, str | Placeholder):
                pieces.append(part)
            elif not isinstance(part, Expression):
                begun.append((part, iter(part.parts()), pieces))
                break
            elif isinstance(part, Word):
                pieces.append(part.text)
            elif (known := vars(part).get(_WRITTEN)) is not None:
                pieces += known
            else:
                begun.append((part, iter(part.parts()), []))
                break
        else:
            begun.pop()
            if isinstance(node, Expression):
                vars(node)[_WRITTEN] = own = _merged(pieces)
                begun[-1][2].extend(own)
    return _merged(found)


_WRITTEN = "written"
"""The attribute in which an expression keeps what it is written as."""


def _merged(pieces: Sequence[str | Placeholder]) -> Pieces:
    """Pieces, texts that follow each other made one."""
    merged: list[str | Placeholder] = []
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        if texts:
            merged.append("".join(texts))
            texts = []
        merged.append(piece)
    if texts:
        merged.append("".join(texts))
    return tuple(merged)


def separated(separator: str, nodes: Sequence[Node]) -> list[str | Node]:
    """Nodes with a separator between any two of them."""
    found: list[str | Node] = []
    for node in nodes:
        if found:
            found.append(separator)
        found.append(node)
    return found


def filled(pieces: Pieces, fill: Callable[[Placeholder], str]) -> str:
    """The text of a written tree, its placeholders filled in."""
    return "".join([piece if isinstance(piece, str) else fill(piece) for piece in pieces])


def named(pieces: Pieces) -> str:
    """The text of a written tree, its placeholders by their names."""
    return filled(pieces, lambda placeholder: placeholder.name)
