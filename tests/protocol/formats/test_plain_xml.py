"""RDF/XML is read as XML says: what is text is text, however it is written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.formats.media_types import RdfSyntax
from protocol.formats.rdf_documents import read_graph
from protocol.formats.xml.documents import plain_xml
from tests.protocol.formats.rdf_strategies import RDF, xml_texts

_WHOLE = f'<r:RDF xmlns:r="{RDF}" xmlns:e="http://e/"><r:Description r:about="http://e/s"{{}}</r:Description></r:RDF>'


def _value(begin: str, inner: str) -> str:
    """The object of the only triple of the document, where this stands behind the name of its subject."""
    (triple,) = read_graph((begin + _WHOLE.format(inner)).encode(), RdfSyntax.RDF_XML, None)
    value: str = triple.object.value  # type: ignore[union-attr]
    return value


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _read(text: str) -> str:
    """Text as XML reads it (XML 1.0, section 2.11)."""
    return re.sub(r"\r\n?", "\n", text)


_nothing = st.sampled_from(["<!-- a -->", "<!---->", "<?a b?>", "<!--\r\n<x>&y;-->"])
_pieces = st.one_of(
    _nothing.map(lambda written: (written, "")),
    xml_texts.map(lambda text: (_escaped(text), _read(text))),
    xml_texts.filter(lambda text: "]]>" not in text).map(lambda text: (f"<![CDATA[{text}]]>", _read(text))),
    st.sampled_from("\t\n\r &<").map(lambda character: (f"&#{ord(character)};", character)),
    st.just(("&name;", "what it is")),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(_pieces, max_size=6))
def test_what_stands_between_tags_is_the_text(pieces: list[tuple[str, str]]) -> None:
    # With something between, so that no parts of a line end meet.
    written, read = ("|".join(parts) for parts in zip(*pieces, ("", ""), strict=True))
    for quote in "\"'":
        declared = f"<!DOCTYPE r [<!-- a --> <!ENTITY name {quote}what it is{quote}>]>"
        assert _value(declared, f"><e:p>{written}</e:p>") == read


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a\nb\tc\r\nd", "a b c d"),
        ("a&#10;b&#9;c&#13;&#10;d", "a\nb\tc\r\nd"),
        ("&lt;&amp;&quot;'&#x1F600;", "<&\"'😀"),
    ],
)
def test_white_space_in_attributes_is_a_space_unless_it_is_referred_to(written: str, value: str) -> None:
    assert _value("", f' e:p="{written}">') == value


@pytest.mark.parametrize(
    "declared", ['SYSTEM "x.dtd"', 'PUBLIC "-//x" "http://e/x.dtd"', '[<!ENTITY % p SYSTEM "x"> %p;]']
)
@pytest.mark.parametrize("place", ['e:p="&x;">', "><e:p>&x;</e:p>"])
def test_what_is_declared_elsewhere_is_refused_and_not_left_out(declared: str, place: str) -> None:
    document = f"<!DOCTYPE r {declared}>" + _WHOLE.format(f" {place}")
    with pytest.raises(SyntaxError, match="the entity x is not declared in the document"):
        plain_xml(document.encode())
    assert _value(f"<!DOCTYPE r {declared}><!-- &x; -->", "><e:p>&amp;<![CDATA[&x;]]></e:p>") == "&&x;"


def test_an_entity_that_is_elsewhere_is_not_fetched() -> None:
    document = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + _WHOLE.format("><e:p>&x;</e:p>")
    with pytest.raises(SyntaxError, match="nothing is fetched"):
        plain_xml(document.encode())


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16"])
def test_it_is_read_in_the_encoding_that_it_declares(encoding: str) -> None:
    document = f'<?xml version="1.0" encoding="{encoding}"?>' + _WHOLE.format("><e:p>é</e:p>")
    assert "é" in plain_xml(document.encode(encoding)).decode()
