"""Options as all commands write them: each is also an environment variable ``SPARQL_STREAMS_…``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from endpoint.settings import PREFIX, Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def variable(name: str) -> str:
    """The environment variable of an option such as ``--base-url``."""
    return PREFIX + name.lstrip("-").replace("-", "_").upper()


def option(name: str, *others: str, **attributes: Any) -> Callable[[Command], Command]:
    """``click.option`` with its environment variable."""
    return click.option(name, *others, envvar=variable(name), show_envvar=True, **attributes)


server_option = option("--server", metavar="URL", help="The endpoint to talk to.  [default: http://127.0.0.1:8000]")


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
            setting("--spark-master", metavar="MASTER", help="Where Spark runs (local[*])."),
            setting("--cors-origins", metavar="ORIGINS", help="Who may ask from web pages: *, or origins with commas."),
            setting("--threads", metavar="N", help="How many requests are worked on at once."),
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
