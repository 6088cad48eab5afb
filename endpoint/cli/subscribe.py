"""``sparql-streams subscribe``."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from httpx_sse import ServerSentEvent

from endpoint.cli.options import client_to, option, server_option
from endpoint.cli.query_text import is_file_or_query, query_text, say_warnings
from endpoint.client.event_stream import follow
from endpoint.client.http import is_url, problem_text
from endpoint.client.terminal import (
    console,
    evaluation_title,
    for_a_person,
    json_line,
    plain,
    solutions_table,
    triple_lines,
)
from protocol.formats.media_types import SPARQL_QUERY
from protocol.names import InvalidName, checked_name


@click.command()
@click.argument("query", required=False)
@server_option
@option("--since", metavar="TIME", help="Replay from this time on; 'beginning' for all there is.")
@option("--until", metavar="TIME", help="End after the last evaluation up to this time.")
@option("--last-event-id", metavar="ID", help="Resume right after the evaluation with this id.")
@option("--limit", type=click.IntRange(min=1), metavar="N", help="End after N evaluations.")
def subscribe(
    query: str | None,
    server: str | None,
    since: str | None,
    until: str | None,
    last_event_id: str | None,
    limit: int | None,
) -> None:
    """Follow a QUERY: the name of a registered one, a query's text, a file, or standard input.

    One that reads no stream is answered now, and whenever a change of the graphs has changed its answer.

    Prints a table an evaluation for a person; for a pipe, a JSON line an evaluation: the SPARQL JSON
    document with its `evaluation` and the event's `id`, or `{"id":…, "triples":[…]}` of a CONSTRUCT.
    A broken connection is taken up where it broke. Ends with the query, or at Ctrl-C.
    """
    params = {name: time for name, time in (("since", since), ("until", until)) if time}
    count = 0
    with client_to(server) as client:
        if query is not None and not is_file_or_query(query):
            _require_name(query)
            events = follow(
                client.http, "GET", client.url("queries", query, "results"), params=params, last_id=last_event_id or ""
            )
        else:
            text = query_text(query)
            say_warnings(text, client.url("sparql"))
            events = follow(
                client.http,
                "POST",
                client.url("sparql"),
                headers={"Content-Type": SPARQL_QUERY},
                params=params,
                content=text.encode(),
                last_id=last_event_id or "",
            )
        for event in events:
            count += show(event)
            if limit is not None and count >= limit:
                return


def _require_name(query: str) -> None:
    """Raises a usage error for what is no name and no URL of a query, such as a file that is not there."""
    if is_url(query):
        return
    try:
        checked_name(query)
    except InvalidName:
        raise click.UsageError(f"{query!r} is neither the name of a query nor a query nor a file with one") from None


def show(event: ServerSentEvent) -> bool:
    """Print an event; whether it was an evaluation. What is said about the stream goes to standard error."""
    match event.event:
        case "message":
            _show_evaluation(event)
            return True
        case "error":
            click.echo(f"error: {problem_text(event.data, 'the evaluation failed')}", err=True)
        case "reset":
            click.echo(f"reset: the resume point is no longer held; what follows starts after {_time(event)}", err=True)
        case "end":
            click.echo(f"end: {_member(event, 'reason') or 'nothing follows'}", err=True)
    return False


def _show_evaluation(event: ServerSentEvent) -> None:
    if event.data.startswith("{"):
        document = json.loads(event.data)
        if for_a_person():
            console().print(solutions_table(document, evaluation_title(document)))
        else:
            click.echo(json_line({"id": event.id, **document}))
    elif for_a_person():
        console().print(plain(event.data))
    else:
        click.echo(json_line({"id": event.id, "triples": triple_lines(event.data)}))
    sys.stdout.flush()


def _time(event: ServerSentEvent) -> Any:
    return _member(event, "time") or "an unknown time"


def _member(event: ServerSentEvent, name: str) -> Any:
    try:
        document = json.loads(event.data)
    except ValueError:
        return None
    return document.get(name) if isinstance(document, dict) else None
