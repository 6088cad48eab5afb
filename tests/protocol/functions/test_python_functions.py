"""Functions of an application, found by name and called with terms."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.functions.python_functions import FunctionsNotLoaded, OfValues, PythonFunctions, callables
from protocol.functions.table import MATH
from protocol.terms import XSD
from tests import application_functions
from tests.application_functions import IRI, OF_TERMS, doubled

TEXT = PythonFunctions.of({**OF_TERMS, f"{IRI}doubled": OfValues(doubled)}).to_json()

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
literals = st.one_of(
    st.builds(ox.Literal, texts),
    st.builds(lambda text: ox.Literal(text, language="en"), texts),
    st.builds(
        lambda text, kind: ox.Literal(text, datatype=ox.NamedNode(XSD + kind)),
        st.one_of(texts, st.integers().map(lambda number: f"{number:05}")),
        st.sampled_from(["integer", "decimal", "double", "dateTime", "string", "duration"]),
    ),
)
terms = st.one_of(literals, st.just(ox.NamedNode("http://ex/é")), st.just(ox.BlankNode("b")))


def called(name: str, *arguments: Any) -> Any:
    return callables(TEXT)[ox.NamedNode(IRI + name)](*arguments)


@given(terms)
def test_a_term_comes_and_goes_as_it_is_written(term: Any) -> None:
    assert called("same", term) == term


def test_terms_are_rdflibs() -> None:
    assert called("described", ox.Literal("x")).value == "literal x None None"
    assert called("described", ox.Literal("x", language="en")).value == "literal x en None"
    assert called("described", ox.Literal("01", datatype=ox.NamedNode(f"{XSD}integer"))).value == (
        f"literal 01 None {XSD}integer"
    )
    assert called("described", ox.NamedNode("http://ex/a")).value == "iri http://ex/a"
    assert called("page_of", ox.Literal("four")) == ox.NamedNode("http://ex/pages/4")


def test_of_plain_values() -> None:
    assert called("doubled", ox.Literal("ab")) == ox.Literal("abab")
    assert called("doubled", ox.Literal(21)) == ox.Literal(42)
    assert called("doubled", ox.NamedNode("urn:x:")) == ox.NamedNode("urn:x:urn:x:")


@pytest.mark.parametrize(("name", "arguments"), [("picky", [1, 2]), ("picky", [1]), ("no_term", [1]), ("nothing", [1])])
def test_an_error_leaves_the_variable_unbound(name: str, arguments: list[int]) -> None:
    written = ", ".join(map(str, arguments))
    query = f"SELECT (<{IRI}{name}>({written}) AS ?r) (1 AS ?there) {{}}"
    (solution,) = ox.Store().query(query, custom_functions=callables(TEXT))  # type: ignore[misc]
    assert solution["r"] is None
    assert solution["there"] == ox.Literal(1)


def test_the_first_error_is_told_and_the_others_are_not(caplog: pytest.LogCaptureFixture) -> None:
    callables.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(TypeError, match="it gave a list"):
                called("no_term", ox.Literal(1))
    (told,) = caplog.messages
    assert told.startswith(f"the function <{IRI}no_term> failed")


def test_what_no_other_process_finds_is_refused() -> None:
    def local(term: Any) -> Any:
        return term

    refused: list[tuple[str, Any, str]] = [
        ("http://ex/f", local, "inside of a function"),
        ("http://ex/f", lambda term: term, "is a lambda or inside"),
        ("http://ex/f", partial(OF_TERMS[f"{IRI}same"]), "has no name in a module"),
        ("http://ex/f", 5, "cannot be called"),
        ("relative", application_functions.same, "no absolute IRI"),
        (f"{MATH}sqrt", application_functions.same, "has its meaning already"),
        (f"{XSD}integer", application_functions.same, "has its meaning already"),
    ]
    for iri, function, why in refused:
        with pytest.raises(ValueError, match=why) as raised:
            PythonFunctions.of({iri: function})
        assert str(raised.value).startswith(f"functions: <{iri}>")


def test_a_name_that_means_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = application_functions.same
    monkeypatch.setattr(application_functions, "same", application_functions.described)
    with pytest.raises(ValueError, match="has something else by the name same"):
        PythonFunctions.of({"http://ex/f": kept})


def test_a_module_that_cannot_be_imported_is_named() -> None:
    text = json.dumps({"path": [], "functions": {"http://ex/f": ["no.such.module", "f", False]}})
    with pytest.raises(FunctionsNotLoaded, match=r"<http://ex/f>, f of no\.such\.module, cannot be imported"):
        callables(text)


def test_a_script_is_imported_elsewhere_and_not_run(tmp_path: Path) -> None:
    script = tmp_path / "my script.py"
    script.write_text(
        "from protocol.functions.python_functions import PythonFunctions\n"
        "def greeting(name):\n    return 'hello ' + name\n"
        "if __name__ == '__main__':\n    print(PythonFunctions.of({'http://ex/f': greeting}).to_json())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert callables(done.stdout)[ox.NamedNode("http://ex/f")](ox.Literal("you")) == ox.Literal("hello you")


def test_without_functions_nothing_is_told() -> None:
    assert PythonFunctions.of({}).to_json() == ""
