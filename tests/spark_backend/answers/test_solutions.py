"""Rows of terms as SPARQL JSON bindings and as a template's triples."""

from __future__ import annotations

import json

import pyarrow as pa
from hypothesis import given

from protocol.terms import term_to_json
from spark_backend.answers.solutions import bindings, instantiate
from tests.protocol.formats.rdf_strategies import Term, terms

XSD = "http://www.w3.org/2001/XMLSchema#"
ROW = ("<http://ex/a>", '"é \\"q\\" \\n"@en', None, "_:b", f'"1"^^<{XSD}integer>')


def written(keys: list[str], *columns: list[str | None]) -> str:
    """The lines of solutions, which are given by variable."""
    terms = [pa.chunked_array([column], pa.string()) for column in columns]
    return "".join(bindings(keys, terms, len(columns[0])).to_pylist())


def test_a_binding_object_leaves_unbound_variables_out() -> None:
    names = [json.dumps(name, ensure_ascii=False) for name in ("a", "ü", "c", "d", "e")]
    assert json.loads(written(names, *([term] for term in ROW))) == {
        "a": {"type": "uri", "value": "http://ex/a"},
        "ü": {"type": "literal", "value": 'é "q" \n', "xml:lang": "en"},
        "d": {"type": "bnode", "value": "b"},
        "e": {"type": "literal", "value": "1", "datatype": f"{XSD}integer"},
    }


def test_a_solution_without_a_binding_is_an_empty_object() -> None:
    assert bindings([], [], 2).to_pylist() == ["{}\n", "{}\n"]
    assert written(['"a"'], [None]) == "{}\n"


def test_which_variables_are_bound_differs_from_solution_to_solution() -> None:
    one, two = '{"type":"uri","value":"1"}', '{"type":"uri","value":"2"}'
    assert written(['"a"', '"b"'], ["<1>", None, None, "<1>"], [None, "<2>", None, "<2>"]).splitlines() == [
        f'{{"a":{one}}}', f'{{"b":{two}}}', "{}", f'{{"a":{one},"b":{two}}}',
    ]  # fmt: skip


@given(terms)
def test_every_term_is_written_as_its_json(term: Term) -> None:
    assert json.loads(written(['"a"'], [str(term)])) == {"a": term_to_json(str(term))}


def lines(template: tuple[tuple[str, str, str], ...], instant: int = 1, place: int = 0, query: str = "q") -> list[str]:
    names = ("a", "l", "u", "b", "n")
    return instantiate(template, names, ROW, query=query, instant=instant, place=place).splitlines()


def test_a_template_is_filled_with_terms() -> None:
    assert lines((("?a", "<http://ex/p>", "?l"), ("?b", "<http://ex/q>", "<http://ex/c>"))) == [
        '<http://ex/a> <http://ex/p> "é \\"q\\" \\n"@en .',
        "_:b <http://ex/q> <http://ex/c> .",
    ]


def test_triples_that_are_none_are_left_out() -> None:
    for triple in (
        ("?l", "<http://ex/p>", "?a"),
        ("?a", "?l", "?a"),
        ("?a", "?b", "?a"),
        ("?a", "<http://ex/p>", "?u"),
        ("?u", "<http://ex/p>", "?a"),
        ("?a", "?unknown", "?a"),
    ):
        assert lines((triple,)) == []


def test_blank_nodes_are_those_of_the_solution_and_no_other() -> None:
    template = (("_:x", "<http://ex/p>", "_:y"), ("_:x", "<http://ex/q>", "?a"))
    first = lines(template)
    names = {first[0].split(" ")[0], first[0].split(" ")[2]}
    assert len(names) == 2
    assert first[1].split(" ")[0] == first[0].split(" ")[0]
    assert lines(template) == first
    for other in (lines(template, instant=2), lines(template, place=1), lines(template, query="r")):
        assert not names & {other[0].split(" ")[0], other[0].split(" ")[2]}
