"""A message with blank nodes that is sent again with its key counts once, also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import InvalidMessage, KeyReused
from tests.spark_backend.stepped_backend import SteppedBackend

BODY = b"[] <http://ex/p> 1 ."


def test_a_retried_message_with_blank_nodes_counts_once(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    first = stepped.backend.append("s", BODY, "text/turtle", 5, "k")
    for _ in range(2):
        assert stepped.backend.append("s", BODY, "text/turtle", 5, "k") == first
        assert stepped.backend.stream("s").triples == 1
        with pytest.raises(KeyReused):
            stepped.backend.append("s", BODY, "text/turtle", 6, "k")
        stepped.close()
        stepped = SteppedBackend(tmp_path)
    stepped.backend.append("s", BODY, "text/turtle", 5)
    assert stepped.backend.stream("s").triples == 2
    stepped.close()


def test_what_was_refused_may_be_mended_under_its_key(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    with pytest.raises(InvalidMessage):
        stepped.backend.append("s", b"[] <http://ex/p> ", "text/turtle", 5, "k")
    assert stepped.backend.append("s", BODY, "text/turtle", 5, "k").elements == 1
    stepped.close()
