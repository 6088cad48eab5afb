"""A stream reads JSON with its context also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import Conflict
from protocol.formats.negotiation import UnsupportedMediaType
from protocol.streams import JsonContext, StreamSettings
from tests.spark_backend.stepped_backend import SteppedBackend


def test_a_context_outlives_a_restart(tmp_path: Path) -> None:
    context = JsonContext('"http://ex/c"', '{"@vocab": "http://ex/"}')
    settings = StreamSettings("http://ex/s", context=context)
    stepped = SteppedBackend(tmp_path)
    stepped.backend.create_stream("s", settings)
    for count in (1, 2):
        assert stepped.backend.append("s", b'{"a": 1}', "application/json", None).triples == 1
        assert stepped.backend.stream("s").triples == count
        stepped.close()
        stepped = SteppedBackend(tmp_path)
        assert stepped.backend.stream("s").settings == settings
        assert not stepped.backend.create_stream("s", settings)
    with pytest.raises(Conflict):
        stepped.backend.create_stream("s", StreamSettings("http://ex/s"))
    stepped.backend.create_stream("t", StreamSettings("http://ex/t"))
    with pytest.raises(UnsupportedMediaType):
        stepped.backend.append("t", b'{"a": 1}', "application/json", None)
    stepped.close()
