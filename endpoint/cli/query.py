"""``sparql-streams query``."""

from __future__ import annotations

import sys

import click

from endpoint.cli.options import client_to, option, server_option
from endpoint.cli.query_text import query_text, say_warnings
from endpoint.client.terminal import (
    console,
    evaluation_title,
    for_a_person,
    json_line,
    solution_lines,
    solutions_table,
    triple_lines,
)
from protocol.formats.media_types import GRAPH_OFFERS, SPARQL_QUERY, RdfSyntax, SolutionsFormat
from protocol.formats.negotiation import media_type_of

FORMATS: dict[str, str] = {
    "json": SolutionsFormat.JSON.value,
    "xml": SolutionsFormat.XML.value,
    "csv": SolutionsFormat.CSV.value,
    "tsv": SolutionsFormat.TSV.value,
    "turtle": RdfSyntax.TURTLE.value,
    "ntriples": RdfSyntax.N_TRIPLES.value,
    "jsonld": RdfSyntax.JSON_LD.value,
    "rdfxml": RdfSyntax.RDF_XML.value,
    "trig": RdfSyntax.TRIG.value,
    "nquads": RdfSyntax.N_QUADS.value,
}


@click.command()
@click.argument("query", required=False)
@server_option
@option("--since", metavar="TIME", help="Answer with the first evaluation after this time; 'beginning' for all.")
@option("--format", "format_", type=click.Choice(sorted(FORMATS)), help="Print the answer in this format, as it is.")
def query(query: str | None, server: str | None, since: str | None, format_: str | None) -> None:
    """Ask a QUERY (its text, a file, or standard input) once.

    A continuous query is answered with its next evaluation; `subscribe` gives them all. Prints a table
    for a person, a JSON line a solution for a pipe.
    """
    text = query_text(query)
    graphs = RdfSyntax.TURTLE if for_a_person() else RdfSyntax.N_TRIPLES
    accept = FORMATS[format_] if format_ else f"{SolutionsFormat.JSON}, {graphs};q=0.9"
    with client_to(server) as client:
        say_warnings(text, client.url("sparql"))
        headers = {"Content-Type": SPARQL_QUERY, "Accept": accept}
        params = {"since": since} if since else {}
        response = client.request("POST", client.url("sparql"), content=text.encode(), headers=headers, params=params)
    media_type = media_type_of(response.headers.get("content-type"))
    if format_ is not None or media_type != SolutionsFormat.JSON:
        if format_ is None and media_type in GRAPH_OFFERS and not for_a_person():
            for line in triple_lines(response.text):
                click.echo(json_line({"triple": line}))
            return
        sys.stdout.flush()
        sys.stdout.buffer.write(response.content)
        sys.stdout.buffer.flush()
        if for_a_person() and not response.content.endswith(b"\n"):
            click.echo()
        return
    document = response.json()
    if for_a_person():
        console().print(solutions_table(document, evaluation_title(document) or None))
        return
    for line in solution_lines(document):
        click.echo(line)
