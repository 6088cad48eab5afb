from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import UnsupportedFeature
from protocol.sparql.prologue import after_prologue, with_one_prologue

PREFIXES = ["", "a", "b", "a2"]
PROLOGUE = st.lists(st.tuples(st.sampled_from(PREFIXES), st.sampled_from(["http://x/", "http://y/", "http://z#"])))


def declared(prologue: list[tuple[str, str]]) -> str:
    return "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in prologue)


@given(st.lists(st.tuples(PROLOGUE, st.sampled_from(PREFIXES)), min_size=1, max_size=5))
def test_an_update_does_what_its_operations_do_one_by_one(operations: list[tuple[list[tuple[str, str]], str]]) -> None:
    # What was declared before holds on: each operation alone needs all prologues up to it.
    known: list[tuple[str, str]] = []
    alone, texts = ox.Store(), []
    for number, (prologue, prefix) in enumerate(operations):
        known += prologue
        text = f"INSERT DATA {{ {prefix}:s {prefix}:p{number} 'PREFIX a: <http://no/> ; {prefix}:o' }}"
        if prefix not in dict(known):
            return
        alone.update(declared(known) + text)
        texts.append(declared(prologue) + text)
    together = ox.Store()
    update = " ;\n".join(texts)
    rewritten = with_one_prologue(update)
    together.update(rewritten)
    assert set(together) == set(alone)
    assert rewritten.count("\n") == update.count("\n")


@pytest.mark.parametrize(
    "update",
    [
        "PREFIX a: <http://x/> INSERT DATA { a:s a:p ';' } ; INSERT DATA { a:s a:p 'prefix' }",
        "PREFIX a: <http://x/> INSERT DATA { a:s a:p 1 } ; # PREFIX b: <http://y/>",
        "PREFIX a: <http://x/> INSERT DATA { a:s a:p 1 ; a:prefix 2 }",
        "nonsense ; prefix",
        "",
    ],
)
def test_an_update_with_one_prologue_stays_as_it_is(update: str) -> None:
    assert with_one_prologue(update) == update


def test_a_long_update_is_looked_at_once() -> None:
    """Not once for each of its semicolons, which would take minutes."""
    update = "PREFIX a: <http://x/> INSERT DATA { " + "a:s a a:C ; a:p 1 . " * 100_000 + "}"
    assert with_one_prologue(update) == update


def test_a_prefix_is_not_known_before_it_is_declared() -> None:
    with pytest.raises(SyntaxError):
        ox.Store().update(
            with_one_prologue("INSERT DATA { a:s a:p 1 } ; PREFIX a: <http://x/> INSERT DATA { a:s a:p 2 }")
        )


def test_the_same_base_may_be_said_again_and_another_may_not() -> None:
    store = ox.Store()
    store.update(
        with_one_prologue("BASE <http://x/> INSERT DATA { <s> <p> 1 } ; BASE <http://x/> INSERT DATA { <s> <p> 2 }")
    )
    assert len(store) == 2
    with pytest.raises(UnsupportedFeature) as refused:
        with_one_prologue("BASE <http://x/> INSERT DATA { <s> <p> 1 } ;\n BASE <http://y/> INSERT DATA { <s> <p> 2 }")
    assert (refused.value.line, refused.value.column) == (2, 2)


@pytest.mark.parametrize(
    "text",
    [
        "¦",
        "# PREFIX\n",
        "¦SELECT * {}",
        "PREFIX ex: <http://e/> # SELECT\n base <b> prefix : <#>\n¦CLEAR ALL",
        "PREFIX ex: <http://e/> ",
        "PREFIX ex: <http://e/> ¦LOADex:a ;",
        "¦PREFIX ex <http://e/> CLEAR ALL",
        "BASE <b> ¦<c> CLEAR ALL",
        "BASE <b>¦; PREFIX ex: <http://e/> CLEAR ALL",
    ],
)
def test_a_prologue_ends_before_the_first_thing_that_is_no_declaration(text: str) -> None:
    written = text.replace("¦", "")
    assert after_prologue(written) == (text.index("¦") if "¦" in text else len(text))
