"""Where the text of a query comes from: an argument that is the query, names a file, or means standard input."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from protocol.errors import ProtocolError
from protocol.grammar.parser import parse_live


def looks_like_a_query(argument: str) -> bool:
    """A query has a brace, or at least two words; names and files of queries have neither, or exist."""
    return "{" in argument or len(argument.split()) > 1


def query_text(argument: str | None) -> str:
    """The text of the query that ``argument`` is or names; without one, or for ``-``, standard input."""
    if argument is None or argument == "-":
        source, text = "standard input", _decoded("standard input", sys.stdin.buffer.read())
    elif _is_file(argument):
        source, text = argument, _decoded(argument, Path(argument).read_bytes())
    elif looks_like_a_query(argument):
        source, text = "the query", _decoded("the query", argument.encode("utf-8", "surrogateescape"))
    else:
        raise click.UsageError(f"{argument!r} is neither a query nor a file with one")
    if not text.strip():
        raise click.UsageError(f"{source} is empty: a query was expected")
    return text


def say_warnings(text: str, base: str) -> None:
    """Say on standard error what a query can be known not to answer. What is wrong with it, the server says.

    ``base`` resolves its relative IRIs.
    """
    try:
        query = parse_live(text, base=base)
    except ProtocolError:
        return
    for warning in query.warnings:
        click.echo(f"warning: {warning}", err=True)


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        # A long query is no possible file name.
        return False


def is_file_or_query(argument: str) -> bool:
    return argument == "-" or _is_file(argument) or looks_like_a_query(argument)


def _decoded(source: str, body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise click.UsageError(f"{source} is not UTF-8 (line {line})") from None
