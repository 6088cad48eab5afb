"""Passwords of sources and sinks: in a file of the server's, or in its environment; never in a setting, an answer or an
error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from protocol.errors import ProtocolError
from protocol.login import Login, TlsFiles, is_one_line

_LONGEST = 1024


class LoginFailed(ProtocolError):
    """What a client is to log in with is not there: it is tried again later."""

    status = 502
    title = "There is nothing to log in with"


def login_warnings(login: Login) -> list[str]:
    """What of a login is not there at the moment, a sentence each. Reads files."""
    warnings = []
    try:
        password_of(login)
    except LoginFailed as error:
        warnings.append(error.detail)
    try:
        require_readable(login.tls or TlsFiles())
    except LoginFailed as error:
        warnings.append(error.detail)
    return warnings


def require_readable(tls: TlsFiles) -> None:
    """Raises LoginFailed, which names the first file that cannot be read: OpenSSL does not."""
    for path in tls.paths:
        try:
            read_ordinary(path, 0)
        except OSError as error:
            raise LoginFailed(f"the file {path} of tls cannot be read: {error.strerror}") from None


def read_ordinary(path: str, most: int) -> bytes:
    """As many bytes of a file at most. Raises OSError, also for what is no ordinary file: whoever opens a pipe may wait
    for ever, and a device may have no end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file")
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)


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
        text = read_ordinary(login.password_file, _LONGEST + 1).decode()
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
