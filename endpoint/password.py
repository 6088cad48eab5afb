"""Passwords of sources: in a file of the server's, or in its environment; never in a setting, an answer or an error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from protocol.sources import SourceFailed, SourceSettings

_LONGEST = 1024


def password_of(source: SourceSettings, environment: Mapping[str, str] = os.environ) -> str | None:
    """The password of a source; None where it has none. Read anew at every attempt, so that it may be changed.

    Raises SourceFailed if it is not there. A file with more than one line has no password: so few other
    files of the server's could be sent to a broker.
    """
    if source.password_variable is not None:
        value = environment.get(source.password_variable)
        if value is None:
            raise SourceFailed(f"the environment variable {source.password_variable} with the password is not set")
        return value
    if source.password_file is None:
        return None
    try:
        with Path(source.password_file).open("rb") as file:
            text = file.read(_LONGEST + 1).decode()
    except OSError as error:
        raise SourceFailed(f"passwordFile {source.password_file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SourceFailed(f"passwordFile {source.password_file} is not UTF-8") from None
    line = text.removesuffix("\n").removesuffix("\r")
    if len(text) > _LONGEST or "\n" in line or not line:
        raise SourceFailed(f"passwordFile {source.password_file} has to be one line, of at most {_LONGEST} characters")
    return line
