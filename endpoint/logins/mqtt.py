"""What a client of an MQTT broker needs before it connects: where to, and its login."""

from __future__ import annotations

import ssl
from typing import NoReturn
from urllib.parse import urlsplit

from paho.mqtt.client import Client

from endpoint.logins.password import LoginFailed, password_of, require_readable
from protocol.login import Login, TlsFiles

_PORTS = {"mqtt": 1883, "mqtts": 8883}


def address_of(url: str) -> tuple[str, int]:
    """The broker's host and port."""
    parts = urlsplit(url)
    assert parts.hostname is not None, "a url without a host is not taken"
    return parts.hostname, parts.port or _PORTS[parts.scheme]


def set_login(client: Client, url: str, login: Login) -> None:
    """Have the client log in so, over TLS where the url says it. Reads files. Raises LoginFailed."""
    if login.user is not None:
        client.username_pw_set(login.user, password_of(login))
    if login.tls is not None or urlsplit(url).scheme == "mqtts":
        tls = login.tls or TlsFiles()
        require_readable(tls)
        try:
            client.tls_set(tls.authorities, tls.certificate, tls.key, keyfile_password=_ask)  # type: ignore[arg-type]
        except (OSError, ssl.SSLError, ValueError) as error:
            raise LoginFailed(f"the files of tls cannot be used: {error}") from None


def _ask() -> NoReturn:
    """In place of OpenSSL, which would ask for the key's password at the server's terminal, and wait."""
    raise ValueError("the key is encrypted, and there is nobody to ask for its password")
