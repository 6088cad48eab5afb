"""``sparql-streams streams``."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import click

from endpoint.cli.options import client_to, option, server_option
from endpoint.client.terminal import console, for_a_person, json_line, record_table, records_table

_JSON = {"Accept": "application/json"}


@click.group(invoke_without_command=True)
@server_option
@click.pass_context
def streams(context: click.Context, server: str | None) -> None:
    """The streams of an endpoint: without a command, a list of them."""
    context.obj = server
    if context.invoked_subcommand is None:
        with client_to(server) as client:
            documents = client.json("GET", client.url("streams"), headers=_JSON)["streams"]
        if for_a_person():
            columns = ("name", "iri", "time", "watermark", "elements", "triples", "late", "bytes", "ended")
            console().print(records_table(documents, columns) if documents else "no streams")
            return
        for document in documents:
            click.echo(json_line(document))


@streams.command()
@click.argument("name")
@option("--iri", metavar="IRI", help="The stream's IRI.  [default: its URL]")
@option("--time", type=click.Choice(["arrival", "event"]), help="Whose clock: the server's, or the data's.")
@option(
    "--timestamp-path",
    metavar="IRI",
    multiple=True,
    help="A property that carries a message's time; may be repeated (in the variable: with spaces between them).",
)
@option("--allowed-lateness", metavar="DURATION", help="How much later than the latest an element may come: PT5S.")
@option("--idle-timeout", metavar="DURATION", help="After this long without elements, time goes on without them.")
@option("--retention", metavar="DURATION", help="How long elements are kept: P7D.")
@option(
    "--settings",
    type=click.File("rb"),
    metavar="FILE",
    help="All settings there are, such as its source, in JSON ('-': from standard input); options go before them.",
)
@click.pass_obj
def create(
    server: str | None,
    name: str,
    iri: str | None,
    time: str | None,
    timestamp_path: tuple[str, ...],
    allowed_lateness: str | None,
    idle_timeout: str | None,
    retention: str | None,
    settings: BinaryIO | None,
) -> None:
    """Create the stream NAME; the same settings again change nothing."""
    options = {
        "iri": iri,
        "time": time,
        "timestampPath": list(timestamp_path) or None,
        "allowedLateness": allowed_lateness,
        "idleTimeout": idle_timeout,
        "retention": retention,
    }
    given = {} if settings is None else _read(settings)
    given |= {member: value for member, value in options.items() if value is not None}
    with client_to(server) as client:
        _print(client.json("PUT", client.url("streams", name), json=given))


@streams.command("show")
@click.argument("name")
@click.pass_obj
def show_stream(server: str | None, name: str) -> None:
    """Describe the stream NAME."""
    with client_to(server) as client:
        _print(client.json("GET", client.url("streams", name), headers=_JSON))


@streams.command()
@click.argument("name")
@click.argument("time")
@click.pass_obj
def watermark(server: str | None, name: str, time: str) -> None:
    """Say that nothing at or before TIME is coming on the stream NAME ('end': nothing at all)."""
    with client_to(server) as client:
        _print(client.json("PUT", client.url("streams", name, "watermark"), content=time.encode()))


@streams.command("delete")
@click.argument("name")
@click.pass_obj
def delete_stream(server: str | None, name: str) -> None:
    """End the stream NAME and drop what is in it."""
    with client_to(server) as client:
        client.request("DELETE", client.url("streams", name))


def _read(settings: BinaryIO) -> dict[str, Any]:
    try:
        document = json.load(settings)
    except ValueError as error:
        raise click.ClickException(f"{settings.name} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise click.ClickException(f'{settings.name} has to be an object of settings, such as {{"time": "event"}}')
    return document


def _print(document: dict[str, Any]) -> None:
    if for_a_person():
        console().print(record_table(document))
    else:
        click.echo(json_line(document))
