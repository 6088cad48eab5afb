"""Tables of which the ordinary run asks a third, and the slow one the rest."""

from __future__ import annotations

import pytest


def third(*places: int) -> tuple[pytest.MarkDecorator, ...]:
    """The marks of the combination of what is at these places. Of three values, any two meet in either round."""
    return (pytest.mark.slow,) if sum(places) % 3 else ()
