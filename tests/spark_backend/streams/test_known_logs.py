"""Streams that are made or dropped, all of each or nothing."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from protocol.streams import StreamSettings
from spark_backend.streams.catalogue import Catalogue
from spark_backend.streams.known_logs import KnownLogs


def test_a_stream_that_takes_the_name_of_one_that_is_gone_is_told_from_it(tmp_path: Path) -> None:
    def opened() -> KnownLogs:
        return KnownLogs(Catalogue.open(tmp_path / "catalogue.json"), tmp_path / "streams", lambda: 0)

    def made(logs: KnownLogs, name: str) -> int:
        logs.create(name, StreamSettings(f"http://e/{name}"))
        return logs.entry(name).incarnation

    logs = opened()
    assert [made(logs, name) for name in ("a", "b", "c")] == [0, 0, 0]
    logs.drop(["a", "b"])
    first = [made(logs, "a"), made(logs, "b")]
    assert min(first) > 0
    logs.drop(["a"])
    logs.close()
    logs = opened()
    assert logs.entry("b").incarnation == first[1]
    assert made(logs, "a") > first[0]
    logs.close()


@pytest.mark.parametrize("error", [OSError("the disk is full"), UnicodeError("not to be written")])
def test_what_cannot_be_written_down_changes_nothing(tmp_path: Path, error: Exception) -> None:
    catalogue = Catalogue.open(tmp_path / "catalogue.json")
    logs = KnownLogs(catalogue, tmp_path / "streams", lambda: 0)
    logs.create("kept", StreamSettings("http://e/kept"))
    with patch.object(catalogue, "save", side_effect=error):
        for change in (lambda: logs.create("new", StreamSettings("http://e/new")), lambda: logs.drop(["kept"])):
            with pytest.raises(type(error)):
                change()
    assert [entry.name for entry, _ in logs] == ["kept"]
    assert list(catalogue.streams) == ["kept"]
    assert catalogue.deleted == 0
    assert [path.name for path in (tmp_path / "streams").iterdir()] == [logs.entry("kept").log]
    logs.create("new", StreamSettings("http://e/new"))
    logs.close()
