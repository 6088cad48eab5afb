"""``sparql-streams register`` and ``sparql-streams queries``."""

from __future__ import annotations

import re
from urllib.parse import unquote

import click

from endpoint.cli.options import client_to, option, server_option
from endpoint.cli.query_text import is_file_or_query, query_text
from endpoint.client.terminal import console, for_a_person, json_line, record_table, records_table
from protocol.formats.media_types import SPARQL_QUERY

_REGISTER = re.compile(r"\bREGISTER\b", re.IGNORECASE)


@click.command()
@click.argument("name")
@click.argument("query", required=False)
@server_option
@option("--since", metavar="TIME", help="Start at this time instead of now; 'beginning' for all there is.")
def register(name: str, query: str | None, server: str | None, since: str | None) -> None:
    """Register a standing QUERY (its text, a file, or standard input) under NAME.

    A query that names itself (REGISTER … AS …) needs no NAME: give its text or file alone.
    """
    params = {"since": since} if since else {}
    headers = {"Content-Type": SPARQL_QUERY}
    with client_to(server) as client:
        if query is None and is_file_or_query(name):
            text = query_text(name)
            if not _REGISTER.search(text):
                raise click.UsageError("the query does not name itself (REGISTER … AS …): give it a NAME")
            response = client.request(
                "POST", client.url("sparql"), content=text.encode(), headers=headers, params=params
            )
            location = response.headers.get("location", "").rstrip("/")
            described = client.url("queries", unquote(location.rpartition("/")[2]))
        else:
            described = client.url("queries", name)
            client.request("PUT", described, content=query_text(query).encode(), headers=headers, params=params)
        document = client.json("GET", described, headers={"Accept": "application/json"})
    if for_a_person():
        click.echo(f"registered {document['name']} ({document['state']}): sparql-streams subscribe {document['name']}")
        for warning in document["warnings"]:
            click.echo(f"warning: {warning}", err=True)
    else:
        click.echo(json_line(document))


@click.group(invoke_without_command=True)
@server_option
@click.pass_context
def queries(context: click.Context, server: str | None) -> None:
    """The registered queries: without a command, a list of them."""
    context.obj = server
    if context.invoked_subcommand is None:
        with client_to(server) as client:
            documents = client.json("GET", client.url("queries"), headers={"Accept": "application/json"})["queries"]
        if for_a_person():
            columns = ("name", "state", "evaluated", "watermark", "evaluations", "solutions", "lastError")
            console().print(records_table(documents, columns) if documents else "no queries")
            return
        for document in documents:
            click.echo(json_line(document))


@queries.command("show")
@click.argument("name")
@click.pass_obj
def show_query(server: str | None, name: str) -> None:
    """Describe the query NAME."""
    with client_to(server) as client:
        document = client.json("GET", client.url("queries", name), headers={"Accept": "application/json"})
    if for_a_person():
        console().print(record_table(document))
    else:
        click.echo(json_line(document))


@queries.command()
@click.argument("name")
@option("--measured", is_flag=True, help="Evaluate it once more, for the rows and times of each operator.")
@click.pass_obj
def plan(server: str | None, name: str, measured: bool) -> None:
    """Say how the query NAME is evaluated."""
    with client_to(server) as client:
        parameters = {"measured": "true"} if measured else {}
        click.echo(client.request("GET", client.url("queries", name, "plan"), params=parameters).text)


@queries.command("delete")
@click.argument("name")
@click.pass_obj
def delete_query(server: str | None, name: str) -> None:
    """End the query NAME."""
    with client_to(server) as client:
        client.request("DELETE", client.url("queries", name))
