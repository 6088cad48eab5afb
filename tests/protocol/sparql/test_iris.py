from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocol.errors import QuerySyntaxError
from protocol.sparql.iris import Namespaces, is_absolute, named_iris, resolve
from protocol.sparql.source import Source
from protocol.sparql.tokens import Token, tokenize

# RFC 3986 sections 5.4.1 and 5.4.2, against http://a/b/c/d;p?q
RFC_3986 = {
    "g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g",
    "//g": "http://g", "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q#s",
    "g#s": "http://a/b/c/g#s", "g?y#s": "http://a/b/c/g?y#s", ";x": "http://a/b/c/;x", "g;x": "http://a/b/c/g;x",
    "g;x?y#s": "http://a/b/c/g;x?y#s", "": "http://a/b/c/d;p?q", ".": "http://a/b/c/", "./": "http://a/b/c/",
    "..": "http://a/b/", "../": "http://a/b/", "../g": "http://a/b/g", "../..": "http://a/", "../../": "http://a/",
    "../../g": "http://a/g", "../../../g": "http://a/g", "../../../../g": "http://a/g", "/./g": "http://a/g",
    "/../g": "http://a/g", "g.": "http://a/b/c/g.", ".g": "http://a/b/c/.g", "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g", "./../g": "http://a/b/g", "./g/.": "http://a/b/c/g/", "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h", "g;x=1/./y": "http://a/b/c/g;x=1/y", "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x", "g#s/../x": "http://a/b/c/g#s/../x", "#": "http://a/b/c/d;p?q#",
    "?": "http://a/b/c/d;p?", "http:g": "http:g",
}  # fmt: skip


@pytest.mark.parametrize(("reference", "target"), RFC_3986.items())
def test_references_resolve_as_in_the_examples_of_rfc_3986(reference: str, target: str) -> None:
    assert resolve("http://a/b/c/d;p?q", reference) == target


def test_an_authority_without_a_path_gets_a_root() -> None:
    assert resolve("http://a", "b") == "http://a/b"


@given(
    st.sampled_from(["http://a/b/c/d;p?q", "http://a", "http://a/", "http://é.example/x/y?z#f", "urn:a:b", "x:/a/b"]),
    st.lists(st.sampled_from(["a", "é", "..", ".", "/", "?", "#", "=", ";", "%20"]), max_size=8).map("".join),
)
def test_references_resolve_as_oxigraph_resolves_them(base: str, reference: str) -> None:
    try:
        solutions = pyoxigraph.Store().query(f"SELECT (STR(<{reference}>) AS ?iri) {{}}", base_iri=base)
    except SyntaxError:
        return
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    iri = next(iter(solutions))["iri"]
    assert isinstance(iri, pyoxigraph.Literal)
    # Without an authority Oxigraph removes the root with the segment before it; by RFC 3986 section 5.2.4 it stays.
    assume("://" in base or ".." not in reference)
    assert resolve(base, reference) == iri.value


def test_a_reference_above_the_root_stays_at_the_root_without_an_authority_too() -> None:
    """RFC 3986 section 5.2.4, 2C: "/.." is replaced by "/"."""
    assert resolve("urn:a:b", "/..") == "urn:/"


def test_absolute_means_having_a_scheme() -> None:
    assert is_absolute("urn:x")
    assert not is_absolute("x/y:z")
    assert not is_absolute("//host/")


def token(text: str) -> Token:
    return tokenize(text)[0]


def test_prefixed_names_are_expanded_with_escapes_undone_and_percent_signs_kept() -> None:
    namespaces = Namespaces(Source(""), "http://base/")
    namespaces.declare(token("ex:"), token("<ns#>"))
    assert namespaces.iri(token(r"ex:a\,b%20c:d")) == "http://base/ns#a,b%20c:d"


def test_an_undeclared_prefix_and_a_relative_iri_without_base_are_errors_that_say_what_to_write() -> None:
    namespaces = Namespaces(Source("ex:a"), None)
    with pytest.raises(QuerySyntaxError, match=r"write PREFIX ex: <…> \(line 1, column 1\)"):
        namespaces.iri(token("ex:a"))
    with pytest.raises(QuerySyntaxError, match="absolute IRI, or BASE"):
        namespaces.iri(token("<a>"))


@pytest.mark.parametrize(
    ("prologue", "names", "base", "iris"),
    [
        ("", [], None, []),
        ("BASE <x/> PREFIX : <#>", ["<y>", ":a", "<../y>", "<y>"], "http://b/", ["http://b/x/y", "http://b/x/#a", "http://b/y"]),
        ("PREFIX a: <urn:1> PREFIX a: <urn:2>", ["a:x", r"<urn:\u0061>"], None, ["urn:2x", "urn:a"]),
        ("", ["<relative>"], None, None),
        ("PREFIX a <urn:1>", ["<urn:1>"], None, None),
        ("", ["b:undeclared"], "http://b/", None),
    ],
)  # fmt: skip
def test_names_after_a_prologue_are_what_oxigraph_reads(
    prologue: str, names: list[str], base: str | None, iris: list[str] | None
) -> None:
    assert named_iris(prologue, names, base) == iris


@given(st.lists(st.sampled_from(["BASE <http://x/y>", "BASE <z/>", "PREFIX a: <n#>", "PREFIX a: <../m/>"]), max_size=4))
def test_a_prologue_read_token_by_token_means_what_oxigraph_reads(declarations: list[str]) -> None:
    prologue = " ".join(["PREFIX a: <urn:a:>", *declarations])
    namespaces = Namespaces(Source(prologue), "http://b/c/d")
    for keyword, *declared in (declaration.split() for declaration in ("PREFIX a: <urn:a:>", *declarations)):
        if keyword == "BASE":
            namespaces.base = namespaces.iri(token(declared[0]))
        else:
            namespaces.declare(token(declared[0]), token(declared[1]))
    names = ["a:x", "<y>", "<../y>", "</>"]
    expected = dict.fromkeys(namespaces.iri(token(name)) for name in names)
    assert named_iris(prologue, names, "http://b/c/d") == list(expected)
