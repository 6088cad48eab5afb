"""Options as all commands write them: each is also an environment variable ``SPARQL_STREAMS_…``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from endpoint.client.http import Client
from endpoint.settings import PREFIX, Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def variable(name: str) -> str:
    """The environment variable of an option such as ``--base-url``."""
    return PREFIX + name.lstrip("-").replace("-", "_").upper()


def option(name: str, *others: str, **attributes: Any) -> Callable[[Command], Command]:
    """``click.option`` with its environment variable."""
    return click.option(name, *others, envvar=variable(name), show_envvar=True, **attributes)


_TOKEN = "sparql_streams.token"


def server_option(command: Command) -> Command:
    """``--server``, a parameter of the command, and ``--token``, which ``client_to`` finds."""

    def keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value:
            context.meta[_TOKEN] = value

    server = option("--server", metavar="URL", help="The endpoint to talk to.  [default: http://127.0.0.1:8000]")
    token = option("--token", metavar="TOKEN", help="The token to send.", expose_value=False, callback=keep)
    return server(token(command))


def client_to(server: str | None) -> Client:
    """A client of the endpoint at ``--server``, with the ``--token`` of the command that runs, or of its group."""
    return Client(server, click.get_current_context().meta.get(_TOKEN))


def settings_options(command: Command) -> Command:
    """The options of an endpoint. Variables and defaults are left to Settings, which names what is wrong."""

    def setting(name: str, *, help: str, **attributes: Any) -> Callable[[Command], Command]:
        return click.option(name, help=f"{help}  [env var: {variable(name)}]", **attributes)

    for decorate in reversed(
        (
            setting("--host", metavar="ADDRESS", help="The address to listen on (127.0.0.1)."),
            setting("--port", metavar="PORT", help="The port to listen on (8000); 0 takes a free one."),
            setting("--data", metavar="DIR", help="Keep everything here across restarts (else: nothing)."),
            setting("--load", metavar="FILE", multiple=True, help="Load RDF into the store; may be repeated."),
            setting("--base-url", metavar="URL", help="The public URL of the endpoint's root (http://HOST:PORT)."),
            setting("--hosts", metavar="NAMES", help="Further host names to be asked by, with commas; * is any."),
            setting("--spark-master", metavar="MASTER", help="Where Spark runs (local[*])."),
            setting("--site", metavar="SITE", help="Evaluate windows in duckdb, in spark (SQL), or by size (auto)."),
            setting("--spark-above", metavar="N", help="Windows of more triples go to Spark SQL (8000000)."),
            setting("--cors-origins", metavar="ORIGINS", help="Pages that may ask: * (to read), origins, none (*)."),
            setting("--threads", metavar="N", help="How many requests are worked on at once."),
            setting("--readers", metavar="N", help="How many one-shot queries are evaluated at once."),
            setting("--max-readers", metavar="N", help="How many, with those that take longer than a second."),
            setting("--memory-quads", metavar="N", help="Stores up to this size are read in memory (500000; 0: none)."),
            setting("--query-timeout", metavar="SECONDS", help="How long a one-shot query is evaluated (60)."),
            setting("--query-memory", metavar="SIZE", help="How much memory one may take (1GB, or less)."),
            setting("--update-timeout", metavar="SECONDS", help="How long an update is evaluated (60)."),
            setting("--update-memory", metavar="SIZE", help="How much memory one may take (4GB, or less)."),
            setting("--evaluation-seconds", metavar="SECONDS", help="How long one evaluation may take (30)."),
            setting("--evaluation-memory", metavar="SIZE", help="How much memory it may take (2GB)."),
            setting("--max-result-bytes", metavar="N", help="How long the answer of one may be (1073741824)."),
            setting("--service-timeout", metavar="SECONDS", help="How long SERVICE may take at an instant (10)."),
            setting("--service-size", metavar="SIZE", help="How much it may give at an instant (16MiB)."),
            setting("--service-cache", metavar="SECONDS", help="How long what it gave is given again (0)."),
            setting(
                "--allow-fetch",
                metavar="PREFIX",
                multiple=True,
                help="LOAD, SERVICE, sources and sinks may use addresses that begin with it (none); * is all of the "
                "web; may be repeated.",
            ),
            setting("--tokens", metavar="FILE", help="Bearer tokens and their scopes, TOML or JSON (all is open)."),
            setting("--max-request-bytes", metavar="N", help="How long the body of a request may be (67108864)."),
            setting("--request-timeout", metavar="SECONDS", help="How long a request may take to come whole (20)."),
            setting("--max-connections", metavar="N", help="How many connections there are at once (12000)."),
            setting("--max-live-queries", metavar="N", help="How many unregistered continuous queries run (100)."),
            setting("--max-listeners", metavar="N", help="How many listeners there are at once (10000)."),
            setting("--frozen-after", metavar="SECONDS", help="A process that stands still so long is replaced (10)."),
            setting("--entailment", metavar="REGIME", help="What follows from graphs: none, rdfs or owl-rl (none)."),
            setting(
                "--schema",
                metavar="IRI",
                multiple=True,
                help="A graph that the schema is taken from (the default graph); may be repeated.",
            ),
            setting("--kafka-jars", metavar="DIR", help="Has Spark's connector to Kafka (it is fetched when needed)."),
        )
    ):
        command = decorate(command)
    return command


def settings_from(given: dict[str, Any]) -> Settings:
    """Settings from the values of ``settings_options``; a wrong one ends the command, named."""
    try:
        return Settings.from_environment(**{name: value for name, value in given.items() if value not in (None, ())})
    except ValueError as error:
        raise click.UsageError(str(error)) from None
