"""The requests of a case: HTTP requests as text, one after the other, with a word where a listener does something.

A file is a prologue (put before every body in Turtle, TriG or SPARQL), then steps:

- ``POST /streams/s?at=2``, header lines if any (``Content-Type: application/trig``), then the body up to the next
  step. A body ``< q.rq`` is that file. A status behind the target (``POST /streams/s 400``) is what is expected;
  without one, success is.
- ``LISTEN``, ``LISTEN beginning`` or ``LISTEN 5`` (since then): the case's query is asked, or listened to where a
  request has registered it.
- ``AWAIT 5``: until its evaluations up to that time are out.
- ``RESUME``: the connection is cut and taken up again behind the last event.
- ``CLOSE``: nothing more is read.

A script without LISTEN ends with ``LISTEN beginning``, one without CLOSE reads to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.manifest import ManifestError
from protocol.messages.markers import MARKER_COMMENT

_STEP = re.compile(
    r"^(?:(?P<method>GET|PUT|POST|DELETE|PATCH) (?P<target>/\S*)(?: (?P<status>\d{3}))?"
    r"|LISTEN(?: (?P<since>beginning|-?\d+))?|AWAIT (?P<time>-?\d+)|(?P<resume>RESUME)|(?P<close>CLOSE))\s*$"
)
_HEADER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")
_FILE = re.compile(r"<\s+(\S+)")
_MARKER = re.compile(rf"^{MARKER_COMMENT}$", re.MULTILINE)
_PREFIXED = ("text/turtle", "application/trig", "application/sparql-query", "application/sparql-update")


@dataclass(frozen=True)
class ScriptRequest:
    """``target`` is path and query below the endpoint's root; ``status`` None: any that means success."""

    method: str
    target: str
    content_type: str
    body: str
    status: int | None = None
    file: str | None = None
    """The file that the body is, if it is one."""

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.target.partition("?")[0].strip("/").split("/"))


@dataclass(frozen=True)
class Listen:
    """``since``: ``beginning`` or a time in ms; None: from now on."""

    since: str | None = None


@dataclass(frozen=True)
class Await:
    """``time`` in ms."""

    time: int


@dataclass(frozen=True)
class Resume:
    """Cut and taken up again."""


@dataclass(frozen=True)
class Close:
    """Nothing more is read."""


Step = ScriptRequest | Listen | Await | Resume | Close


@dataclass
class _Open:
    """A step that is being read, and its lines so far."""

    match: re.Match[str]
    lines: list[str] = field(default_factory=list)


def read_script(text: str, place: str, file: Callable[[str], str]) -> list[Step]:
    """The steps of a file. ``file``: the content of a file by its name. ManifestError names ``place``."""
    prologue: list[str] = []
    found: list[_Open] = []
    for line in text.splitlines():
        match = _STEP.match(line)
        if match is not None:
            found.append(_Open(match))
        else:
            (found[-1].lines if found else prologue).append(line)
    if not found:
        raise ManifestError(f"{place}: there is no request in it")
    steps = [_step(one, "\n".join(prologue).strip(), file) for one in found]
    if not any(isinstance(step, Listen) for step in steps):
        steps.append(Listen("beginning"))
    return steps


def _step(one: _Open, prologue: str, file: Callable[[str], str]) -> Step:
    match = one.match
    if match["method"]:
        return _request(match, one.lines, prologue, file)
    if match["time"]:
        return Await(int(match["time"]))
    if match["resume"]:
        return Resume()
    return Close() if match["close"] else Listen(match["since"])


def _request(match: re.Match[str], lines: list[str], prologue: str, file: Callable[[str], str]) -> ScriptRequest:
    content_type = None
    while lines and (header := _HEADER.fullmatch(lines[0])):
        if header[1].lower() != "content-type":
            raise ManifestError(f"{match[0]}: {header[1]} is no header of a case's requests")
        content_type = header[2]
        lines = lines[1:]
    body = "\n".join(lines).strip()
    reference = _FILE.fullmatch(body)
    target = match["target"]
    content_type = content_type or _default_type(match["method"], target)
    if reference is not None:
        body = file(reference[1])
    elif content_type.startswith(_PREFIXED) and prologue and body:
        body = f"{prologue}\n{body}"
        if "messages=rdfm" in content_type:
            body = _MARKER.sub(lambda line: f"{line[0]}\n{prologue}", body)
    status = None if match["status"] is None else int(match["status"])
    return ScriptRequest(match["method"], target, content_type, body, status, reference and reference[1])


def _default_type(method: str, target: str) -> str:
    path = target.partition("?")[0]
    if path.startswith("/queries/"):
        return "application/sparql-query"
    if path == "/sparql":
        return "application/sparql-update"
    if path.endswith("/watermark"):
        return "text/plain"
    return "application/json" if path.startswith("/streams/") and method == "PUT" else "text/turtle"
