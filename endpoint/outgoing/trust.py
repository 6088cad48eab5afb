"""What is trusted of a server that is asked by HTTP: its certificate, and whether a proxy may stand before it."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_reading = threading.Lock()


def is_outside(address: str) -> bool:
    """Whether a proxy may stand before it: not before this machine."""
    return urlsplit(address).hostname not in _LOOPBACK


def trusted(address: str) -> ssl.SSLContext:
    """The certificates that are trusted there; of what is outside, as the environment says, and for http: none.

    Reading them takes some 100 ms, so it is not for the event loop; they are read once. Raises OSError.
    """
    with _reading:
        return _certificates(is_outside(address)) if urlsplit(address).scheme == "https" else _no_certificates()


@cache
def _certificates(outside: bool) -> ssl.SSLContext:
    import httpx  # late: the processes that only read the store import this module, too

    return httpx.create_ssl_context(trust_env=outside)


@cache
def _no_certificates() -> ssl.SSLContext:
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
