"""The collector of garbage passes over what a server has loaded, which stays until its end."""

from __future__ import annotations

import atexit
import gc
import threading
import time
from collections.abc import Callable

_LOOK_SECONDS = 0.5


def spare_once(loaded: Callable[[], bool], *, look_seconds: float = _LOOK_SECONDS) -> threading.Thread:
    """As soon as all is ``loaded``, which is asked every ``look_seconds``, set aside what there is then.

    Modules, grammars and classes are some 170,000 objects. Each full collection looked at all of them again, a tenth
    of a second in which nobody was answered. The thread that does it, which ends with that, is given back.
    """

    def spare() -> None:
        while not loaded():
            time.sleep(look_seconds)
        gc.collect()
        gc.freeze()
        # What is set aside would outlive the interpreter, of which DuckDB's binding complains in fifty lines.
        atexit.register(gc.unfreeze)

    thread = threading.Thread(target=spare, name="spare-loaded", daemon=True)
    thread.start()
    return thread
