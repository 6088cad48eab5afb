"""``sparql-streams serve``."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import click

from endpoint.cli.options import settings_from, settings_options
from endpoint.cli.standard_streams import announce
from protocol.processes.memory import give_back_freed_memory, keep_freed_memory


@click.command()
@settings_options
def serve(**given: Any) -> None:
    """Run the endpoint.

    Ends at Ctrl-C (or SIGTERM) in bounded time, with every process it started.
    """
    settings = settings_from(given)
    keep_freed_memory()
    # What follows loads the application; `--help` and wrong options need not wait for it.
    from endpoint.access import warn_if_open
    from endpoint.app import create_app
    from endpoint.hosts import with_own_names
    from endpoint.server.garbage import spare_once
    from endpoint.server.server import Server, end_within, log_to_terminal
    from endpoint.server.sockets import close, listen, with_port
    from endpoint.services import services_of

    try:
        sockets = listen(settings.host, settings.port)
    except OSError as error:
        wrong = "--host" if error.errno in (None, errno.EADDRNOTAVAIL) else "--port"
        raise click.ClickException(f"{error.strerror or error} (choose another with {wrong})") from None
    settings = with_own_names(with_port(settings, sockets))
    log_to_terminal()
    warn_if_open(settings)

    def say_where() -> None:
        kept = settings.data if settings.data is not None else "a temporary directory (--data DIR keeps it)"
        # A server that cannot say where it is, for its output is on a full disk, answers all the same.
        announce(f"sparql-streams at {settings.base_url}/ (SPARQL at {settings.base_url}/sparql), data in {kept}")

    try:
        app = create_app(settings)

        def begin() -> None:
            say_where()
            spare_once(lambda: services_of(app).backend.health().state != "starting")
            give_back_freed_memory()

        server = Server(app, settings, on_ready=begin, on_stop=end_within)
        asyncio.run(server.serve_until_stopped(sockets))
    finally:
        close(sockets)
