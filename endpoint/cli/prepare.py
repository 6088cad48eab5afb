"""``sparql-streams prepare``: what is done once for an installation."""

from __future__ import annotations

import click

from protocol.errors import ProtocolError


@click.command()
def prepare() -> None:
    """Have Spark start in about half the time from now on: takes half a minute, and some 170 MB.

    An archive of its classes is written into this Python environment. It holds for the Java that is found now, and
    until Spark is updated; with another one, Spark starts as without it.
    """
    # Importing Spark takes a while; --help need not wait for that.
    from spark_backend.class_recording import record_classes

    try:
        archive = record_classes()
    except ProtocolError as error:
        raise click.ClickException(error.detail) from error
    except OSError as error:
        raise click.ClickException(f"the archive of Spark's classes cannot be written: {error}") from error
    click.echo(f"Spark's classes are in {archive}")
