"""``sparql-streams demo``."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from endpoint.cli.options import option, settings_from, settings_options


@click.command()
@settings_options
@option("--threshold", type=click.FloatRange(0, 100), default=75.0, show_default=True, help="CPU load that alerts.")
def demo(threshold: float, **given: Any) -> None:
    """Watch this machine: the endpoint, a live stream of its own measurements, and continuous queries over it.

    Prints results as they come; the address printed first is the page, with a chart of them. Ctrl-C ends it all.
    """
    from endpoint.access import warn_if_open
    from endpoint.demo.run import run_demo
    from endpoint.hosts import with_own_names
    from endpoint.server.server import end_within, log_to_terminal
    from endpoint.server.sockets import close, listen, listen_from, with_port

    settings = settings_from(given)
    try:
        sockets = listen_from(settings.host, settings.port) if settings.port else listen(settings.host, 0)
    except OSError as error:
        raise click.ClickException(str(error.strerror or error)) from None
    settings = with_own_names(with_port(settings, sockets))
    log_to_terminal()
    warn_if_open(settings)
    try:
        asyncio.run(run_demo(settings, sockets, threshold, on_stop=end_within))
    finally:
        close(sockets)
