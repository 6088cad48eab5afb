from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from protocol.access import (
    EVERY_SCOPE,
    EVERYTHING_OPEN,
    AccessDenied,
    AccessToken,
    Granted,
    InsufficientScope,
    InvalidToken,
    MalformedCredentials,
    Scope,
    Tokens,
    granted,
    operation_scope,
    parameter_is_taken,
    parse_tokens,
    required_scope,
)

READER, WRITER = "reader-0123456789", "writer-0123456789"
TOKENS = Tokens(
    (
        AccessToken.of("r", frozenset({Scope.READ}), READER),
        AccessToken.of("w", frozenset({Scope.WRITE, Scope.STREAM}), WRITER),
    ),
    frozenset(),
)


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/health", None), ("GET", "/", None), ("GET", "", None), ("GET", "/page/main.js", None),
        ("OPTIONS", "/streams/s", None), ("GET", "/sparql", Scope.READ), ("GET", "/metrics", Scope.READ),
        ("GET", "/graphs", Scope.READ), ("HEAD", "/graphs/g", Scope.READ), ("PUT", "/graphs", Scope.WRITE),
        ("POST", "/graphs/g", Scope.WRITE), ("DELETE", "/graphs", Scope.WRITE), ("PATCH", "/graphs", Scope.WRITE),
        ("GET", "/streams/s", Scope.READ), ("POST", "/streams/s", Scope.STREAM), ("PUT", "/streams/s", Scope.STREAM),
        ("DELETE", "/streams/s", Scope.STREAM), ("PUT", "/streams/s/watermark", Scope.STREAM),
        ("GET", "/queries/q/results", Scope.READ), ("PUT", "/queries/q", Scope.STREAM),
        ("DELETE", "/queries/q", Scope.STREAM), ("GET", "/pages", Scope.READ), ("POST", "/page/x", Scope.WRITE),
        ("POST", "/", Scope.WRITE), ("GET", "//health", Scope.READ), ("POST", "//streams/s", Scope.WRITE),
        ("GET", "/backup", Scope.ADMIN), ("HEAD", "/backup/", Scope.ADMIN), ("GET", "/health/", Scope.READ),
        ("GET", "/health/live", None), ("HEAD", "/health/ready", None),
            ("QUERY", "/graphs", Scope.WRITE),
    ],
)  # fmt: skip
def test_each_resource_needs_its_scope(method: str, path: str, scope: Scope | None) -> None:
    assert required_scope(method, path) is scope


def test_an_operation_needs_the_scope_of_what_it_does() -> None:
    assert operation_scope() is Scope.READ
    assert operation_scope(update=True) is Scope.WRITE
    assert operation_scope(registration=True) is Scope.STREAM


def test_a_token_grants_its_scopes_and_those_of_everybody() -> None:
    assert granted(TOKENS, f"Bearer {READER}") == Granted(frozenset({Scope.READ}), "r")
    assert granted(TOKENS, f"bearer  {WRITER} ").scopes == {Scope.WRITE, Scope.STREAM}
    assert granted(TOKENS, None, READER).holder == "r"
    open_to_read = Tokens(TOKENS.tokens, frozenset({Scope.READ}))
    assert granted(open_to_read, f"Bearer {WRITER}").scopes == EVERY_SCOPE - {Scope.ADMIN}
    for header in (None, "", "Basic dXNlcjpwYXNz"):
        assert granted(open_to_read, header) == Granted(frozenset({Scope.READ}))


@pytest.mark.parametrize(
    ("header", "parameter", "error"),
    [
        ("Bearer unknown-0123456789", None, InvalidToken),
        (f"Bearer {READER}x", None, InvalidToken),
        (None, "unknown", InvalidToken),
        ("Bearer", None, MalformedCredentials),
        ("Bearer a b", None, MalformedCredentials),
        (f"Bearer {READER}, Bearer {WRITER}", None, MalformedCredentials),
        ("Bearer é", None, MalformedCredentials),
        (None, "", MalformedCredentials),
        (f"Bearer {READER}", READER, MalformedCredentials),
    ],
)
def test_what_is_no_token_of_the_endpoint_grants_nothing(
    header: str | None, parameter: str | None, error: type[AccessDenied]
) -> None:
    with pytest.raises(error):
        granted(TOKENS, header, parameter)


def test_who_lacks_a_scope_is_told_which_and_how_to_get_it() -> None:
    with pytest.raises(AccessDenied) as without:
        granted(TOKENS, None).require(Scope.WRITE)
    assert without.value.status == 401
    assert without.value.challenge == 'Bearer realm="sparql-streams", scope="write"'
    with pytest.raises(InsufficientScope) as with_one:
        granted(TOKENS, f"Bearer {READER}").require(Scope.WRITE)
    assert with_one.value.status == 403
    assert 'error="insufficient_scope", scope="write"' in with_one.value.challenge
    assert with_one.value.problem()["scope"] == "write"


@pytest.mark.parametrize(
    ("method", "accept", "taken"),
    [
        ("GET", "text/event-stream", True),
        ("GET", "text/html, text/event-stream;q=0.5", True),
        ("GET", "text/event-stream;q=0", False),
        ("GET", "*/*", False),
        ("GET", None, False),
        ("POST", "text/event-stream", False),
    ],
)
def test_a_token_in_the_url_is_for_event_streams_only(method: str, accept: str | None, taken: bool) -> None:
    assert parameter_is_taken(method, accept) is taken


def test_tokens_are_read_from_toml_and_json() -> None:
    digest = hashlib.sha256(WRITER.encode()).hexdigest()
    toml = f"""
        anonymous = ["read"]
        [[tokens]]
        name = "r"
        token = "{READER}"
        scopes = ["read"]
        [[tokens]]
        name = "w"
        sha256 = "{digest.upper()}"
        scopes = ["write", "stream"]
    """
    read = parse_tokens(toml, json_document=False)
    assert read == Tokens(TOKENS.tokens, frozenset({Scope.READ}))
    document = {
        "tokens": [
            {"name": "r", "token": READER, "scopes": ["read"]},
            {"name": "w", "sha256": digest, "scopes": ["write", "stream"]},
        ]
    }
    assert parse_tokens(json.dumps(document), json_document=True) == TOKENS


def test_only_a_list_of_tokens_restricts_and_it_shows_none_of_them() -> None:
    assert not EVERYTHING_OPEN.restrictive
    assert parse_tokens('anonymous = ["read"]', json_document=False).restrictive
    assert READER not in repr(TOKENS)
    assert TOKENS.tokens[0].sha256.hex() not in repr(TOKENS)


def entry(**members: Any) -> dict[str, Any]:
    return {"tokens": [{"name": "a", "token": READER, "scopes": ["read"], **members}]}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], "not an object"),
        ({}, "nobody could do anything"),
        ({"tokens": {}}, "not a list"),
        ({"tokens": [], "other": 1}, "'other'"),
        ({"anonymous": "read"}, "anonymous"),
        (entry(name=""), "token 1 has no name"),
        (entry(scopes=["root"]), "scopes of the token 'a'"),
        (entry(scopes=[["read"]]), "scopes of the token 'a'"),
        (entry(scopes=[]), "has no scopes"),
        (entry(scopes=None), "scopes of the token 'a'"),
        (entry(token="short"), "16 or more"),
        (entry(token="with space 0123456789"), "16 or more"),
        (entry(token=3), "16 or more"),
        (entry(sha256="00"), "one of token and sha256"),
        (entry(token=None), "one of token and sha256"),
        (entry(token=None, sha256="00"), "64 hexadecimal"),
        (entry(secret="x"), "'secret'"),
        ({"tokens": entry()["tokens"] * 2}, "same name"),
        ({"tokens": [*entry()["tokens"], *entry(name="b")["tokens"]]}, "same token"),
    ],
)
def test_a_wrong_document_is_told_without_its_secrets(document: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        parse_tokens(json.dumps(document), json_document=True)
    assert READER not in str(caught.value)


@pytest.mark.parametrize("json_document", [True, False])
def test_what_is_no_document_is_told_without_its_text(json_document: bool) -> None:
    with pytest.raises(ValueError, match="the document is not") as caught:
        parse_tokens(f'"tokens" = {READER}', json_document=json_document)
    assert READER not in str(caught.value)
