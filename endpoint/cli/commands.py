"""The group of all commands."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from typing import Any

import click

from endpoint.cli.demo import demo
from endpoint.cli.doctor import backup, doctor, restore
from endpoint.cli.prepare import prepare
from endpoint.cli.publish import publish
from endpoint.cli.query import query
from endpoint.cli.register import queries, register
from endpoint.cli.serve import serve
from endpoint.cli.standard_streams import drop_output, open_closed
from endpoint.cli.streams import streams
from endpoint.cli.subscribe import subscribe

ENTRY_POINTS = "sparql_streams.commands"
"""Where a package announces commands of its own: entry points of this group, each a ``click.Command``."""


_INTERRUPTED = 128 + 2
"""What a command ends with at Ctrl-C, as in a shell: 128 and the number of the signal."""

_BESIDE = 20
"""So many characters are shown before one that cannot be written."""


class Commands(click.Group):
    """Commands of this package, and those that other packages announce, which are loaded when they are asked for."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """As ``click.Group.main``; what is printed and not taken, by a full disk for example, is told in one line.

        So is what is no text: an argument's bytes that are not UTF-8, or what the terminal's encoding does not have.
        """
        open_closed()
        try:
            return super().main(*args, **extra)
        except OSError as error:
            drop_output()
            told = click.ClickException(error.strerror or str(error))
        except UnicodeEncodeError as error:
            beginning = error.object[max(0, error.start - _BESIDE) : error.end]
            told = click.ClickException(f"the last character of {beginning!a} cannot be written in {error.encoding}")
        told.show()
        sys.exit(told.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        """As ``click.Group.invoke``; Ctrl-C ends every command alike."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *entry_points(group=ENTRY_POINTS).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            return command
        for announced in entry_points(group=ENTRY_POINTS, name=cmd_name):
            loaded: click.Command = announced.load()
            return loaded
        return None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="sparql-streams", message="%(package)s %(version)s")
def main() -> None:
    """SPARQL over streams of RDF: an endpoint with continuous queries, and its clients.

    Every option can also be given as an environment variable: --some-option as SPARQL_STREAMS_SOME_OPTION.
    """


for command in (serve, demo, publish, register, query, subscribe, streams, queries, doctor, backup, restore, prepare):
    main.add_command(command)
