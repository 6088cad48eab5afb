"""How a cluster is reached: of the settings of a source or a sink, with what is in the files that they name."""

from __future__ import annotations

from urllib.parse import urlsplit

from endpoint.logins.password import LoginFailed, password_of, read_ordinary
from protocol.errors import size_text
from protocol.kafka import KafkaCluster, KafkaTls
from protocol.login import MECHANISMS, Login, TlsFiles

_PORT = 9092
_LONGEST_PEM = 2**20
"""Bytes of a file of certificates: what a system trusts has some 200 KB."""


def cluster_of(url: str, login: Login) -> KafkaCluster:
    """The cluster at ``kafka://HOST:PORT``. Raises LoginFailed for a file that cannot be read."""
    parts = urlsplit(url)
    assert parts.hostname is not None, "settings have one"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return KafkaCluster(
        f"{host}:{parts.port or _PORT}",
        login.user,
        password_of(login),
        login.mechanism or MECHANISMS[0],
        None if login.tls is None else _contents(login.tls),
    )


def _contents(files: TlsFiles) -> KafkaTls:
    return KafkaTls(_text(files.authorities), _text(files.certificate), _text(files.key))


def _text(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        text = read_ordinary(path, _LONGEST_PEM + 1).decode("ascii")
    except OSError as error:
        raise LoginFailed(f"the file {path} of tls cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LoginFailed(f"the file {path} of tls is no PEM file") from None
    if len(text) > _LONGEST_PEM:
        raise LoginFailed(f"the file {path} of tls is longer than {size_text(_LONGEST_PEM)}")
    return text
