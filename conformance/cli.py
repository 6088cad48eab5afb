"""``sparql-streams conformance``, which the command line finds by its entry point."""

from __future__ import annotations

import click

from endpoint.cli.options import option

DEFAULT_SUITE_PATH = "../shared/w3c/sparql"


@click.command()
@click.argument("suites", nargs=-1, metavar="[SUITE ...]")
@option(
    "--suite-path", metavar="DIR", default=DEFAULT_SUITE_PATH, show_default=True, help="The suite's directory sparql."
)
@option("--url", metavar="URL", help="Test the endpoint that runs here; its graphs are dropped!")
@click.option(
    "--host",
    type=click.Choice(["asgi", "flask"]),
    default="asgi",
    show_default=True,
    envvar="SPARQL_STREAMS_CONFORMANCE_HOST",
    show_envvar=True,
    help="What the endpoint runs in that is started here.",
)
@option(
    "--through-windows",
    is_flag=True,
    help="Ask the query evaluation tests as continuous queries over windows; starts Spark.",
)
@click.option(
    "--site",
    type=click.Choice(["auto", "duckdb", "spark"]),
    default="auto",
    show_default=True,
    envvar="SPARQL_STREAMS_CONFORMANCE_SITE",
    show_envvar=True,
    help="Where the endpoint that is started here evaluates them.",
)
@option("--baseline", is_flag=True, help="Test Oxigraph called in process instead, for comparison.")
@option(
    "--earl",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the outcomes as EARL (Turtle).",
)
@option("--list", "listing", is_flag=True, help="List the known failures and tests that pass by value only, too.")
def conformance(
    suites: tuple[str, ...],
    suite_path: str,
    url: str | None,
    host: str,
    baseline: bool,
    through_windows: bool,
    earl: str | None,
    listing: bool,
    site: str,
) -> None:
    """Run conformance suites against an endpoint, through HTTP; print a table.

    SUITE is sparql10, sparql11, sparql12 or a directory such as sparql11/protocol; none means all of these. Ends with
    1 if a test fails that is not known to, or passes that is known to fail. sparql12 is a draft.
    rsp is continuous queries: its cases come with this program, and it starts Spark unless there is --url.
    """
    from conformance.command import run_command

    run_command(suites, suite_path, url, host, baseline, through_windows, earl, listing, site)
