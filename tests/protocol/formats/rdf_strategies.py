"""Hypothesis strategies for RDF terms, solution sequences and graphs: whatever RDF 1.1 allows, the odd included."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import strategies as st

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

Term = ox.NamedNode | ox.BlankNode | ox.Literal

_ODD = "\t\n\r\x85\u00a0\u2028\u2029\ufeff\ufffd\"'\\<>&;,|`{}^@#%_:.$?-+ "
_ODDITIES = [
    "", " ", "\n", "\r", "\r\n", "\r\r\n", "a\tb", '"', '""', '"""', "'''", "\\", "\\u0041", "\\n", "]]>", "<!--",
    "&amp;", "&#13;", "<![CDATA[", "a,b", "?x", "null", "true", "-0", "+1", "1.", "1e", "\x85", "\u2028", "e\u0301",
    "\U0001f600", "x" * 70_000, "é\r" * 9_000, " leading", "trailing ", "@en", "_:b", "=1+1",
]  # fmt: skip

xml_texts = st.one_of(
    st.sampled_from(_ODDITIES),
    st.text(st.sampled_from(_ODD + "aé"), max_size=12),
    st.text(
        st.characters(
            exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff", include_characters="\t\n\r\x85"
        ),
        max_size=12,
    ),
)  # fmt: skip
"""Texts that XML 1.0 has characters for."""

texts = st.one_of(
    xml_texts,
    st.text(st.sampled_from("\x00\x0b\x0c\x1c\x1d\x1e\x7f\ufffe\r\n"), max_size=5),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
"""Any text that RDF allows."""

_IRI_TEXT = st.text(st.sampled_from("abzé日/-._~!$&'()*+,;=:@?0199Ω"), max_size=8)
iris = st.one_of(
    st.sampled_from(
        ["http://e/a", "http://e/a?b=c&d='e'#f", "http://e/%20%C3%A9", "urn:x:y", "mailto:a@b", "http://e/é", "http://e/#",
         "tag:e,2026:x", "http://[::1]:8/", f"{RDF}type", f"{RDF}nil", f"{RDF}li", f"{XSD}integer", "http://e/1", "file:///a"]
    ),
    st.builds("http://e/{}".format, _IRI_TEXT),
).map(ox.NamedNode)  # fmt: skip

_NAMES = st.text(st.sampled_from("abzé日Ω_"), min_size=1, max_size=4)
named_predicates = st.one_of(
    st.sampled_from(
        [f"{RDF}type", f"{RDF}_1", f"{RDF}value", "http://e/1a", "http://e/a%20b", "http://e/x'y", "http://e/a.b-c",
         "urn:p", "http://e/?a=1&b", "http://e/xml", "http://e/(a)b", "http://www.w3.org/XML/1998/namespacelang",
         "xml:lang"]
    ),
    st.builds("http://e/{}{}".format, _IRI_TEXT, _NAMES),
).map(ox.NamedNode)  # fmt: skip
"""Predicates that RDF/XML has names for."""

# No letters beyond ASCII: rdflib's N-Triples reader does not know them.
blank_nodes = st.sampled_from(
    ["b", "b0", "0", "1a", "_", "_b", "a.b-c", "d41d8cd98f00b204e9800998ecf8427e"]
).map(ox.BlankNode)  # fmt: skip
_LEXICAL_FORMS = st.sampled_from(
    ["1", "01", "+1", "-0", "1.0", "1.", ".5", "1e0", "1E+400", "INF", "-INF", "NaN", "nan", "true", "TRUE", "0", " 1 ",
     "", "2026-02-30", "2026-01-01T00:00:00Z", "2026-01-01T24:00:00", "1" * 400, "0.1000", "P1D", "ill-typed"]
)  # fmt: skip
# Without xsd:token and xsd:normalizedString, of which rdflib keeps no white space.
_DATATYPES = st.sampled_from(
    [*(XSD + name for name in (
        "integer", "decimal", "double", "float", "boolean", "string", "date", "dateTime", "byte", "gYear", "duration",
        "hexBinary", "anyURI",
    )), f"{RDF}HTML", f"{RDF}XMLLiteral", f"{RDF}JSON", "http://e/d?a&b'c", "urn:d"]
)  # fmt: skip
_TAGS = st.sampled_from(["en", "en-GB", "de-AT-1996", "zh-Hans-CN", "x-a", "i-klingon"])


def _literals(lexical: st.SearchStrategy[str]) -> st.SearchStrategy[ox.Literal]:
    return st.one_of(
        lexical.map(ox.Literal),
        st.builds(lambda text, tag: ox.Literal(text, language=tag), lexical, _TAGS),
        st.builds(
            lambda text, datatype: ox.Literal(text, datatype=ox.NamedNode(datatype)),
            st.one_of(lexical, _LEXICAL_FORMS), _DATATYPES,
        ),
    )  # fmt: skip


literals = _literals(texts)
xml_literals = _literals(xml_texts)
terms: st.SearchStrategy[Term] = st.one_of(literals, iris, blank_nodes)
xml_terms: st.SearchStrategy[Term] = st.one_of(xml_literals, iris, blank_nodes)

Row = tuple[Term | None, ...]
Solutions = tuple[tuple[str, ...], list[Row]]


def solutions(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Solutions]:
    """Variables, none to three, and a sequence of rows, none to four; None is unbound."""

    def rows(variables: list[str]) -> st.SearchStrategy[Solutions]:
        row = st.tuples(*[st.one_of(st.none(), terms) for _ in variables])
        return st.tuples(st.just(tuple(variables)), st.lists(row, max_size=4))

    names = st.lists(st.sampled_from(["x", "y1", "é", "_", "日"]), unique=True, max_size=3)
    return names.flatmap(rows)


def graphs(
    terms: st.SearchStrategy[Term], predicates: st.SearchStrategy[ox.NamedNode]
) -> st.SearchStrategy[list[ox.Triple]]:
    """Up to five triples, some of the same subject."""
    subjects = st.one_of(st.just(ox.NamedNode("http://e/s")), blank_nodes, iris)
    return st.lists(st.builds(ox.Triple, subjects, predicates, terms), max_size=5)
