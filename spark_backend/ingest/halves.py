"""Finding what is wrong among much that is right: by halves, as mostly little is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from protocol.errors import ProtocolError, Unavailable
from protocol.shapes.violation import ShapeViolation

Thing = TypeVar("Thing")
Read = TypeVar("Read")
Wrong = TypeVar("Wrong", bound=ProtocolError)


def read_by_halves(
    things: Sequence[Thing], read: Callable[[Sequence[Thing]], Read], wrong: type[Wrong]
) -> tuple[list[Read], list[tuple[Thing, Wrong]]]:
    """Read as many together as can be: what was read, and what could not be read even alone, with why; in their order.

    ``read`` reads some in their order, or raises ``wrong`` where one of them is. Whatever else it raises is
    raised here, and so is Unavailable, which says nothing of them.
    """
    done: list[Read] = []
    found: list[tuple[Thing, Wrong]] = []
    waiting = [things]
    while waiting:
        some = waiting.pop()
        try:
            done.append(read(some))
        except Unavailable:
            raise
        except wrong as error:
            if len(some) == 1:
                found.append((some[0], error))
            elif isinstance(error, ShapeViolation) and error.messages == len(some):
                # It tells at once which they are, so the others are read together.
                alone = error.alone()
                found += [(some[place], one) for place, one in alone.items() if isinstance(one, wrong)]
                rest = [one for place, one in enumerate(some) if place not in alone]
                waiting += [rest] if rest else []
            else:
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
    return done, found
