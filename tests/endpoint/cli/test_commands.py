"""Commands that other packages announce by entry points."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from endpoint.cli import main
from endpoint.cli.commands import ENTRY_POINTS


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that announces the command ``hello``, and one that cannot be imported."""
    metadata = tmp_path / "announcing-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: announcing\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nhello = announcing:hello\nbroken = nowhere:to\n")
    (tmp_path / "announcing.py").write_text(
        "import click\n\n@click.command()\ndef hello():\n    click.echo('hello from elsewhere')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("announced")
def test_a_command_of_another_package_is_found_by_its_name() -> None:
    assert CliRunner().invoke(main, ["hello"]).output == "hello from elsewhere\n"


@pytest.mark.usefixtures("announced")
def test_other_commands_do_not_import_it() -> None:
    assert CliRunner().invoke(main, ["streams", "--help"]).exit_code == 0


def test_what_nobody_announces_is_no_command() -> None:
    result = CliRunner().invoke(main, ["hello"])
    assert result.exit_code == 2
    assert "No such command 'hello'" in result.output
