"""The queries and the configuration that the documentation shows are read as it says."""

from __future__ import annotations

import pytest

from protocol.access import Scope, parse_tokens
from protocol.errors import ProtocolError
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from spark_backend.compiler.plan import Plan, compile_query
from tests.docs.pages import PAGES, ROOT, Block, page

BASE = "http://localhost:8000/sparql"
QUERIES = [block for path in PAGES for block in page(path).blocks_of("sparql")]


def compiled(text: str) -> Plan:
    query = parse(text, base=BASE)
    assert isinstance(query, ContinuousQuery)
    return compile_query(query, base=BASE)


@pytest.mark.parametrize(
    "block", [block for block in QUERIES if block.comment != "refused"], ids=lambda block: block.place
)
def test_a_query_is_compiled(block: Block) -> None:
    assert compiled(block.text).sql


@pytest.mark.parametrize("block", [block for block in QUERIES if block.shown is None], ids=lambda block: block.place)
def test_a_query_that_is_shown_as_it_should_be_is_not_warned_of(block: Block) -> None:
    query = parse(block.text, base=BASE)
    assert isinstance(query, ContinuousQuery)
    assert query.warnings == ()


@pytest.mark.parametrize(
    "block", [block for block in QUERIES if block.comment == "refused"], ids=lambda block: block.place
)
def test_what_is_refused_is_refused_with_the_words_that_are_shown(block: Block) -> None:
    with pytest.raises(ProtocolError) as refused:
        compiled(block.text)
    assert refused.value.detail == (block.shown or "").rstrip("\n")
    before, _, _ = (ROOT / block.page).read_text("utf-8").partition(block.text)
    assert (refused.value.status == 501) == ("## Not there yet" in before and "syntax errors" not in before)


def test_a_warning_is_the_one_that_is_shown() -> None:
    (block,) = [block for block in QUERIES if block.shown is not None and block.comment != "refused"]
    query = parse(block.text, base=BASE)
    assert isinstance(query, ContinuousQuery)
    assert query.warnings == ((block.shown or "").rstrip("\n"),)


def test_the_tokens_are_read() -> None:
    (block,) = page(ROOT / "docs" / "operations.md").blocks_of("toml")
    tokens = parse_tokens(block.text, json_document=False)
    assert tokens.anonymous == {Scope.READ}
    assert [(one.name, one.scopes) for one in tokens.tokens] == [("sensors", frozenset({Scope.STREAM}))]
