from __future__ import annotations

import json

import pytest
from pyoxigraph import parse

from protocol.formats.answers import graph_as, solutions_as
from protocol.formats.long_tokens import LONGEST_TOKEN, long_token_refused
from protocol.formats.media_types import RdfSyntax, SolutionsFormat
from protocol.formats.xml.text import NotExpressible

LONG = "x" * (LONGEST_TOKEN + 1)


@pytest.mark.parametrize(
    ("syntax", "document", "line", "column"),
    [
        (RdfSyntax.TURTLE, f'<a:a> <a:b> 1 .\n\n<a:é> <a:b> "{LONG}" .', 3, 13),
        (RdfSyntax.N_TRIPLES, f"<a:a> <a:b> <a:{LONG}> .", 1, 13),
        (RdfSyntax.TRIG, f'<a:g> {{ <a:a> <a:b>\r\n"""\n{LONG}""" }}', 2, 1),
        (RdfSyntax.N_QUADS, f"# {LONG}\n<a:a> <a:b> <a:c> <a:d> .", 1, 1),
        (RdfSyntax.JSON_LD, f'{{"@id": "a:a",\n "a:b": "{LONG}"}}', 2, 9),
        (RdfSyntax.TURTLE, f'<a:a> <a:b> "{LONG}', None, None),
    ],
    ids=["literal", "iri", "long string", "comment", "json string", "open string"],
)  # fmt: skip
def test_a_token_that_the_parsers_do_not_hold_is_refused_with_its_place(
    syntax: RdfSyntax, document: str, line: int | None, column: int | None
) -> None:
    encoded = document.encode()
    with pytest.raises(SyntaxError, match="longer than 16 MiB") as refused, long_token_refused(encoded, syntax):
        list(parse(encoded, syntax.oxigraph, base_iri="http://ex/"))
    assert (refused.value.lineno, refused.value.offset) == (line, column)


def test_an_answer_with_a_term_that_the_parsers_do_not_hold_is_given_in_the_format_it_has() -> None:
    triples = f'<a:a> <a:b> "{LONG}" .\n'.encode()
    assert graph_as(triples, RdfSyntax.N_TRIPLES) == triples
    with pytest.raises(NotExpressible, match="ask for application/n-triples"):
        graph_as(triples, RdfSyntax.TURTLE)
    bindings = [{"x": {"type": "literal", "value": LONG}}]
    solutions = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": bindings}}).encode()
    with pytest.raises(NotExpressible, match=r"ask for application/sparql-results\+json"):
        solutions_as(solutions, SolutionsFormat.CSV)


def test_memory_that_has_come_to_its_end_is_not_taken_for_a_long_token() -> None:
    with pytest.raises(MemoryError), long_token_refused(b"", RdfSyntax.TURTLE):
        raise MemoryError
