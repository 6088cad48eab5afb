"""``sparql-streams publish``."""

from __future__ import annotations

import io
import math
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from endpoint.cli.options import client_to, option, server_option
from endpoint.client import messages as m
from endpoint.client import pace
from endpoint.client.http import Client
from endpoint.client.terminal import for_a_person, json_line
from protocol.errors import ProtocolError
from protocol.formats.media_types import RdfSyntax
from protocol.formats.negotiation import media_type_of
from protocol.messages.body_type import Grouping, parse_content_type
from protocol.messages.division import VERSION
from protocol.messages.message import Message
from protocol.streams import DEFAULT_TIMESTAMP_PATH


@dataclass
class Published:
    """What the endpoint has taken so far."""

    elements: int = 0
    triples: int = 0
    watermark: Any = None

    def add(self, receipt: dict[str, Any]) -> None:
        self.elements += receipt["elements"]
        self.triples += receipt["triples"]
        self.watermark = receipt["watermark"]


class _AboveZero(click.FloatRange):
    """A number above zero; NaN, which is neither above nor below, is refused."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a usage error for anything else."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range x>0.", param, ctx)
        return number


@click.command()
@click.argument("stream")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@server_option
@option(
    "--content-type", metavar="TYPE", help="What the files are; by default their names tell. For a pipe: text/turtle."
)
@option("--rate", type=_AboveZero(), metavar="N", help="Send N messages a second.")
@option(
    "--speedup",
    type=_AboveZero(),
    metavar="X",
    help="Replay by the messages' own times, X times as fast (1: as it was).",
)
@option("--at", metavar="TIME", help="The time of all messages.")
@option("--partition", type=click.IntRange(min=0), metavar="N", help="The partition of the stream that they are of.")
@option("--end", is_flag=True, help="End the stream afterwards: every window closes.")
def publish(
    stream: str,
    files: tuple[Path, ...],
    server: str | None,
    content_type: str | None,
    rate: float | None,
    speedup: float | None,
    at: str | None,
    partition: int | None,
    end: bool,
) -> None:
    """Send RDF messages to STREAM (a name, or a stream's URL), from FILEs or standard input.

    A file holds one message, or several with MESSAGE between them (N-Triples, N-Quads, Turtle, TriG that
    begin with VERSION "1.2-messages"; in others, "# @message" lines), or one JSON-LD document a line
    (.ndjson), or a frame each (.jelly). Messages go out in requests of up to 1000; a request is taken as a
    whole or not at all, and once: after a broken connection it is sent again. An empty message goes with
    the one before it, whose time it takes.
    """
    if rate is not None and speedup is not None:
        raise click.UsageError("--rate and --speedup: only one of them can set the pace")
    if at is not None and (rate is not None or speedup is not None):
        raise click.UsageError("--at sends each file as a whole: it goes with neither --rate nor --speedup")
    sources = [(file, _media_type(file, content_type)) for file in files or (Path("-"),)]
    published = Published()
    with client_to(server) as client:
        url = client.url("streams", stream)
        try:
            with _progress() as progress:
                task = progress.add_task(stream, total=_total(files), elements=0)
                parameters = {} if partition is None else {"partition": str(partition)}
                steady = None if rate is None else pace.Rate(rate)
                replay = None if speedup is None else pace.Replay(speedup)
                several = len(sources) > 1
                sender = _Sender(client, url, parameters, published, progress, task, steady, replay, several)
                for file, media_type in sources:
                    sender.send_file(file, media_type, at)
            if end:
                published.watermark = client.json("PUT", f"{url}/watermark", content=b"end")["watermark"]
        except KeyboardInterrupt:
            click.echo(f"interrupted after {published.elements} elements", err=True)
            raise
        except click.ClickException as error:
            if published.elements:
                told = f"{error.message} (the {published.elements} elements before it were taken)"
                raise click.ClickException(told) from None
            raise
    if for_a_person():
        click.echo(
            f"{published.elements} elements, {published.triples} triples; watermark {published.watermark or 'none'}"
        )
    else:
        click.echo(json_line(vars(published)))


class _Sender:
    def __init__(
        self,
        client: Client,
        url: str,
        parameters: dict[str, str],
        published: Published,
        progress: Progress,
        task: Any,
        rate: pace.Rate | None,
        replay: pace.Replay | None,
        several: bool,
    ) -> None:
        self._client = client
        self._url = url
        self._parameters = parameters
        self._published = published
        self._progress = progress
        self._task = task
        self._rate = rate
        self._replay = replay
        self._several = several
        self._start = time.monotonic()

    def send_file(self, file: Path, media_type: str, at: str | None) -> None:
        with _open(file) as source:
            if at is not None:
                document = source.read()
                self._post(document, m.whole_type(document, media_type), {"at": at})
                return
            lines = pace.lines_of(source, lambda size: self._progress.advance(self._task, size))
            sent = 0
            try:
                for batch in self._batches(m.divide(lines, media_type), file, media_type):
                    self._post(*m.join(batch, media_type), {})
                    sent += len(batch)
            except ValueError as error:
                raise click.ClickException(f"{file}: {error}") from None
            except click.ClickException as error:
                # The server counts the messages and lines of its request, which is a part of the file.
                began = f", counted from its message {sent + 1} on" if sent else ""
                where = f"{file}{began}: " if sent or self._several else ""
                raise click.ClickException(f"{where}{error.message}") from None

    def _batches(self, messages: Iterator[Message], file: Path, media_type: str) -> Iterator[list[Message]]:
        def is_empty(message: Message) -> bool:
            return m.is_empty(message, media_type)

        if self._replay is not None:
            path = self._timestamp_path()
            scheduled = self._replay.scheduled(
                messages, lambda message: m.timestamp(message, media_type, path), is_empty
            )
        elif self._rate is not None:
            scheduled = self._rate.scheduled(messages)
        elif str(file) == "-":
            return pace.live_batches(messages, is_empty)
        else:
            scheduled = pace.at_once(messages)
        return pace.batches(scheduled, time.monotonic, time.sleep, is_empty, self._start)

    def _timestamp_path(self) -> list[str]:
        described = self._client.json("GET", self._url, headers={"Accept": "application/json"})
        return list(described.get("timestampPath") or DEFAULT_TIMESTAMP_PATH)

    def _post(self, body: bytes, content_type: str, params: dict[str, str]) -> None:
        headers = {"Content-Type": content_type}
        receipt = self._client.post_once(self._url, body, headers=headers, params={**self._parameters, **params})
        self._published.add(receipt)
        self._progress.update(self._task, elements=self._published.elements)


def _media_type(file: Path, given: str | None) -> str:
    """The media type of a file, with no parameter but the version that says that it may hold several messages."""
    if given is not None:
        try:
            body_type = parse_content_type(given)
        except ProtocolError as error:
            raise click.UsageError(f"--content-type: {error.detail}") from None
        if body_type.charset not in (None, "utf-8", "ascii"):
            raise click.UsageError(f"--content-type: convert what is in {body_type.charset} to UTF-8 first")
        if body_type.grouping in (Grouping.LINES, Grouping.FRAMES):
            return media_type_of(given)
        version = f"; version={VERSION}" if body_type.grouping is Grouping.DELIMITERS else ""
        return f"{body_type.format}{version}"
    if str(file) == "-":
        return RdfSyntax.TURTLE.value
    known = m.CONTENT_TYPES.get(file.suffix.lower())
    if known is None:
        raise click.UsageError(
            f"{file}: its name does not tell what it is ({', '.join(m.CONTENT_TYPES)}): say it with --content-type"
        )
    return known


def _open(file: Path) -> AbstractContextManager[IO[bytes]]:
    """A file, or standard input, which ``sys`` has no more then: the interpreter closes what it has there when it ends,
    and aborts where a thread waits for more of it.
    """
    if str(file) != "-":
        return file.open("rb")
    source = cast(IO[bytes], cast(io.TextIOWrapper, sys.stdin).detach())
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    return nullcontext(source)


def _total(files: tuple[Path, ...]) -> int | None:
    if not files or any(str(file) == "-" for file in files):
        return None
    return sum(file.stat().st_size for file in files)


def _progress() -> Progress:
    """A bar on standard error, where a person is looking."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[elements]} elements"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
