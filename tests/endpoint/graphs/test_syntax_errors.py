"""Words of the language of streams in a text that reads none."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from endpoint.graphs.syntax_errors import syntax_error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT *\n{ ?s ?p 'timestamp(?x)' FILTER(¦timestamp(?s) > 5) }", "reads no stream: add FROM STREAM"),
        (
            "SELECT ?x ?n { ?x ?p ?y } # AGGREGATE\n¦aggregate { (?n, COUNT, {?x}) }",
            "there is GROUP BY: add FROM STREAM",
        ),
        ("SELECT *\n{ ?timestamp ?p 'AGGREGATE' ¦] }", ""),
    ],
)
def test_they_are_named_with_their_place_and_what_is_missing(text: str, said: str) -> None:
    written = text.replace("¦", "")
    with pytest.raises(SyntaxError) as raised:
        ox.Store().query(written)
    error = syntax_error(written, raised.value, update=False)
    if not said:
        assert "FROM STREAM" not in error.detail
        return
    assert said in error.detail
    before = text[: text.index("¦")].split("\n")
    assert (error.line, error.column) == (len(before), len(before[-1]) + 1)
