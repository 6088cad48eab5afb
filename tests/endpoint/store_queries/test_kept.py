from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from endpoint.store_queries.kept import KeptAnswer, KeptQueries, KeptQuery
from protocol.evaluation_limits import EvaluationLimits
from protocol.grammar.parser import parse_live
from protocol.sparql.dataset import RequestedGraphs
from tests.endpoint.open_files import no_directory_opened
from tests.endpoint.store_queries.store_side import live

QUERY = KeptQuery("all.of-it", live("SELECT * { <a> ?p ?o }"), EvaluationLimits(2.0), 17)


def test_what_is_kept_is_read_again_relative_to_the_same_base(tmp_path: Path) -> None:
    KeptQueries(tmp_path).write(QUERY)
    (read,) = KeptQueries(tmp_path).queries()
    assert read == QUERY
    assert read.query.one_shot == QUERY.query.one_shot
    over_graphs = replace(
        QUERY, name="g", query=parse_live("SELECT * { ?s ?p ?o }", requested=RequestedGraphs(("u:g",)))
    )
    KeptQueries(tmp_path).write(over_graphs)
    assert KeptQueries(tmp_path).queries()[1].query.from_graphs == ("u:g",)
    KeptQueries(tmp_path).remove("g")
    KeptQueries(tmp_path).remove("all.of-it")
    KeptQueries(tmp_path).remove("never there")
    assert KeptQueries(tmp_path).queries() == []


def test_a_file_that_is_no_query_is_named(tmp_path: Path) -> None:
    kept = KeptQueries(tmp_path)
    kept.write(QUERY)
    (file,) = (tmp_path / "live" / "queries").iterdir()
    file.write_text("{}")
    with pytest.raises(ValueError, match=r"all\.of-it\.json cannot be read, restore or remove it"):
        kept.queries()


def test_answers_are_known_again_and_large_ones_by_their_digest_alone(tmp_path: Path) -> None:
    kept = KeptQueries(tmp_path)
    assert kept.answer("q") is None
    kept.note_answer("q", 5, "d", b"null\n{}\n")
    assert kept.answer("q") == KeptAnswer(5, "d", b"null\n{}\n")
    kept.note_answer("q", 6, "e", None)
    assert kept.answer("q") == KeptAnswer(6, "e", None)
    kept.note_answer("q", 7, "f", bytes(2**20 + 1))
    assert kept.answer("q") == KeptAnswer(7, "f", None)
    (tmp_path / "live" / "answers" / "q").write_bytes(b'{"inst')
    assert kept.answer("q") is None
    kept.note_answer("r", 1, "d", None)
    kept.forget_answers_but({"r"})
    assert [path.name for path in (tmp_path / "live" / "answers").iterdir()] == ["r"]


def test_a_backup_is_made_while_queries_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, real = KeptQueries(tmp_path / "data"), shutil.copyfile
    names = ["a", "b"]
    for name in names:
        kept.write(replace(QUERY, name=name))

    def copy(source: Path, *others: Any, **how: Any) -> object:
        copied = Path(source).stem
        while names:
            if (name := names.pop()) != copied:
                kept.remove(name)
        return real(source, *others, **how)

    monkeypatch.setattr(shutil, "copyfile", copy)
    kept.backup(tmp_path / "copy")
    assert KeptQueries(tmp_path / "copy").queries() == kept.queries() != []


def test_a_backup_has_the_queries_and_not_their_answers(tmp_path: Path) -> None:
    kept, copied = KeptQueries(tmp_path / "data"), KeptQueries(tmp_path / "copy")
    kept.backup(tmp_path / "copy")
    kept.write(QUERY)
    kept.note_answer(QUERY.name, 5, "d", None)
    kept.backup(tmp_path / "copy")
    assert copied.queries() == [QUERY]
    assert copied.answer(QUERY.name) is None


def test_a_query_for_which_too_many_files_are_open_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptQueries(tmp_path)
    kept.write(QUERY)
    with no_directory_opened(monkeypatch):
        with pytest.raises(OSError, match="Too many open files"):
            kept.write(replace(QUERY, start=18))
        with pytest.raises(OSError, match="Too many open files"):
            kept.remove(QUERY.name)
        assert kept.queries() == [QUERY]
    kept.remove(QUERY.name)
    assert kept.queries() == []
