"""Answers of live queries: compared by their lines, given out as documents (docs/http.md, "Events")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from protocol.formats.sse import show_instant
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.time import Instant


@dataclass(frozen=True)
class StoreAnswer:
    """What a query's answer has been since an instant, as lines (``endpoint.readers.lines``)."""

    instant: Instant
    lines: bytes

    @property
    def digest(self) -> str:
        """The same for the same answer."""
        return hashlib.sha256(self.lines).hexdigest()


def difference(operator: R2S, lines: bytes, former: bytes | None) -> tuple[bytes, Sequence[bytes]]:
    """The head of an answer, and those of its lines that are given out (RSP-QL Definitions 20 to 22).

    ``former``: what whoever gets it has had; None: nothing.
    """
    head, *now = lines.splitlines()
    before = [] if former is None else former.splitlines()[1:]
    match operator:
        case R2S.RSTREAM:
            return head, now
        case R2S.ISTREAM:
            known = frozenset(before)
            return head, [line for line in now if line not in known]
        case R2S.DSTREAM:
            left = frozenset(now)
            return head, [line for line in before if line not in left]


def document(query: ContinuousQuery, instant: Instant, head: bytes, lines: Sequence[bytes]) -> bytes:
    """The document of an evaluation: SPARQL 1.1 Query Results JSON with the member ``evaluation``, or N-Triples."""
    if query.form in (Form.CONSTRUCT, Form.DESCRIBE):
        return b"".join(line + b"\n" for line in lines)
    member: dict[str, object] = {"time": show_instant(instant), "operator": query.operator.value, "windows": {}}
    evaluation = json.dumps(member, separators=(",", ":")).encode()
    if query.form is Form.ASK:
        return b'{"head":{},"boolean":%b,"evaluation":%b}' % (b"true" if lines else b"false", evaluation)
    # Before the results: behind them Oxigraph's parser takes no member that it does not know.
    return b'{"head":{"vars":%b},"evaluation":%b,"results":{"bindings":[%b]}}' % (head, evaluation, b",".join(lines))
