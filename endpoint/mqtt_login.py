"""What a client of an MQTT broker needs before it connects: where to, and its login."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from paho.mqtt.client import Client

from endpoint.password import Login, LoginFailed, password_of
from protocol.sources import TlsFiles

_PORTS = {"mqtt": 1883, "mqtts": 8883}


class BrokerLogin(Login, Protocol):
    """Who comes to a broker, and what they trust."""

    @property
    def user(self) -> str | None: ...

    @property
    def tls(self) -> TlsFiles | None: ...


def address_of(url: str) -> tuple[str, int]:
    """The broker's host and port."""
    parts = urlsplit(url)
    assert parts.hostname is not None, "a url without a host is not taken"
    return parts.hostname, parts.port or _PORTS[parts.scheme]


def set_login(client: Client, url: str, login: BrokerLogin) -> None:
    """Have the client log in so, over TLS where the url says it. Reads files. Raises LoginFailed."""
    if login.user is not None:
        client.username_pw_set(login.user, password_of(login))
    if login.tls is not None or urlsplit(url).scheme == "mqtts":
        tls = login.tls or TlsFiles()
        for path in (tls.authorities, tls.certificate, tls.key):
            _require_readable(path)
        try:
            client.tls_set(tls.authorities, tls.certificate, tls.key)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise LoginFailed(f"the files of tls cannot be used: {error}") from None


def _require_readable(path: str | None) -> None:
    """Raises LoginFailed, which names the file: OpenSSL does not."""
    if path is None:
        return
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise LoginFailed(f"the file {path} of tls cannot be read: {error.strerror}") from None
