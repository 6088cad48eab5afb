"""The tables of the documentation have everything there is, so that what is added is told."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from starlette.routing import Route

from endpoint import create_app
from endpoint.cli import main
from endpoint.settings import PREFIX, Settings
from protocol.access import Scope
from protocol.formats.media_types import RdfSyntax
from protocol.functions.table import FUNCTIONS, MATH
from protocol.settings.stream import MEMBERS
from protocol.sinks.settings import SinkType
from protocol.sources import SourceType
from protocol.time import UNITS
from protocol.windows.spec import Strategy
from tests.docs.pages import DOCS, page


@pytest.mark.parametrize("setting", [setting.name for setting in fields(Settings)])
def test_every_setting_is_in_operations(setting: str) -> None:
    code = page(DOCS / "operations.md").code
    assert f"{PREFIX}{setting.upper()}" in code
    assert any(one.startswith(f"--{setting.replace('_', '-')}") for one in code)


def test_every_command_is_in_the_command_line() -> None:
    told = {word for code in page(DOCS / "command-line.md").code for word in code.split()}
    assert set(main.commands) <= told


def test_every_resource_is_in_http() -> None:
    told = " ".join(page(DOCS / "http.md").code)
    for route in create_app(Settings()).routes:
        if isinstance(route, Route) and not route.path.startswith("/page"):
            path = re.sub(r"/\{[^}]*:path\}", "/", route.path)
            assert re.sub(r"\{[^}]*\}", "NAME", path) in told, route.path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("http.md", [*MEMBERS, *RdfSyntax]),
        ("operations.md", [*Scope]),
        ("sources.md", [*SourceType]),
        ("sinks.md", [f'"{type}"' for type in SinkType]),
        ("language.md", [*Strategy, *(iri.replace(MATH, "math:") for iri in FUNCTIONS)]),
        ("language.md", [unit for unit in UNITS if unit and not (len(unit) > 2 and unit.endswith("s"))]),
    ],
)
def test_every_word_is_told(name: str, words: list[str]) -> None:
    assert set(words) <= set(page(DOCS / name).code)
