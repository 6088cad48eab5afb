from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NoReturn

import pytest

from protocol.login import Login, TlsFiles
from protocol.sources import SourceSettings, SourceType
from protocol.streams import StreamSettings
from spark_backend.files import read_document
from spark_backend.streams.catalogue import Catalogue, StreamEntry, copy_of

LOGIN = Login("me", "/run/secrets/mqtt", tls=TlsFiles("/etc/ca.pem"))
SOURCE = SourceSettings(SourceType.MQTT, "mqtts://broker.example", ("a/#",), "text/turtle", "5", LOGIN)


def saved(path: Path) -> StreamEntry:
    catalogue = Catalogue.open(path)
    catalogue.streams["s"] = StreamEntry("s", "s.1", StreamSettings("http://ex/s", source=SOURCE))
    catalogue.save()
    return catalogue.streams["s"]


def test_a_source_is_read_again_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.json"
    entry = saved(path)
    assert Catalogue.open(path).streams == {"s": entry}


@pytest.mark.parametrize("full", [False, True])
def test_a_copy_that_a_crash_has_left_behind_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    path = tmp_path / "catalogue.json"
    saved(path)
    before = copy_of(path).read_bytes()
    catalogue = Catalogue.open(path)
    del catalogue.streams["s"]
    catalogue.save()
    copy_of(path).write_bytes(before)
    if full:
        with monkeypatch.context() as no_room:
            no_room.setattr(os, "fsync", fails)
            found = Catalogue.open(path)
        assert found.unsaved, "it is tried again"
        found.save()
    assert Catalogue.open(path).streams == {}
    path.unlink()
    assert Catalogue.open(path).streams == {}


def fails(*_: object) -> NoReturn:
    raise OSError("no space left")


def test_a_source_is_read_as_the_version_before_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "catalogue.json"
    entry = saved(path)
    copy_of(path).unlink()
    content = read_document(path)
    source = content["streams"][0]["settings"]["source"]
    source |= source.pop("login")
    path.write_text(json.dumps(content))
    assert Catalogue.open(path).streams == {"s": entry}
