"""Looking up the names of other servers, which an event loop does in threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

_LOOKUPS_AT_ONCE = 256


def look_up_many() -> None:
    """Have the running event loop, one of our own, look up many names at once.

    A name server that says nothing keeps a thread for many seconds, whoever has given up waiting by then. Python's
    own number, some more than there are cores, is soon used up: then one sink's name server holds up all other sinks.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_LOOKUPS_AT_ONCE, "names"))
