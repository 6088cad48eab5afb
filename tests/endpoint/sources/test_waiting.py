"""What waits between the thread that receives and the one that stores."""

from __future__ import annotations

import pytest

from endpoint.sources.waiting import Put, Waiting
from protocol.sources import SourceMessage


class Panicking(BaseException):
    """As pyoxigraph's is."""


@pytest.mark.parametrize("failure", [OSError("broken pipe"), Panicking("out of bounds")])
def test_whatever_ends_the_receipt_is_raised_once_all_that_came_before_is_taken(failure: BaseException) -> None:
    message = SourceMessage(b"", "text/turtle", "", b"1")

    def receive(put: Put) -> None:
        put(message, {"at": b"1"})
        raise failure

    waiting = Waiting("feed", receive)
    waiting.join()
    taken = waiting.take(0)
    assert taken is not None
    assert (taken.messages, taken.positions) == ([message], {"at": b"1"})
    with pytest.raises(type(failure)):
        waiting.take(0)
