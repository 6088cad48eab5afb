"""When the server is told to stop: the one place that knows how sse-starlette finds out.

uvicorn tells an application of its stop only once all responses are over, and a listener's is over only when somebody
ends it. sse-starlette looks for uvicorn's signal (in a handler of its own, or in the server that has the signal) and
then ends its own responses. That is too late for listeners, who are to be let go of in order, and no help to a client
that waits for a single answer: they have to hear of the signal itself, for which it has no public function (3.7).
"""

from __future__ import annotations

from sse_starlette.sse import AppStatus, EventSourceResponse


async def server_stops() -> None:
    """Wait until the server of this event loop is told to stop."""
    await EventSourceResponse._listen_for_exit_signal()


def forget_former_server() -> None:
    """Take back that a server was told to stop.

    sse-starlette notes it for the whole process and for good: a server that runs in this process after that one would
    end every result stream at once.
    """
    AppStatus.should_exit = False
