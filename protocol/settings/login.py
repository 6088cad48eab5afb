"""The members of settings that say who comes, and whom they trust: the same in sources and sinks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from protocol.formats.json.object import shown
from protocol.login import MECHANISMS, Login, TlsFiles, is_one_line

SECRET_PREFIX = "SPARQL_STREAMS_SECRET_"
"""How the names of the environment variables begin that may hold a password."""

WEB_MEMBERS = ("user", "passwordFile", "passwordVariable")
"""What settings have for a login to a web server."""
MQTT_MEMBERS = (*WEB_MEMBERS, "tls")
KAFKA_MEMBERS = (*MQTT_MEMBERS, "mechanism")


_VARIABLE = re.compile(rf"{SECRET_PREFIX}[A-Z0-9_]+\Z")
_TLS = ("caFile", "certFile", "keyFile")


def parse_login(members: Mapping[str, Any], refuse: Callable[[str], NoReturn], *, of_kafka: bool) -> Login:
    """The login among the members of some settings. ``refuse`` is called with what is wrong, and raises."""
    user, file, variable = (_text(members, name, refuse) for name in WEB_MEMBERS)
    if file is not None and variable is not None:
        refuse("there is a passwordFile or a passwordVariable, not both")
    if user is None and (file or variable) is not None:
        refuse("a password goes with a user: say which")
    if of_kafka and user is not None and file is None and variable is None:
        refuse("a user of Kafka's goes with a password: say passwordFile or passwordVariable")
    if file is not None and not file.startswith("/"):
        refuse(f"passwordFile must be an absolute path of the server's, not {shown(file)}")
    if variable is not None and not _VARIABLE.match(variable):
        refuse(f"passwordVariable must be the name of an environment variable that begins with {SECRET_PREFIX}")
    tls = _tls(members.get("tls"), refuse)
    mechanism = members.get("mechanism")
    if mechanism is not None and mechanism not in MECHANISMS:
        refuse(f"mechanism must be one of {', '.join(map(shown, MECHANISMS))}, not {shown(mechanism)}")
    if mechanism is not None and user is None:
        refuse("a mechanism goes with a user: say which")
    return Login(user, file, variable, tls, mechanism)


def login_document(login: Login) -> dict[str, Any]:
    """The members as ``parse_login`` takes them. There is no secret in them: only where it is."""
    files = login.tls and (login.tls.authorities, login.tls.certificate, login.tls.key)
    document = {
        "user": login.user,
        "passwordFile": login.password_file,
        "passwordVariable": login.password_variable,
        "mechanism": login.mechanism,
        "tls": files and ({name: path for name, path in zip(_TLS, files, strict=True) if path is not None} or True),
    }
    return {name: value for name, value in document.items() if value is not None}


def _text(members: Mapping[str, Any], name: str, refuse: Callable[[str], NoReturn]) -> str | None:
    value = members.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        refuse(f"{name} must be a text, not {shown(value)}")
    if not is_one_line(value):
        refuse(f"{name} must be a text on one line, without control characters")
    return str(value)


def _tls(value: object, refuse: Callable[[str], NoReturn]) -> TlsFiles | None:
    if value is None or value is False:
        return None
    if value is True:
        return TlsFiles()
    if not isinstance(value, dict) or not value.keys() <= set(_TLS):
        refuse(f"tls must be true, or an object with {', '.join(_TLS)} (paths of PEM files), not {shown(value)}")
    authorities, certificate, key = (_text(value, name, refuse) for name in _TLS)
    if key is not None and certificate is None:
        refuse("tls: a keyFile goes with a certFile")
    return TlsFiles(authorities, certificate, key)
