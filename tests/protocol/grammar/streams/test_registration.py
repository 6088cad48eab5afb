from __future__ import annotations

import pytest

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.grammar.parser import parse
from protocol.language.model import R2S, ContinuousQuery, Form, Registration

QUERY = "SELECT * FROM STREAM <u:s> [RANGE 10s] { ?s ?p ?o }"


def continuous(text: str) -> ContinuousQuery:
    query = parse(text)
    assert isinstance(query, ContinuousQuery)
    return query


@pytest.mark.parametrize("kind", ["QUERY", "STREAM", "RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize("name", ["cars", "_x", "a-b-2", "as", "Computed", "STREAM", "cars-per-minute"])
def test_a_registration_has_a_kind_and_a_bare_name(kind: str, name: str) -> None:
    query = continuous(f"REGISTER {kind} {name} AS {QUERY}")
    assert query.registration == Registration(kind, name, name_is_iri=False)
    assert continuous(f"register {kind.lower()} {name}\tas#\n{QUERY}").registration == query.registration


@pytest.mark.parametrize(
    ("text", "iri"),
    [
        (f"PREFIX ex: <http://ex/> REGISTER QUERY ex:q AS {QUERY}", "http://ex/q"),
        (f"REGISTER QUERY ex:q AS PREFIX ex: <http://ex/> {QUERY}", "http://ex/q"),
        (f"REGISTER QUERY : AS PREFIX : <http://ex/> {QUERY}", "http://ex/"),
        (f"REGISTER QUERY <http://ex/q> AS {QUERY}", "http://ex/q"),
        (f"BASE <http://ex/> REGISTER QUERY <q> AS {QUERY}", "http://ex/q"),
        (f"REGISTER QUERY <q> AS BASE <http://ex/> {QUERY}", "http://ex/q"),
        (f"PREFIX a: <u:> REGISTER QUERY ex:q COMPUTED EVERY 5s AS PREFIX ex: <http://ex/> {QUERY}", "http://ex/q"),
    ],
)
def test_a_name_that_is_an_iri_is_absolute_whichever_side_its_prologue_is_on(text: str, iri: str) -> None:
    registration = continuous(text).registration
    assert registration is not None
    assert (registration.name, registration.name_is_iri) == (iri, True)


@pytest.mark.parametrize(
    ("every", "milliseconds"),
    [("5m", 300_000), ("5 minutes", 300_000), ("PT0.5S", 500), ("P1D", 86_400_000), ("500", 500), ("500\n", 500)],
)
def test_computed_every_takes_any_duration(every: str, milliseconds: int) -> None:
    registration = continuous(f"REGISTER STREAM q COMPUTED EVERY {every} AS {QUERY}").registration
    assert registration == Registration("STREAM", "q", name_is_iri=False, every=milliseconds)


def test_the_prologues_on_both_sides_of_the_registration_count() -> None:
    query = continuous(
        "PREFIX a: <u:> REGISTER QUERY q AS PREFIX b: <v:> SELECT * FROM STREAM a:s [NOW] FROM STREAM b:s [NOW] {}"
    )
    assert query.streams == ("u:s", "v:s")


@pytest.mark.parametrize("form", Form)
def test_every_query_form_can_be_registered_as_query_and_as_stream(form: Form) -> None:
    rest = {
        Form.SELECT: "* FROM STREAM <u:s> [RANGE 1s] {}",
        Form.ASK: "FROM STREAM <u:s> [RANGE 1s] {}",
        Form.CONSTRUCT: "{ ?s ?p ?o } FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o }",
        Form.DESCRIBE: "<u:x> FROM STREAM <u:s> [RANGE 1s]",
    }[form]
    for kind in ("QUERY", "STREAM", "ISTREAM"):
        assert continuous(f"REGISTER {kind} q AS {form} {rest}").form is form


def test_the_operator_of_the_registration_holds_and_may_be_repeated() -> None:
    assert continuous(f"REGISTER DSTREAM q AS {QUERY}").operator is R2S.DSTREAM
    assert continuous(f"REGISTER DSTREAM q AS {QUERY.replace('SELECT', 'SELECT DSTREAM')}").operator is R2S.DSTREAM


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            f"REGISTER ¦q AS {QUERY}",
            QuerySyntaxError,
            "QUERY, STREAM, FACT, RSTREAM, ISTREAM or DSTREAM after REGISTER",
        ),
        (f"REGISTER QUERY ¦AS {QUERY}", QuerySyntaxError, "a name after REGISTER"),
        (f"REGISTER QUERY ¦COMPUTED EVERY 5s AS {QUERY}", QuerySyntaxError, "a name after REGISTER"),
        (f"REGISTER QUERY ¦5q AS {QUERY}", QuerySyntaxError, "a name after REGISTER"),
        (f"REGISTER QUERY ¦?q AS {QUERY}", QuerySyntaxError, "a name after REGISTER"),
        (f"REGISTER QUERY q¦.r AS {QUERY}", QuerySyntaxError, "cannot be part of a name"),
        (
            f"REGISTER QUERY q ¦{QUERY}",
            QuerySyntaxError,
            "COMPUTED EVERY <duration> or AS after the name, found SELECT",
        ),
        (f"REGISTER QUERY q COMPUTED ¦5s AS {QUERY}", QuerySyntaxError, "EVERY after COMPUTED"),
        (f"REGISTER QUERY q COMPUTED EVERY ¦AS {QUERY}", QuerySyntaxError, "a duration after COMPUTED EVERY"),
        (f"REGISTER QUERY q COMPUTED EVERY ¦0s AS {QUERY}", QuerySemanticError, "lasts no time"),
        (f"REGISTER QUERY q COMPUTED EVERY 5s ¦{QUERY}", QuerySyntaxError, "expected AS"),
        (f"REGISTER QUERY ¦ex:q AS {QUERY}", QuerySyntaxError, "the prefix ex: is not declared"),
        ("REGISTER QUERY q AS¦", QuerySyntaxError, "expected SELECT"),
        ("REGISTER¦", QuerySyntaxError, "found the end of the query"),
        (f"REGISTER QUERY q AS ¦REGISTER QUERY r AS {QUERY}", QuerySyntaxError, "expected SELECT"),
        (f"{QUERY} ¦REGISTER QUERY q AS", QuerySyntaxError, "REGISTER goes once, before the query"),
        ("\n ¦REGISTER STREAM q AS DESCRIBE <u:a>", QuerySemanticError, "only a query over streams makes a stream"),
        ("¦REGISTER ISTREAM q AS CONSTRUCT WHERE { ?s ?p ?o }", QuerySemanticError, "write REGISTER QUERY"),
        (
            "¦REGISTER QUERY q COMPUTED EVERY 5s AS SELECT * { ?s ?p ?o }",
            QuerySemanticError,
            "COMPUTED EVERY is for queries over streams",
        ),
        (
            "REGISTER ISTREAM q AS SELECT ¦RSTREAM * FROM STREAM <u:s> [RANGE 1s] {}",
            QuerySemanticError,
            "RSTREAM contradicts REGISTER ISTREAM",
        ),
    ],
)
def test_a_wrong_registration_is_an_error_at_its_place(text: str, kind: type[ProtocolError], said: str) -> None:
    with pytest.raises(kind) as raised:
        parse(text.replace("¦", ""))
    assert type(raised.value) is kind
    assert said in raised.value.detail
    before = text[: text.index("¦")].split("\n")
    assert (raised.value.line, raised.value.column) == (len(before), len(before[-1]) + 1)
