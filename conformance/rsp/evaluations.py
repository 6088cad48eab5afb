"""Evaluations in the events of a result stream (docs/http.md, "Result streams")."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from conformance.engines.engine import EngineFailure
from conformance.rsp.expected import Evaluation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(text: str) -> int:
    """An ``xsd:dateTime`` with a zone, in ms since the epoch."""
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except (ValueError, TypeError) as error:
        raise EngineFailure(f"{text!r} is no time: {error}") from None
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def evaluation_of(data: str) -> Evaluation:
    """A SPARQL JSON document with the member ``evaluation``. EngineFailure if it is none."""
    try:
        document = json.loads(data)
        about = document["evaluation"]
        windows = {name: (milliseconds(o), milliseconds(c)) for name, (o, c) in about["windows"].items()}
        time, operator = milliseconds(about["time"]), str(about["operator"])
        if "boolean" in document:
            return Evaluation(time, bool(document["boolean"]), operator, windows)
        rows = tuple(
            {name: _term(term) for name, term in binding.items()} for binding in document["results"]["bindings"]
        )
        return Evaluation(time, rows, operator, windows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineFailure(f"not an evaluation as a JSON document: {error!r} in {data[:200]}") from None


def evaluation_of_graph(data: str, progress: str) -> Evaluation:
    """N-Triples, with the ``progress`` event that follows and says the time."""
    return Evaluation(
        milliseconds(json.loads(progress)["time"]), tuple(line for line in data.split("\n") if line.strip())
    )


def _term(term: dict[str, str]) -> str:
    if term["type"] == "uri":
        return f"<{term['value']}>"
    if term["type"] == "bnode":
        return f"_:{term['value']}"
    text = json.dumps(term["value"], ensure_ascii=False)
    if "xml:lang" in term:
        return f"{text}@{term['xml:lang']}"
    return f"{text}^^<{term['datatype']}>" if "datatype" in term else text
