from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from endpoint.settings import Settings
from protocol.access import Scope, Tokens

LOST = "/" + "x" * 300
"""What cannot be looked for, as for others what is in a folder that they may not search."""

HOMELESS = "~nobody.has.this.name/x"


def test_defaults_make_a_local_endpoint() -> None:
    settings = Settings()
    assert (settings.host, settings.port, settings.base_url) == ("127.0.0.1", 8000, "http://127.0.0.1:8000")
    assert settings.data is None
    assert settings.cors_origins == ("*",)


@pytest.mark.parametrize(
    ("host", "base_url"),
    [("0.0.0.0", "http://127.0.0.1:9"), ("::1", "http://[::1]:9"), ("example.org", "http://example.org:9")],
)
def test_the_public_url_follows_host_and_port(host: str, base_url: str) -> None:
    assert Settings(host=host, port=9).base_url == base_url


def test_a_public_url_keeps_its_prefix_and_loses_its_last_slash() -> None:
    assert Settings(base_url="https://example.org/rdf/streams/").base_url == "https://example.org/rdf/streams"


def test_given_settings_come_before_the_environment_and_that_before_defaults(tmp_path: Path) -> None:
    first, second = tmp_path / "a.ttl", tmp_path / "b.ttl"
    first.touch()
    second.touch()
    environment = {
        "SPARQL_STREAMS_PORT": "81",
        "SPARQL_STREAMS_HOST": "example.org",
        "SPARQL_STREAMS_LOAD": f"{first}:{second}",
        "SPARQL_STREAMS_DATA": str(tmp_path),
        "SPARQL_STREAMS_CORS_ORIGINS": "https://a.example, https://b.example/",
        "SPARQL_STREAMS_THREADS": "",
        "SPARQL_STREAMS_ALLOW_FETCH": "http://a.example/data, *",
        "SPARQL_STREAMS_TOKENS": '{"anonymous": ["read"]}',
        "SPARQL_STREAMS_MAX_REQUEST_BYTES": "2048",
    }
    settings = Settings.from_environment(environment, host="other.example", port=None)
    assert (settings.host, settings.port) == ("other.example", 81)
    assert settings.load == (first, second)
    assert settings.data == tmp_path
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert settings.threads == Settings().threads
    assert settings.allow_fetch.entries == ("*", "http://a.example/data")
    assert settings.tokens == Tokens((), frozenset({Scope.READ}))
    assert settings.max_request_bytes == 2048


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "http"),
        ("port", -1),
        ("port", 65536),
        ("port", True),
        ("port", 80.5),
        ("host", ""),
        ("data", 3),
        ("data", __file__),
        *((name, path) for name in ("data", "kafka_jars", "load", "tokens") for path in (LOST, HOMELESS)),
        ("load", "/no/such/file.ttl"),
        ("load", 3),
        ("base_url", "example.org"),
        ("base_url", "ftp://example.org/"),
        ("base_url", "http://example.org/?a"),
        ("base_url", "http://example.org:port/"),
        ("site", "both"),
        ("site", ""),
        ("spark_above", "much"),
        ("spark_above", -1),
        ("spark_master", " "),
        ("spark_master", "elsewhere"),
        ("spark_master", "local[many]"),
        ("spark_master", "spark://"),
        ("cors_origins", ["example.org"]),
        ("cors_origins", "https://example.org/path"),
        ("threads", 0),
        ("threads", "many"),
        ("readers", 0),
        ("query_timeout", 0),
        ("query_timeout", "soon"),
        ("query_timeout", float("nan")),
        ("query_timeout", True),
        ("max_result_bytes", 0),
        ("cors_origins", "https://user@example.org"),
        ("cors_origins", "https://example.org?x"),
        ("cors_origins", "none,https://example.org"),
        ("allow_fetch", ["a.org"]),
        ("allow_fetch", 3),
        ("tokens", 3),
        ("tokens", "/no/such/file.toml"),
        ("tokens", "{"),
        ("tokens", __file__),
        ("max_request_bytes", 10),
        ("max_live_queries", -1),
        ("max_listeners", "many"),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_given(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name}: .*"):
        Settings(**{name: value})


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "local[2, 3]", "spark://host:7077", "yarn"])
def test_what_spark_takes_for_a_master_is_taken(master: str) -> None:
    assert Settings(spark_master=master).spark_master == master


def test_no_page_or_certain_ones_may_ask() -> None:
    assert Settings(cors_origins="none").cors_origins == ()  # type: ignore[arg-type]  # as the environment has it
    assert Settings(cors_origins="HTTPS://A.example:8443/,http://[::1]:1").cors_origins == (  # type: ignore[arg-type]
        "https://a.example:8443",
        "http://[::1]:1",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tokens.toml", '[[tokens]]\nname = "a"\ntoken = "0123456789abcdef"\nscopes = ["read"]'),
        ("tokens.json", '{"tokens": [{"name": "a", "token": "0123456789abcdef", "scopes": ["read"]}]}'),
    ],
)
def test_tokens_come_from_a_file_and_stay_when_settings_are_replaced(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    settings = Settings.from_environment({}, tokens=str(tmp_path / name), allow_fetch=("http://a.example",))
    assert [(one.name, one.scopes) for one in settings.tokens.tokens] == [("a", frozenset({Scope.READ}))]
    moved = replace(settings, port=9)
    assert moved.tokens == settings.tokens
    assert moved.allow_fetch == settings.allow_fetch
    assert "0123456789abcdef" not in repr(settings)


@pytest.mark.parametrize("wrong", ["lots", "1MB", 5])
def test_a_wrong_size_is_told_how_sizes_are_written(wrong: object) -> None:
    with pytest.raises(ValueError, match=rf"^query_memory: {wrong!r} is not a size from 67108864 .* such as 512MB"):
        Settings.from_environment({}, query_memory=wrong)


def test_a_wrong_variable_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=re.escape("SPARQL_STREAMS_PORT (port: 'x' is not a whole number")):
        Settings.from_environment({"SPARQL_STREAMS_PORT": "x"})
    monkeypatch.setenv("SPARQL_STREAMS_PORT", "abc")
    with pytest.raises(ValueError, match=r"^SPARQL_STREAMS_PORT \(port: 'abc' is not a whole number"):
        Settings.from_environment()
    with pytest.raises(ValueError, match=r"^port: 'abc' is not a whole number"):
        Settings.from_environment(port="abc")


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(ValueError, match="colour"):
        Settings.from_environment({}, colour="red")
