"""The user that Spark runs as, where the system knows none of this number: a container that was given a number alone.

Java has neither a name nor a home of such a user, and Hadoop, which asks it for the name, lets Spark not start.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any


def is_nameless() -> bool:
    """Whether the system has no name for the user of this process."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return True
    return False


def home_options() -> tuple[str, ...]:
    """Java options that say where a nameless user is at home: where the environment says, as for other programs."""
    home = Path(os.environ.get("HOME") or "/")
    return (f"-Duser.home={home if home.is_absolute() else '/'}",) if is_nameless() else ()


def name_user(jvm: Any) -> None:
    """Have a nameless user one in this Java, before Hadoop looks for it: the number."""
    if is_nameless():
        users = jvm.org.apache.hadoop.security.UserGroupInformation
        users.setLoginUser(users.createRemoteUser(str(os.geteuid())))
