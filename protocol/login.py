"""How sources and sinks log in where they go: users, where passwords are, and TLS (docs/sources.md, docs/sinks.md)."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""How a login to Kafka is made (SASL), the default first."""

_NEVER = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode: control characters, line breaks among them; halves of surrogate pairs; line and paragraph
separators.
"""


@dataclass(frozen=True)
class TlsFiles:
    """Paths of PEM files: authorities to trust in place of the system's, and the client's own certificate and key."""

    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(path for path in (self.authorities, self.certificate, self.key) if path is not None)


@dataclass(frozen=True)
class Login:
    """Who comes, and whom they trust.

    The password is not here: it is the line of a file, or the value of an environment variable. ``tls`` None: as the
    address says. ``mechanism``: of a login to Kafka, None for the usual one.
    """

    user: str | None = None
    password_file: str | None = None
    password_variable: str | None = None
    tls: TlsFiles | None = None
    mechanism: str | None = None


NOBODY = Login()


def is_one_line(text: str) -> bool:
    """Whether the text has no control character and no line break, which could end it early where it is written into a
    configuration or a header.
    """
    return not any(unicodedata.category(character) in _NEVER for character in text)
