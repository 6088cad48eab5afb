"""``sparql-streams conformance``."""

from __future__ import annotations

import sys

import click


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE ...]")
def conformance(suites: tuple[str, ...]) -> None:
    """Run conformance suites, print a table, write EARL (not implemented yet)."""
    click.echo("conformance is not implemented yet: this version has no suites to run", err=True)
    sys.exit(2)
