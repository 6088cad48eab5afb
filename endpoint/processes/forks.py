"""What belongs to a process and not to the forks of it, which have all that it has in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def only_here(function: Callable[P, object]) -> Callable[P, None]:
    """The function for the end of this process: in a fork of it, which ends sooner, it does nothing."""
    here = os.getpid()

    def called(*args: P.args, **kwargs: P.kwargs) -> None:
        if os.getpid() == here:
            function(*args, **kwargs)

    return called
