"""The password of a source, from where its settings say that it is."""

from __future__ import annotations

import os
from pathlib import Path

from protocol.sources import SourceFailed, SourceSettings


def password_of(settings: SourceSettings) -> str | None:
    """The password as it is now; None where there is none. Raises SourceFailed if it cannot be had."""
    if settings.password_file is not None:
        try:
            return Path(settings.password_file).read_text("utf-8").partition("\n")[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceFailed(f"the password cannot be read from {settings.password_file}: {error}") from None
    if settings.password_variable is not None:
        password = os.environ.get(settings.password_variable)
        if password is None:
            raise SourceFailed(f"the environment variable {settings.password_variable} with the password is not set")
        return password
    return None
