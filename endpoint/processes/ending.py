"""What the end of a process that evaluates is to whoever waited for it, when nobody here has ended it."""

from __future__ import annotations

import signal

from endpoint.processes.child import ChildProcess
from protocol.errors import ProtocolError, Unavailable


def ended_for_memory(
    process: ChildProcess, does: str, again: str, exceeded: ProtocolError | None
) -> ProtocolError | None:
    """The error where its limit of memory ended it, or somebody else, as the system does; None: neither did.

    ``does``: what the process does; ``again``: what has become of the request, and what to do. ``exceeded``: the error
    where it needed more than its limit; None: it has none.
    """
    # What allocates in vain aborts: nothing else does.
    if exceeded is not None and process.exit_code == -signal.SIGABRT:
        return exceeded
    if process.ended_from_outside:
        code = process.exit_code
        by = "" if code is None else f" ({signal.Signals(-code).name})"
        return Unavailable(
            f"the process that {does} was ended from outside{by}, as the system does where memory runs out: {again}"
        )
    return None


def said_of_end(process: ChildProcess, does: str, evaluated: str, seconds: float) -> str:
    """How it ended, in a sentence; ``evaluated``: what it had to evaluate. Waits for so many seconds to know it."""
    return (
        f"the process that {does} {process.how_it_ended(seconds)}: the {evaluated} may be nested too deeply, or need "
        "more memory than there is; others are not affected"
    )
