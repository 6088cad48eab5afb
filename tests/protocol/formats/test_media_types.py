"""Formats and syntaxes by media type, alias and extension."""

from __future__ import annotations

import pickle

import pytest

from protocol.formats.media_types import GRAPH_OFFERS, RDF_EXTENSIONS, RDF_TYPES, RdfSyntax, SolutionsFormat


@pytest.mark.parametrize("syntax", list(RdfSyntax))
def test_a_syntax_is_its_registered_media_type_and_names_oxigraphs(syntax: RdfSyntax) -> None:
    assert f"{syntax}" == syntax.oxigraph.media_type
    assert RdfSyntax(syntax.value) is syntax  # type: ignore[call-arg, arg-type]  # taken for a member's making
    assert pickle.loads(pickle.dumps(syntax)) is syntax
    assert syntax.oxigraph.file_extension == syntax.extensions[0]


@pytest.mark.parametrize("format", list(SolutionsFormat))
def test_a_format_of_solutions_is_its_registered_media_type(format: SolutionsFormat) -> None:
    assert format.oxigraph.media_type.partition(";")[0] == format


def test_no_media_type_and_no_extension_means_two_syntaxes() -> None:
    names = [name for syntax in RdfSyntax for name in (syntax.value, *syntax.aliases)]
    extensions = [extension for syntax in RdfSyntax for extension in syntax.extensions]
    assert (len(set(names)), len(set(extensions))) == (len(names), len(extensions))
    assert (len(RDF_TYPES), len(RDF_EXTENSIONS)) == (len(names), len(extensions))


def test_registered_media_types_are_offered_before_others() -> None:
    assert list(GRAPH_OFFERS)[: len(RdfSyntax)] == [syntax.value for syntax in RdfSyntax]


def test_what_a_syntax_can_hold() -> None:
    assert [syntax.name for syntax in RdfSyntax if syntax.names_graphs] == ["JSON_LD", "TRIG", "N_QUADS"]
    assert [syntax.name for syntax in RdfSyntax if syntax.has_comments] == ["TURTLE", "N_TRIPLES", "TRIG", "N_QUADS"]
    assert [syntax.name for syntax in RdfSyntax if syntax.has_a_statement_a_line] == ["N_TRIPLES", "N_QUADS"]


def test_syntaxes_have_the_iris_of_w3cs_list_of_formats() -> None:
    assert [syntax.iri.rpartition("/")[2] for syntax in RdfSyntax] == [
        "Turtle", "N-Triples", "JSON-LD", "RDF_XML", "TriG", "N-Quads",
    ]  # fmt: skip
