"""Errors that are raised in one process and answered in another."""

from __future__ import annotations

import json
from typing import Any

from endpoint.processes.frames import Frame, Kind
from protocol.errors import ProtocolError


def problem_frame(error: ProtocolError) -> Frame:
    """The frame from which the other process makes a ``RelayedError``."""
    return Frame(Kind.PROBLEM, json.dumps({**error.problem(), "refusal": error.refusal}).encode("ascii"))


class RelayedError(ProtocolError):
    """A ProtocolError that was raised in another process, with all that its class said there."""

    def __init__(self, document: dict[str, Any]) -> None:
        """``document`` is the problem document (RFC 9457), and the member ``refusal`` of the error's class."""
        said = dict(document)
        said.pop("type", None)
        self.title = said.pop("title")
        self.refusal = said.pop("refusal", "")
        self.status = said.pop("status")
        super().__init__(said.pop("detail"), line=said.pop("line", None), column=said.pop("column", None), extra=said)
