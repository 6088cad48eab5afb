"""Standard input, output and error as whoever started the command has left them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""In the order of their descriptors: what is opened has the lowest that is free."""


def open_closed() -> None:
    """Have each that is closed (``<&-`` in a shell) be as ``/dev/null``.

    Else files and sockets would have their descriptors, and be given what a library or a child prints.
    """
    for name, mode in _MODES.items():
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115  until the process ends
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def drop_output() -> None:
    """Have what standard output did not take not be tried again when the interpreter ends, which would say so."""
    with suppress(OSError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def announce(text: str) -> None:
    """Print this, or nothing where it is not taken."""
    try:
        click.echo(text)
    except OSError:
        drop_output()
