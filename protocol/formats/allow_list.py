"""Which addresses the server may fetch because a request says so: prefixes of http(s) URLs, compared part by part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

EVERYTHING = "*"
_PORTS = {"http": 80, "https": 443}
# Narrower than RFC 3986: no user, no escapes in the host, no backslash; what is left, all parsers split alike.
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?"
    r"(?P<path>/[^\x00-\x20\x7f?#\\<>\"{}|^`]*)?(?P<rest>[?#][^\x00-\x20\x7f\\<>\"{}|^`]*)?\Z",
    re.IGNORECASE,
)
_DOT_SEGMENT = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


@dataclass(frozen=True)
class Prefix:
    """All addresses with this scheme, host and port whose path begins with this one, whole segments of it."""

    scheme: str
    host: str
    port: int
    path: str

    def covers(self, other: Prefix) -> bool:
        """Whether the address ``other`` (its query and fragment left out) begins with this prefix."""
        if (self.scheme, self.host, self.port) != (other.scheme, other.host, other.port):
            return False
        whole = self.path.rstrip("/")
        return other.path.startswith(f"{whole}/") or (other.path == whole and self.path == whole)

    def __str__(self) -> str:
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}"


@dataclass(frozen=True)
class AllowList:
    """The addresses that may be fetched; by default none. ``str`` of it is read again by ``AllowList.of``."""

    prefixes: tuple[Prefix, ...] = ()
    everything: bool = False

    @classmethod
    def of(cls, entries: Iterable[str]) -> AllowList:
        """The list of these prefixes; ``*`` is every http and https address. ValueError names one that is wrong."""
        prefixes: list[Prefix] = []
        everything = False
        for entry in (one.strip() for one in entries):
            if not entry:
                continue
            if entry == EVERYTHING:
                everything = True
                continue
            read = _read(entry)
            if read is None or "?" in entry or "#" in entry:
                raise ValueError(
                    f"{entry!r} is neither {EVERYTHING} nor the beginning of an http or https address "
                    "such as https://example.org/data (host and path without user, query and fragment)"
                )
            prefixes.append(read)
        return cls(tuple(dict.fromkeys(prefixes)), everything)

    def permits(self, address: str) -> bool:
        """Whether the address, an absolute IRI, may be fetched; one that parsers may read differently may not."""
        read = _read(address)
        return read is not None and (self.everything or any(prefix.covers(read) for prefix in self.prefixes))

    def __bool__(self) -> bool:
        return self.everything or bool(self.prefixes)

    def __str__(self) -> str:
        return ",".join([*([EVERYTHING] if self.everything else []), *map(str, self.prefixes)])


NOTHING = AllowList()
"""No address at all."""


def _read(address: str) -> Prefix | None:
    """The parts of an http or https address; None for any other, and for a path with ``.`` or ``..`` in it."""
    match = _ADDRESS.match(address)
    if match is None:
        return None
    scheme, path = match["scheme"].lower(), match["path"] or "/"
    port = int(match["port"]) if match["port"] else _PORTS[scheme]
    if port > 65535 or any(_DOT_SEGMENT.fullmatch(segment) for segment in path.split("/")):
        return None
    return Prefix(scheme, match["host"].lower(), port, path)
