"""Passwords of sources and sinks: in a file of the server's, or in its environment; never in a setting, an answer or an
error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from protocol.errors import ProtocolError
from protocol.login import is_one_line

_LONGEST = 1024


class Login(Protocol):
    """Where a password is."""

    @property
    def password_file(self) -> str | None: ...

    @property
    def password_variable(self) -> str | None: ...


class LoginFailed(ProtocolError):
    """What a client is to log in with is not there: it is tried again later."""

    status = 502
    title = "There is nothing to log in with"


def login_warnings(login: Login) -> list[str]:
    """Why there is no password at the moment where there should be one, a sentence."""
    try:
        password_of(login)
    except LoginFailed as error:
        return [error.detail]
    return []


def password_of(login: Login, environment: Mapping[str, str] = os.environ) -> str | None:
    """The password of a login; None where it has none. Read anew at every attempt, so that it may be changed.

    Raises LoginFailed if it is not there. A file with more than one line has no password: so few other
    files of the server's could be sent to a broker. Nor has a text with control characters.
    """
    if login.password_variable is not None:
        value = environment.get(login.password_variable)
        if value is None:
            raise LoginFailed(f"the environment variable {login.password_variable} with the password is not set")
        if not is_one_line(value):
            raise LoginFailed(
                f"the environment variable {login.password_variable} has a control character or a line break in it: "
                "a password is one line without"
            )
        return value
    if login.password_file is None:
        return None
    try:
        with Path(login.password_file).open("rb") as file:
            text = file.read(_LONGEST + 1).decode()
    except OSError as error:
        raise LoginFailed(f"passwordFile {login.password_file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LoginFailed(f"passwordFile {login.password_file} is not UTF-8") from None
    line = text.removesuffix("\n").removesuffix("\r")
    if len(text) > _LONGEST or "\n" in line or not line:
        raise LoginFailed(f"passwordFile {login.password_file} has to be one line, of at most {_LONGEST} characters")
    if not is_one_line(line):
        raise LoginFailed(f"passwordFile {login.password_file} has a control character in it: a password has none")
    return line
