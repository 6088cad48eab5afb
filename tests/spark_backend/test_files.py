"""Documents with a checksum: read as they were written, whatever their layout, and not otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.processes.durable_files import write_atomically
from spark_backend.files import DamagedDocument, document, read_document

_CONTENT: dict[str, Any] = {"serial": 1, "queries": [{"text": 'ASK { ?s ?p "}" }', "name": "é"}]}


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_is_read_as_it_was_written_whatever_its_layout(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "document.json"
    write_atomically(document(path, json.dumps(_CONTENT, indent=indent, ensure_ascii=False)))
    assert read_document(path) == _CONTENT
    assert json.loads(path.read_text(encoding="utf-8"))["content"] == _CONTENT


@given(st.data())
def test_a_document_with_another_byte_is_damaged(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("files") / "document.json"
    write_atomically(document(path, json.dumps(_CONTENT)))
    written = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(written)
    with pytest.raises(DamagedDocument):
        read_document(path)
