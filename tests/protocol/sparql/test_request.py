from __future__ import annotations

import tracemalloc
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.entailment.regimes import Regime, UnknownRegime
from protocol.errors import ProtocolError
from protocol.sparql import request
from protocol.sparql.dataset import RequestedGraphs
from protocol.sparql.request import QueryRequest, UpdateRequest, sparql_request

FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"


def status(method: str, query_string: bytes = b"", content_type: str | None = None, body: bytes = b"") -> int:
    with pytest.raises(ProtocolError) as caught:
        sparql_request(method, query_string, content_type, body)
    return caught.value.status


@given(st.text())
def test_a_query_is_decoded_exactly_once_however_it_is_sent(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return
    encoded = urlencode({"query": text}).encode()
    assert sparql_request("GET", encoded, None, b"") == QueryRequest(text)
    assert sparql_request("POST", b"", FORM, encoded) == QueryRequest(text)
    if not text.startswith("\ufeff"):
        assert sparql_request("POST", b"", QUERY, text.encode()) == QueryRequest(text)


def test_percent_signs_and_plus_signs_mean_what_the_form_encoding_says() -> None:
    assert sparql_request("GET", b"query=a%2Bb+c%2520%26", None, b"") == QueryRequest("a+b c%20&")


def test_datasets_come_with_queries_and_updates() -> None:
    in_url = b"default-graph-uri=http://ex/a&named-graph-uri=http://ex/b&default-graph-uri=http://ex/c"
    expected = QueryRequest("ASK {}", RequestedGraphs(("http://ex/a", "http://ex/c"), ("http://ex/b",)))
    assert sparql_request("POST", in_url, QUERY, b"ASK {}") == expected
    assert sparql_request("GET", in_url + b"&query=ASK+{}", None, b"") == expected
    assert sparql_request("POST", b"", FORM, in_url + b"&query=ASK+{}") == expected
    using = b"using-graph-uri=http://ex/a&using-named-graph-uri=http://ex/b"
    assert sparql_request("POST", using, UPDATE, b"x") == UpdateRequest("x", ("http://ex/a",), ("http://ex/b",))


def test_a_get_without_an_operation_asks_for_the_description() -> None:
    assert sparql_request("GET", b"", None, b"") is None
    assert sparql_request("HEAD", b"x=1", None, b"") is None


def test_an_empty_query_is_a_query() -> None:
    assert sparql_request("GET", b"query=", None, b"") == QueryRequest("")
    assert sparql_request("POST", b"", UPDATE, b"") == UpdateRequest("")


def test_content_types_may_have_parameters_and_capitals() -> None:
    assert sparql_request("POST", b"", 'Application/SPARQL-Query; Charset="UTF-8"', b"x") == QueryRequest("x")
    assert sparql_request("POST", b"", QUERY, b"\xef\xbb\xbfx") == QueryRequest("x")


@pytest.mark.parametrize(
    ("query_string", "content_type", "body"),
    [
        (b"", FORM, b""),
        (b"", FORM, b"query=a&query=b"),
        (b"", FORM, b"update=a&update=b"),
        (b"", FORM, b"query=a&update=b"),
        (b"query=a", FORM, b"query=b"),
        (b"query=a", QUERY, b"b"),
        (b"", QUERY, b"\xff"),
        (b"", FORM, b"query=%FF"),
        (b"default-graph-uri=relative", QUERY, b"a"),
        (b"using-graph-uri=http://ex/", QUERY, b"a"),
        (b"default-graph-uri=http://ex/", UPDATE, b"a"),
        (b"", FORM, b"&".join(b"a=b" for _ in range(2000))),
    ],
)
def test_a_request_that_contradicts_the_protocol_is_a_bad_one(
    query_string: bytes, content_type: str, body: bytes
) -> None:
    assert status("POST", query_string, content_type, body) == 400


def test_a_get_may_not_have_two_queries_nor_graphs_without_one() -> None:
    assert status("GET", b"query=a&query=b") == 400
    assert status("GET", b"default-graph-uri=http://ex/") == 400


def test_an_update_by_get_is_refused() -> None:
    assert status("GET", b"update=a") == 405
    assert status("HEAD", b"update=a&query=b") == 405


@pytest.mark.parametrize(
    "content_type",
    [None, "", "text/plain", "application/sparql", f"{QUERY}; charset=utf-16", f"{UPDATE};charset=latin1"],
)
def test_other_bodies_are_not_read(content_type: str | None) -> None:
    assert status("POST", b"", content_type, b"ASK {}") == 415


def test_the_timeout_of_a_query_may_be_in_the_url_or_in_the_form() -> None:
    form = "application/x-www-form-urlencoded"
    assert sparql_request("GET", b"query=ASK+{}&timeout=2.5", None, b"") == QueryRequest("ASK {}", timeout=2.5)
    assert sparql_request("POST", b"timeout=3", form, b"query=ASK+{}") == QueryRequest("ASK {}", timeout=3.0)
    assert sparql_request("POST", b"", form, b"query=ASK+{}&timeout=3") == QueryRequest("ASK {}", timeout=3.0)
    for wrong in (b"0", b"-1", b"soon", b"nan", b"inf", b"", b"1&timeout=2", b"1_0", "١".encode(), b"0x1"):
        with pytest.raises(ProtocolError, match="timeout"):
            sparql_request("GET", b"query=ASK+{}&timeout=" + wrong, None, b"")
        with pytest.raises(ProtocolError, match="timeout"):
            sparql_request("POST", b"timeout=" + wrong, UPDATE, b"CLEAR ALL")
    assert sparql_request("POST", b"timeout=2.5", UPDATE, b"CLEAR ALL") == UpdateRequest("CLEAR ALL", timeout=2.5)


def test_the_method_query_takes_a_query_and_no_update() -> None:
    assert sparql_request("QUERY", b"", QUERY, b"ASK {}") == QueryRequest("ASK {}")
    assert sparql_request("QUERY", b"default-graph-uri=http://ex/a", FORM, b"query=ASK+%7B%7D") == QueryRequest(
        "ASK {}", RequestedGraphs(("http://ex/a",))
    )
    assert status("QUERY", b"", UPDATE, b"CLEAR ALL") == 405
    assert status("QUERY", b"", FORM, b"update=CLEAR+ALL") == 405
    assert status("QUERY", b"query=ASK+%7B%7D") == 415


def test_a_query_may_say_its_regime() -> None:
    assert sparql_request("GET", b"query=ASK%7B%7D&entailment=", None, b"") == QueryRequest("ASK{}")
    for regime in Regime:
        asked = QueryRequest("ASK{}", entailment=regime)
        assert sparql_request("GET", f"query=ASK%7B%7D&entailment={regime}".encode(), None, b"") == asked
        assert sparql_request("POST", b"", FORM, f"query=ASK%7B%7D&entailment={regime}".encode()) == asked
        assert sparql_request("POST", f"entailment={regime}".encode(), QUERY, b"ASK{}") == asked
    with pytest.raises(UnknownRegime, match="write none, rdfs, owl-rl"):
        sparql_request("GET", b"query=ASK%7B%7D&entailment=owl", None, b"")


_encoded = st.lists(
    st.sampled_from([b"%7B", b"%C3%A9", b"%C3", b"%A9", b"%", b"%4", b"%zz", b"+", b"&", b"=", b"a", "é".encode()])
).map(b"".join)


@given(_encoded, st.integers(3, 8))
def test_a_form_is_decoded_in_pieces_as_it_is_at_once(encoded: bytes, piece: int) -> None:
    try:
        expected = parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        expected = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request, "_PIECE", piece)
        try:
            found = request.decode_form(encoded, "the form")
        except ProtocolError:
            assert expected is None
            return
    assert expected is not None
    assert [(name, value) for name, values in found.items() for value in values] == sorted(
        expected, key=lambda pair: list(found).index(pair[0])
    )


def test_a_long_form_takes_little_more_memory_than_it_is_long() -> None:
    encoded = b"update=" + b"%7B" * 500_000
    tracemalloc.start()
    try:
        assert request.decode_form(encoded, "the form") == {"update": ["{" * 500_000]}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(encoded) + 20_000_000
