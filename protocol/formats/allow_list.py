"""Which addresses the server may use because a request says so: prefixes of URLs, compared part by part.

LOAD and SERVICE have web addresses; sources and sinks of streams also those of brokers and files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

EVERYTHING = "*"
WEB = frozenset({"http", "https"})
FILE = "file"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "mqtt": 1883, "mqtts": 8883, "kafka": 9092, FILE: 0}
# Narrower than RFC 3986: no user, no escapes in the host, no label there that names have not, no backslash; what is
# left, all parsers split alike.
_HOST = r"(?:[A-Za-z0-9_\-]{1,63}\.)*[A-Za-z0-9_\-]{1,63}\.?|\[[0-9A-Fa-f:.]+\]"
_ADDRESS = re.compile(
    rf"(?P<scheme>https?|wss?|mqtts?|kafka)://(?P<host>{_HOST})(?::(?P<port>\d{{1,5}}))?"
    r"(?P<path>/[^\x00-\x20\x7f?#\\<>\"{}|^`]*)?(?P<rest>[?#][^\x00-\x20\x7f\\<>\"{}|^`]*)?\Z",
    re.IGNORECASE | re.ASCII,
)
_FILE = re.compile(r"file:(?://(?:localhost)?)?(?P<path>/(?!/)[^\x00-\x20\x7f?#\\]*)\Z", re.IGNORECASE | re.ASCII)
_SCHEME_ALONE = re.compile(r"(?P<scheme>wss?|mqtts?|kafka|file):\Z", re.IGNORECASE | re.ASCII)
_DOT_SEGMENT = re.compile(r"(?:\.|%2e){1,2}(?:;.*)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"/|%2f|%5c", re.IGNORECASE)
"""What some servers take for the end of a segment, as others do what is behind a semicolon for none of its name."""


@dataclass(frozen=True)
class Prefix:
    """All addresses with this scheme, host and port whose path begins with this one, whole segments of it.

    Without a host it is every address with the scheme. A file has the host ``localhost`` and no port.
    """

    scheme: str
    host: str
    port: int
    path: str

    def covers(self, other: Prefix) -> bool:
        """Whether the address ``other`` (its query and fragment left out) begins with this prefix."""
        if not self.host:
            return self.scheme == other.scheme
        if (self.scheme, self.host, self.port) != (other.scheme, other.host, other.port):
            return False
        whole = self.path.rstrip("/")
        return other.path.startswith(f"{whole}/") or (other.path == whole and self.path == whole)

    def __str__(self) -> str:
        if not self.host:
            return f"{self.scheme}:"
        if self.scheme == FILE:
            return f"file://{quote(self.path)}"
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}"


@dataclass(frozen=True)
class AllowList:
    """The addresses that may be used; by default none. ``AllowList.of`` makes it again from its ``entries``."""

    prefixes: tuple[Prefix, ...] = ()
    everything: bool = False

    @classmethod
    def of(cls, entries: Iterable[str]) -> AllowList:
        """The list of these prefixes; ``*`` is every http and https address, ``mqtt:`` every address with that scheme
        (as well ``mqtts:``, ``ws:``, ``wss:``, ``kafka:``, ``file:``), ``file:///data`` all in that folder.

        ValueError names one that is wrong.
        """
        prefixes: list[Prefix] = []
        everything = False
        for entry in (one.strip() for one in entries):
            if not entry:
                continue
            if entry == EVERYTHING:
                everything = True
                continue
            alone = _SCHEME_ALONE.match(entry)
            if alone is not None:
                prefixes.append(Prefix(alone["scheme"].lower(), "", 0, "/"))
                continue
            read = _read(entry)
            if read is None or "?" in entry or "#" in entry:
                raise ValueError(
                    f"{entry!r} is neither {EVERYTHING} nor the beginning of an address such as "
                    "https://example.org/data, mqtt://example.org or file:///data (host and path without user, query "
                    "and fragment)"
                )
            prefixes.append(read)
        return cls(tuple(dict.fromkeys(prefixes)), everything)

    def permits(self, address: str, schemes: Collection[str] = WEB) -> bool:
        """Whether the address, an absolute IRI with one of the schemes, may be used; one that parsers may read
        differently may not.
        """
        read = _read(address)
        if read is None or read.scheme not in schemes:
            return False
        everything = self.everything and read.scheme in WEB
        return everything or any(prefix.covers(read) for prefix in self.prefixes)

    def __bool__(self) -> bool:
        return self.everything or bool(self.prefixes)

    @property
    def entries(self) -> tuple[str, ...]:
        """What is permitted, one by one: a path may have commas."""
        return (*((EVERYTHING,) if self.everything else ()), *map(str, self.prefixes))


NOTHING = AllowList()
"""No address at all."""


def _read(address: str) -> Prefix | None:
    """The parts of an address; None for one of another kind, and for a path with ``.`` or ``..`` in it."""
    file = _FILE.match(address)
    if file is not None:
        path = unquote(file["path"])
        whole = "\0" not in path and not any(_DOT_SEGMENT.fullmatch(segment) for segment in path.split("/"))
        return Prefix(FILE, "localhost", 0, path) if whole else None
    match = _ADDRESS.match(address)
    if match is None:
        return None
    scheme, path = match["scheme"].lower(), match["path"] or "/"
    port = int(match["port"]) if match["port"] else _PORTS[scheme]
    if port > 65535 or any(_DOT_SEGMENT.fullmatch(segment) for segment in _SEPARATOR.split(path)):
        return None
    return Prefix(scheme, match["host"].lower(), port, path)
