"""Tables of a DuckDB connection that are kept for whoever asks for the same again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

_Key = TypeVar("_Key")


class KeptTables(Generic[_Key]):
    """The names of tables by what they have. ``drop`` drops one; what was not used for longest goes first.

    A statement reads any number of them: until it has, none is dropped (``make_room``).
    """

    def __init__(self, most: int, drop: Callable[[str], object]) -> None:
        self._most = most
        self._drop = drop
        self._names: OrderedDict[_Key, str] = OrderedDict()

    def get(self, key: _Key) -> str | None:
        """The table, which is used now; None if there is none."""
        name = self._names.get(key)
        if name is not None:
            self._names.move_to_end(key)
        return name

    def keep(self, key: _Key, name: str) -> None:
        """Keep a table that was made."""
        self._names[key] = name

    def make_room(self, has_room: Callable[[list[str]], bool] = lambda _: True) -> None:
        """Drop what is too much: more tables than are kept, or any as long as the others have no room."""
        while len(self._names) > self._most or (self._names and not has_room(list(self._names.values()))):
            self._drop(self._names.popitem(last=False)[1])

    def drop_where(self, is_outdated: Callable[[_Key], bool]) -> None:
        """Drop those that have what nobody asks for any more."""
        for key in [key for key in self._names if is_outdated(key)]:
            self._drop(self._names.pop(key))

    def forget(self) -> None:
        """There are no tables any more: the database is gone."""
        self._names.clear()
