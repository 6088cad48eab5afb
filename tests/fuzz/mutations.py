"""What is done to a valid request before it is sent."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import quote

from tests.fuzz.values import (
    ACCEPTS,
    BROKEN_UTF_8,
    ENCODINGS,
    HEADERS,
    HOSTS,
    IRIS,
    JSON_VALUES,
    LITERALS,
    MEDIA_TYPES,
    METHODS,
    NAMES,
    SITES,
    TEXTS,
    TIMES,
)
from tests.fuzz.wire import FuzzedRequest

_TOKEN = re.compile(rb"[A-Za-z_]+|[0-9]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(rb"[0-9]+")
_LITERAL = re.compile(rb"\"[^\"\n]*\"(?:@\w+)?|'[^'\n]*'(?:@\w+)?|\b\d+\b")
_PARAMETERS = [
    "query",
    "update",
    "default-graph-uri",
    "named-graph-uri",
    "using-graph-uri",
    "timeout",
    "at",
    "since",
    "until",
    "partition",
    "graph",
    "default",
    "lastEventId",
    "access_token",
    "x",
    "",
    "é",
]


class Mutations:
    """Applies some, drawn at random."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._kinds: list[Callable[[FuzzedRequest], FuzzedRequest]] = [
            self.method,
            self.accept,
            self.content_type,
            self.header,
            self.header,
            self.bytes_flipped,
            self.body_cut,
            self.token,
            self.token,
            self.token,
            self.number,
            self.nested,
            self.parameter,
            self.parameter,
            self.name,
            self.name,
            self.target_bytes,
            self.coding,
            self.coding,
            self.chunks,
            self.hang_up,
            self.length,
            self.body_text,
            self.body_swapped,
            self.raw_header,
            self.host,
            self.site,
            self.encoding,
            self.literal,
            self.literal,
            self.json_member,
            self.json_member,
        ]

    def apply(self, request: FuzzedRequest, swapped: FuzzedRequest) -> FuzzedRequest:
        """Nothing, or one to three mutations; ``swapped`` is another valid request."""
        self._swapped = swapped
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 1, 2, 3])):
            kind = self.random.choice(self._kinds)
            request = kind(request).noted(kind.__name__)
        return request

    def method(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, method=self.random.choice(METHODS))

    def accept(self, request: FuzzedRequest) -> FuzzedRequest:
        return request.with_header("Accept", self.random.choice(ACCEPTS))

    def content_type(self, request: FuzzedRequest) -> FuzzedRequest:
        if self.random.random() < 0.2:
            return replace(request, headers=tuple(one for one in request.headers if one[0] != "Content-Type"))
        return request.with_header("Content-Type", self.random.choice(MEDIA_TYPES))

    def header(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, headers=(*request.headers, self.random.choice(HEADERS)))

    def raw_header(self, request: FuzzedRequest) -> FuzzedRequest:
        bad = self.random.choice(
            [
                ("X", "a\x00b"),
                ("X y", "z"),
                ("", "z"),
                ("X", "a\rb"),
                ("X", "a\n b"),
                ("é", "z"),
                ("Content-Length", "5"),
                ("Transfer-Encoding", "chunked"),
                ("Transfer-Encoding", "gzip, chunked"),
                ("Host", "evil"),
                ("Host", ""),
                ("X", "y" * 70_000),
                ("Content-Length", "-1"),
                ("Host", "a b/?#@"),
                ("Host", "é:99999"),
                ("Host", "[::1"),
            ]
        )
        return replace(request, headers=(*request.headers, bad), mangled=True)

    def host(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, host=self.random.choice(HOSTS))

    def site(self, request: FuzzedRequest) -> FuzzedRequest:
        """As a page of some site sends it."""
        for name, value in self.random.choice(SITES).items():
            request = request.with_header(name, value)
        return request

    def encoding(self, request: FuzzedRequest) -> FuzzedRequest:
        """Another encoding, said or not, or bytes that are no UTF-8."""
        if self.random.random() < 0.4:
            place = self.random.randrange(len(request.body) + 1)
            broken = self.random.choice(BROKEN_UTF_8)
            return replace(request, body=request.body[:place] + broken + request.body[place:])
        encoding = self.random.choice(ENCODINGS)
        encoded = replace(request, body=request.body.decode("utf-8", "replace").encode(encoding, "replace"))
        said = next((value for name, value in request.headers if name == "Content-Type"), "text/turtle")
        return (
            encoded.with_header("Content-Type", f"{said}; charset={encoding}")
            if self.random.random() < 0.7
            else encoded
        )

    def literal(self, request: FuzzedRequest) -> FuzzedRequest:
        """A literal, or a number, becomes a term that is odd or long."""
        places = list(_LITERAL.finditer(request.body))
        if not places:
            return request
        place = self.random.choice(places)
        term = self.random.choice(LITERALS).encode()
        return replace(request, body=request.body[: place.start()] + term + request.body[place.end() :])

    def json_member(self, request: FuzzedRequest) -> FuzzedRequest:
        """Another value, or another name, of a member of the body, which is JSON; else as it is."""
        try:
            document = json.loads(request.body)
            members = _members(document)
        except (ValueError, RecursionError):  # it is nested too deep for us
            return request
        if not members:
            return replace(request, body=json.dumps(self.random.choice(JSON_VALUES)).encode())
        parent, key = self.random.choice(members)
        if isinstance(key, str) and self.random.random() < 0.15:
            parent[self.random.choice([*TEXTS, "type", "url", "\ud800"])] = parent.pop(key)
        else:
            parent[key] = self.random.choice([*JSON_VALUES, *TEXTS, *IRIS, *TIMES])
        return replace(request, body=json.dumps(document).encode())

    def bytes_flipped(self, request: FuzzedRequest) -> FuzzedRequest:
        body = bytearray(request.body)
        for _ in range(self.random.choice([1, 1, 3, 10])):
            if body:
                body[self.random.randrange(len(body))] = self.random.randrange(256)
        return replace(request, body=bytes(body))

    def body_cut(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, body=request.body[: self.random.randrange(len(request.body) + 1)])

    def body_text(self, request: FuzzedRequest) -> FuzzedRequest:
        place = self.random.randrange(len(request.body) + 1)
        text = self.random.choice([*TEXTS, *TIMES, *IRIS]).encode("utf-8", "surrogatepass")
        return replace(request, body=request.body[:place] + text + request.body[place:])

    def body_swapped(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, body=self._swapped.body)

    def token(self, request: FuzzedRequest) -> FuzzedRequest:
        """Leave out, repeat, swap or bring in tokens of the body, or of the query in the URL."""
        if not request.body and "?" in request.target:
            path, _, query = request.target.partition("?")
            return replace(request, target=f"{path}?{self._tokens(query.encode(), b'+').decode('latin-1')}")
        return replace(request, body=self._tokens(request.body, b" "))

    def _tokens(self, text: bytes, space: bytes) -> bytes:
        tokens = _TOKEN.findall(text)
        if not tokens:
            return text
        place = self.random.randrange(len(tokens))
        match self.random.randrange(4):
            case 0:
                del tokens[place]
            case 1:
                tokens[place:place] = [tokens[place]] * self.random.choice([1, 2, 300])
            case 2:
                other = self.random.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case _:
                donors = _TOKEN.findall(self._swapped.body) or [b"{"]
                tokens[place] = self.random.choice(donors)
        return b"".join(tokens).replace(b" ", space)

    def number(self, request: FuzzedRequest) -> FuzzedRequest:
        places = list(_NUMBER.finditer(request.body))
        if not places:
            return request
        place = self.random.choice(places)
        value = self.random.choice(TIMES).encode("utf-8")
        return replace(request, body=request.body[: place.start()] + value + request.body[place.end() :])

    def nested(self, request: FuzzedRequest) -> FuzzedRequest:
        depth = self.random.choice([50, 2_000, 30_000])
        before, after = self.random.choice(
            [
                (b"[", b"]"),
                (b'{"a":', b"}"),
                (b"(", b")"),
                (b"{ ", b" }"),
                (b"<a>", b"</a>"),
                (b"<< ", b" >>"),
                (b"!", b""),
                (b"SELECT * { ", b" }"),
                (b'{"@graph":[', b"]}"),
                (b"( ( 1 ) ", b")"),
                (b"[ <urn:p> ", b" ]"),
                (b"-", b""),
                (b"OPTIONAL {", b"}"),
                (b'{"http://ex/a":{"@list":[', b"]}}"),
            ]
        )
        if self.random.random() < 0.5:
            return replace(request, body=before * depth + request.body + after * depth)
        place = self.random.randrange(len(request.body) + 1)
        return replace(request, body=request.body[:place] + before * depth + after * depth + request.body[place:])

    def parameter(self, request: FuzzedRequest) -> FuzzedRequest:
        """One more, one twice, one less, or another value."""
        path, _, query = request.target.partition("?")
        parts = query.split("&") if query else []
        match self.random.randrange(4):
            case 0 if parts:
                parts.append(self.random.choice(parts))
            case 1 if parts:
                del parts[self.random.randrange(len(parts))]
            case 2 if parts:
                place = self.random.randrange(len(parts))
                parts[place] = f"{parts[place].partition('=')[0]}={self._value()}"
            case _:
                parts.append(f"{quote(self.random.choice(_PARAMETERS))}={self._value()}")
        return replace(request, target=f"{path}?{'&'.join(parts)}")

    def _value(self) -> str:
        value = self.random.choice(
            self.random.choice([TIMES, IRIS, TEXTS, ["SELECT * { ?s ?p ?o }", "http://ex/g", "0.1"]])
        )
        return (
            quote(value.encode("utf-8", "surrogatepass"))
            if self.random.random() < 0.9
            else "%zz%" + quote(value[:5].encode("latin-1", "replace"))
        )

    def name(self, request: FuzzedRequest) -> FuzzedRequest:
        """A segment of the path."""
        path, mark, query = request.target.partition("?")
        segments = path.split("/")
        place = self.random.randrange(1, len(segments) + 1)
        name = quote(self.random.choice(NAMES), safe="%/?;+'\"$()")
        if place == len(segments):
            segments.append(name)
        else:
            segments[place] = name
        return replace(request, target="/".join(segments) + mark + query)

    def target_bytes(self, request: FuzzedRequest) -> FuzzedRequest:
        place = self.random.randrange(len(request.target) + 1)
        piece = self.random.choice(
            [
                "%",
                "%00",
                "%FF",
                "%2F",
                "//",
                "é",
                "\x01",
                " ",
                "#",
                "?",
                "&",
                "&&",
                "=",
                ";",
                "\\",
                "%u0041",
                "x" * 9000,
            ]
        )
        target = request.target[:place] + piece + request.target[place:]
        return replace(request, target=target, mangled=True)

    def coding(self, request: FuzzedRequest) -> FuzzedRequest:
        match self.random.randrange(6):
            case 0:
                return replace(
                    request.with_header("Content-Encoding", "gzip"), body=gzip.compress(request.body, mtime=0)
                )
            case 1:
                return replace(request.with_header("Content-Encoding", "deflate"), body=zlib.compress(request.body))
            case 2:
                bomb = gzip.compress(bytes(20_000_000), mtime=0)
                return replace(request.with_header("Content-Encoding", "gzip"), body=bomb)
            case 3:
                body = bytearray(gzip.compress(request.body, mtime=0))
                body[self.random.randrange(len(body))] ^= 1 << self.random.randrange(8)
                return replace(request.with_header("Content-Encoding", "gzip"), body=bytes(body))
            case 4:
                longer = gzip.compress(request.body, mtime=0) + self.random.choice([b"x", gzip.compress(b"y", mtime=0)])
                return replace(request.with_header("Content-Encoding", "gzip"), body=longer)
            case _:
                compressed = gzip.compress(request.body, mtime=0)
                cut = compressed[: self.random.randrange(len(compressed))]
                return replace(request.with_header("Content-Encoding", "gzip"), body=cut)

    def chunks(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, chunked=True)

    def hang_up(self, request: FuzzedRequest) -> FuzzedRequest:
        return replace(request, cut=self.random.randrange(len(request.body) + 1))

    def length(self, request: FuzzedRequest) -> FuzzedRequest:
        announced = self.random.choice(["0", "1", "99999999999", "-1", "x", "9" * 30, "+5", " 5", "5, 5"])
        # A connection that is left open would be waited for: so this one is closed after what there is.
        return replace(request, announced=announced, cut=len(request.body), mangled=True)


def _members(value: Any) -> list[tuple[Any, str | int]]:
    """Where each value within a document stands: its object or array, and its name or place there."""
    places: list[tuple[Any, str | int]] = []
    if isinstance(value, dict):
        places += [(value, name) for name in value]
    elif isinstance(value, list):
        places += [(value, place) for place in range(len(value))]
    return places + [within for parent, key in places for within in _members(parent[key])]
