"""The group of all commands."""

from __future__ import annotations

import click

from conformance.cli import conformance
from endpoint.cli.demo import demo
from endpoint.cli.publish import publish
from endpoint.cli.query import query
from endpoint.cli.register import queries, register
from endpoint.cli.serve import serve
from endpoint.cli.streams import streams
from endpoint.cli.subscribe import subscribe


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="sparql-streams", message="%(package)s %(version)s")
def main() -> None:
    """SPARQL over streams of RDF: an endpoint with continuous queries, and its clients.

    Every option can also be given as an environment variable: --some-option as SPARQL_STREAMS_SOME_OPTION.
    """


for command in (serve, demo, publish, register, query, subscribe, streams, queries, conformance):
    main.add_command(command)
