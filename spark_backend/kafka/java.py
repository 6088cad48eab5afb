"""What Java throws, for a person."""

from __future__ import annotations

import re

from spark_backend.spark_sql.deferred import first_line

_CLASS = re.compile(r"^(?:[a-z][a-z0-9]*\.)+[A-Z]\w*(?:\$\w+)*: ")


def java_says(error: Exception) -> str:
    """The message of what was thrown first, in one line, without the names of Java's classes before it."""
    thrown = getattr(error, "java_exception", None)
    if thrown is None:
        said = first_line(error)
    else:
        while (cause := thrown.getCause()) is not None:
            thrown = cause
        said = (thrown.getMessage() or thrown.getClass().getSimpleName()).strip().split("\n", 1)[0][:500]
    return _CLASS.sub("", said)
