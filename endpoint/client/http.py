"""HTTP to a running endpoint: where it is, and its errors as a person reads them."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

import click
import httpx

from endpoint.outgoing.trust import is_outside
from protocol.access import TOKEN

_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between the attempts of a request that may be sent again."""
_PASSING = frozenset({502, 503, 504})
DEFAULT_SERVER = "http://127.0.0.1:8000"
CONNECT_SECONDS = 10.0


class Client:
    """Requests to the endpoint at ``server``; whatever does not succeed ends the command with a clear line."""

    def __init__(
        self,
        server: str | None,
        token: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        url = (server or DEFAULT_SERVER).strip().rstrip("/")
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError
            httpx.URL(url)
            # As it is done where the name is looked up: labels may be empty, or too long.
            parts.hostname.encode("idna")
        except (ValueError, httpx.InvalidURL):
            raise click.UsageError(f"--server: {server!r} is not a URL such as {DEFAULT_SERVER}") from None
        self.server = url
        self._sleep = sleep
        self._was_reached = False
        # Answers of continuous queries come when they come; only the connection itself must not take long.
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        if token is not None and not TOKEN.match(token):
            raise click.UsageError("--token: a token has letters, digits and -._~+/= only")
        self.http = httpx.Client(
            timeout=timeout,
            transport=transport,
            follow_redirects=True,
            trust_env=is_outside(url),
            headers={"Authorization": f"Bearer {token}"} if token else None,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def url(self, *segments: str) -> str:
        """The URL of a resource: ``url("streams", "a b")``. A whole URL in place of a name is taken as it is.

        Raises a usage error for one with ``?`` or ``#``: the parameters of a request are a command's options, and those
        of the URL would be dropped.
        """
        for segment in segments:
            if is_url(segment) and ("?" in segment or "#" in segment):
                raise click.UsageError(
                    f"{segment}: leave out what is behind the resource's own URL; options say the rest"
                )
        if segments and is_url(segments[-1]):
            return segments[-1]
        if len(segments) > 1 and is_url(segments[1]):
            return "/".join([segments[1].rstrip("/"), *(quote(segment, safe="") for segment in segments[2:])])
        return "/".join([self.server, *(quote(segment, safe="") for segment in segments)])

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        """The response, which was a success (2xx); raises ClickException for anything else."""
        try:
            response = self.http.request(method, url, **options)
        except httpx.HTTPError as error:
            raise unreachable(url, error) from None
        check(response)
        return response

    def post_once(self, url: str, content: bytes, **options: Any) -> Any:
        """The parsed JSON of the response to a POST that has its effect once, however often it must be sent.

        Its ``Idempotency-Key`` (docs/http.md, "Sending once") lets it be sent again when the connection breaks or the
        endpoint cannot answer for now; not if nothing has ever answered there.
        """
        headers = {**options.pop("headers", {}), "Idempotency-Key": uuid.uuid4().hex}
        for pause in _PAUSES:
            try:
                response = self.http.request("POST", url, content=content, headers=headers, **options)
            except httpx.TransportError as error:
                if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) and not self._was_reached:
                    raise unreachable(url, error) from None
            else:
                if response.status_code not in _PASSING:
                    self._was_reached = True
                    break
            self._was_reached = True
            self._sleep(pause)
        else:
            return self.json("POST", url, content=content, headers=headers, **options)
        check(response)
        return _document(response, url)

    def json(self, method: str, url: str, **options: Any) -> Any:
        """The parsed JSON of a response."""
        return _document(self.request(method, url, **options), url)


def is_url(text: str) -> bool:
    """Whether it is the whole URL of a resource, and not its name."""
    return text.startswith(("http://", "https://"))


def _document(response: httpx.Response, url: str) -> Any:
    try:
        return response.json()
    except ValueError:
        raise click.ClickException(f"{url} did not answer with JSON: is it a sparql-streams endpoint?") from None


def check(response: httpx.Response) -> None:
    """Raise ClickException, from its problem document, for a response (already read) that is not a success."""
    if response.is_success:
        return
    raise click.ClickException(problem_text(response.content, f"HTTP {response.status_code} {response.reason_phrase}"))


def problem_text(body: bytes | str, otherwise: str) -> str:
    """A problem document (RFC 9457) as one line; ``otherwise``, and the body's start, if it is not one."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or not (problem.get("detail") or problem.get("title")):
        start = (body.decode("utf-8", "replace") if isinstance(body, bytes) else body).strip().partition("\n")[0][:200]
        return f"{otherwise}: {start}" if start else otherwise
    text = ": ".join(str(part) for part in (problem.get("title"), problem.get("detail")) if part)
    if "line" not in problem:
        return text
    place = f"line {problem['line']}" + (f", column {problem['column']}" if "column" in problem else "")
    return text if re.search(rf"\b{re.escape(place)}\b", text) else f"{text} ({place})"


def broken(error: httpx.HTTPError) -> str:
    """What broke, in words; not all of httpx's errors have any."""
    return str(error) or type(error).__name__


def unreachable(url: str, error: httpx.HTTPError) -> click.ClickException:
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return click.ClickException(
            f"nothing answers at {url}: is the endpoint running (sparql-streams serve)? Or name another with --server"
        )
    return click.ClickException(f"the connection to {url} failed: {broken(error)}")
