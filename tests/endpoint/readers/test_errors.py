from __future__ import annotations

from endpoint.processes.relayed_error import RelayedError
from protocol.errors import QuerySyntaxError


def test_an_error_says_the_same_after_it_has_come_from_another_process() -> None:
    error = QuerySyntaxError("what is wrong", line=2, column=7, extra={"available": ["a"]})
    relayed = RelayedError(error.problem())
    assert relayed.problem() == error.problem()
    assert (relayed.status, relayed.line, relayed.column, str(relayed)) == (400, 2, 7, "what is wrong")
