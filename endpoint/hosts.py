"""The names an endpoint is known by (docs/operations.md, "Names"): requests for another host are refused.

A page whose name its owner points at this machine after it was loaded (DNS rebinding) is of the same site as the
endpoint, for the browser. What it cannot do is send another ``Host`` than its own name.
"""

from __future__ import annotations

import dataclasses
import re
import socket
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from endpoint.problems import protocol_error
from endpoint.settings import ANY_HOST, HOST_NAME, Settings
from protocol.errors import ProtocolError, shortened

# RFC 9110 section 7.2, RFC 3986 section 3.2.2. HTTP/2's :authority comes as Host too, says ASGI.
_HOST = re.compile(r"(?:\[(?P<address>[^\[\]]*)\]|(?P<name>[A-Za-z0-9\-._~%!$&'()*+,;=]*))(?::\d*)?\Z")


class UnknownHost(ProtocolError):
    """The request is for a host that this endpoint is not known as (RFC 9110 section 15.5.20)."""

    status = 421
    title = "Not a name of this endpoint"
    refusal = "unknown_host"


class InvalidHost(ProtocolError):
    """The header Host is no host (RFC 9112 section 3.2)."""

    title = "The header Host is wrong"


class KnownHosts:
    """ASGI middleware that passes on requests for one of the ``names``, ``localhost`` or an IP address, at any port.

    ``*.example.org`` stands for every name below ``example.org``. A page has the host in its address, and an address
    of numbers cannot be pointed elsewhere: so these need not be listed. Starlette's TrustedHostMiddleware knows no
    such addresses, and answers in plain text. ``refusals`` counts what is refused.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str], refusals: Counter[str]) -> None:
        self._app = app
        self._names = frozenset(name for name in names if not name.startswith("*.")) | {"localhost"}
        self._endings = tuple(name.removeprefix("*") for name in names if name.startswith("*."))
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(Headers(scope=scope).get("host", ""))
            except ProtocolError as error:
                await protocol_error(error, self._refusals)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, host: str) -> None:
        parts = _HOST.match(host)
        if parts is None:
            raise InvalidHost(f"{shortened(host)!r} is no host, such as example.org:8000")
        name = (parts["name"] or "").lower().removesuffix(".")
        # HTTP/1.0 needs no Host, and no browser leaves it out.
        if not host or name in self._names or name.endswith(self._endings) or _is_address(parts["address"] or name):
            return
        raise UnknownHost(
            f"this endpoint is not known as {shortened(name or host)!r}: ask for localhost or its IP address, or start "
            "it with this name (--hosts NAME, SPARQL_STREAMS_HOSTS)"
        )


def with_own_names(settings: Settings) -> Settings:
    """The settings of an endpoint that is served on its own, with the names that go without saying.

    These are the machine's, and the hosts of the address listened on and of the public URL.
    """
    own = (settings.host, socket.gethostname(), urlsplit(settings.base_url).hostname or "")
    # What has another form (an IPv6 address, say) is no name that a browser could send.
    names = [name.lower() for name in own if HOST_NAME.match(name.lower())]
    return dataclasses.replace(settings, hosts=tuple(dict.fromkeys([*settings.hosts, *names])))


def checks_hosts(settings: Settings) -> bool:
    """Whether the hosts of requests are looked at: ``*`` is every name, and none given leaves it to who embeds."""
    return bool(settings.hosts) and ANY_HOST not in settings.hosts


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
