from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from endpoint.cli import main
from protocol.access import EVERY_SCOPE, AccessToken, Tokens
from protocol.errors import NotFound
from protocol.evaluations import Ended
from tests.endpoint.running_server import Running, running_server

pytestmark = pytest.mark.server

COUNT = (
    "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <a:w> ON <{url}/streams/s> [RANGE 1s] {{ WINDOW <a:w> {{ ?s ?p ?o }} }}"
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    with running_server() as running:
        yield running


@pytest.fixture
def server(shared: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """The server, with one stream `s` and nothing else; commands find it by the environment."""
    monkeypatch.setenv("SPARQL_STREAMS_SERVER", shared.url)
    backend = shared.backend
    for query in backend.queries():
        backend.remove(query.name)
    for stream in backend.streams():
        backend.delete_stream(stream.name)
    backend.appended.clear()
    assert run("streams", "create", "s").exit_code == 0
    return shared


def run(*arguments: str | Path, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


def lines(result: Result) -> list[Any]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def evaluation(n: int, second: int) -> bytes:
    return json.dumps(
        {
            "head": {"vars": ["n"]},
            "results": {"bindings": [{"n": {"type": "literal", "value": str(n)}}]},
            "evaluation": {"time": f"1970-01-01T00:00:0{second}Z", "operator": "RSTREAM", "windows": {}},
        }
    ).encode()


# publish


def test_a_file_is_published_with_the_type_its_name_tells(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "größe.TTL"
    file.write_text("<a:s> <a:p> 'é' .\n", encoding="utf-8")
    assert lines(run("publish", "s", file)) == [{"elements": 1, "triples": 1, "watermark": None}]
    [appended] = server.backend.appended
    assert (appended.content_type, appended.body) == ("text/turtle", "<a:s> <a:p> 'é' .\n".encode())


def test_a_file_of_several_messages_says_so(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "log.nt"
    file.write_text("<a:1> <a:p> <a:o> .\n# @message\n<a:2> <a:p> <a:o> .\n")
    lines(run("publish", "s", file))
    assert [one.content_type for one in server.backend.appended] == ["application/n-triples; version=1.2-messages"]


def test_files_go_in_the_order_given_and_standard_input_is_a_dash(server: Running, tmp_path: Path) -> None:
    first, second = tmp_path / "1.nq", tmp_path / "2.jsonld"
    first.write_text("<a:1> <a:p> <a:o> .\n")
    second.write_text("{}")
    lines(run("publish", "s", second, "-", first, input="<a:stdin> <a:p> 1 ."))
    assert [one.content_type for one in server.backend.appended] == [
        "application/ld+json", "text/turtle", "application/n-quads",
    ]  # fmt: skip


def test_a_pipe_is_published_line_by_line_if_it_is_ndjson(server: Running) -> None:
    result = run("publish", "s", "--content-type", "application/x-ndjson", input='{"@id":"a:1"}\n\n{"@id":"a:2"}\n')
    assert result.exit_code == 0, result.output
    sent = b"".join(one.body for one in server.backend.appended)
    assert sent == b'{"@id":"a:1"}\n{"@id":"a:2"}\n'


def test_at_sends_a_file_as_it_is_with_its_time(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "x.ttl"
    file.write_text("<a:1> <a:p> <a:o> .")
    [receipt] = lines(run("publish", "s", file, "--at", "1970-01-01T00:00:05Z"))
    assert receipt == {"elements": 1, "triples": 1, "watermark": "1970-01-01T00:00:04.999Z"}


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("<a:1> <a:p> <a:o> .\n# @message\n<a:2> <a:p> <a:o> .\n", "; messages=rdfm"),
        ('\ufeffVERSION "1.2-messages"\n<a:1> <a:p> <a:o> .\nMESSAGE\n<a:2> <a:p> <a:o> .\n', ""),
    ],
)
def test_at_says_how_the_messages_of_a_file_are_divided(
    server: Running, tmp_path: Path, text: str, parameters: str
) -> None:
    file = tmp_path / "log.nt"
    file.write_text(text, encoding="utf-8")
    lines(run("publish", "s", file, "--at", "1970-01-01T00:00:05Z"))
    [appended] = server.backend.appended
    assert (appended.content_type, appended.body) == (f"application/n-triples{parameters}", text.encode())


def test_all_of_a_file_is_of_the_partition_that_is_named(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "x.ttl"
    file.write_text("<a:1> <a:p> <a:o> .")
    for arguments in ((), ("--at", "1970-01-01T00:00:05Z"), ("--rate", "20")):
        lines(run("publish", "s", file, "--partition", "0", *arguments))
    assert [one.partition for one in server.backend.appended] == [0, 0, 0]
    assert run("publish", "s", file, "--partition", "-1").exit_code == 2


def test_a_rate_sends_message_by_message(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "log.nt"
    file.write_text("# @message\n".join(f"<a:{n}> <a:p> <a:o> .\n" for n in range(3)))
    lines(run("publish", "s", file, "--rate", "2"))  # what is due while a request runs goes together
    assert len(server.backend.appended) == 3


def test_a_rate_and_what_is_refused_are_of_all_files(server: Running, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.ttl", "b.jsonld", "c.ttl")]
    for file, text in zip(files, ("<a:1> <a:p> <a:o> .", '{"@id": "a:2", "a:p": 1}', "not RDF"), strict=True):
        file.write_text(text)
    began = time.monotonic()
    result = run("publish", "s", *files, "--rate", "10")
    assert time.monotonic() - began >= 0.2
    assert result.exit_code == 1
    assert "c.ttl: " in result.output
    assert "the body is not RDF" in result.output
    assert len(server.backend.appended) == 2


def test_a_replay_goes_by_the_times_in_the_messages(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "log.ttl"
    file.write_text(
        "PREFIX sosa: <http://www.w3.org/ns/sosa/>\n"
        + "# @message\n".join(f"<a:{n}> sosa:resultTime '1970-01-01T00:00:0{n}Z' .\n" for n in range(3))
    )
    lines(run("publish", "s", file, "--speedup", "4"))
    assert len(server.backend.appended) == 3
    assert all(b"PREFIX sosa:" in one.body for one in server.backend.appended)


def test_end_ends_the_stream(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "x.ttl"
    file.write_text("<a:1> <a:p> <a:o> .")
    lines(run("publish", "s", file, "--end"))
    assert server.backend.stream("s").ended


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere", "FILE.ttl"), "there is no stream 'nowhere'"),
        (("s", "FILE.ttl", "--rate", "1", "--speedup", "1"), "only one of them"),
        (("s", "FILE.ttl", "--at", "1", "--rate", "1"), "neither --rate nor --speedup"),
        (("s", "FILE.unknown"), "say it with --content-type"),
        (("s", "FILE.ttl", "--content-type", "text/html"), "messages cannot be read from text/html"),
        (("s", "FILE.ttl", "--content-type", "text/turtle; charset=latin-1"), "to UTF-8 first"),
        (("s", "FILE.ttl", "--rate", "0"), "0"),
        (("s", "FILE.ttl", "--rate", "nan"), "nan is not in the range x>0"),
        (("s", "FILE.ttl", "--speedup", "NaN"), "NaN is not in the range x>0"),
        (("s", "FILE.ttl", "--speedup", "1"), "message 1 has no time"),
        (("s", "not there.ttl"), "not there.ttl"),
        (("http://127.0.0.1:9/streams/s?partition=1", "FILE.ttl"), "options say the rest"),
        (("s", "FILE.ttl", "--server", "nonsense"), "--server: 'nonsense' is not a URL"),
        (("s", "FILE.ttl", "--server", "http://127.0.0.1:9"), "nothing answers at http://127.0.0.1:9/streams/s"),
    ],
)
def test_what_cannot_be_published_is_told_in_one_line(
    server: Running, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    for suffix in ("ttl", "unknown"):
        (tmp_path / f"FILE.{suffix}").write_text("<a:1> <a:p> <a:o> .")
    result = run("publish", *(argument.replace("FILE", f"{tmp_path}/FILE") for argument in arguments))
    assert result.exit_code != 0
    assert told in result.output
    assert "Traceback" not in result.output
    assert not server.backend.appended


def test_what_the_endpoint_refuses_is_told_with_its_place(server: Running) -> None:
    result = run("publish", "s", input="not RDF")
    assert result.exit_code == 1
    assert "the body is not RDF (line 1, column 1)" in result.output


def test_what_the_endpoint_refuses_of_a_long_file_is_told_with_where_its_count_begins(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("endpoint.client.pace.BATCH_MESSAGES", 2)
    file = tmp_path / "log.nt"
    file.write_text("# @message\n".join(["<a:1> <a:p> <a:o> .\n", "<a:2> <a:p> <a:o> .\n", "not RDF"]))
    result = run("publish", "s", file)
    assert result.exit_code == 1
    assert "log.nt, counted from its message 3 on: " in result.output
    assert "the body is not RDF (line 1, column 1)" in result.output


def test_what_ends_while_a_pipe_is_open_ends_with_what_it_has_to_say(server: Running) -> None:
    """The interpreter closes standard input at its end, and aborts if a thread waits for more of it."""
    arguments = ("publish", "unknown", "-", "--content-type", "application/x-ndjson")
    command = [sys.executable, "-m", "endpoint.cli", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("{}\n")
        process.stdin.flush()
        told = process.stderr.read()  # until it ends, while the pipe stays open
        assert process.wait() == 1
    assert told.startswith("Error: ")
    assert told.count("\n") == 1


def test_a_stream_can_be_named_by_its_url(server: Running) -> None:
    lines(run("publish", f"{server.url}/streams/s", "--server", "http://127.0.0.1:9", input="<a:1> <a:p> <a:o> ."))
    assert len(server.backend.appended) == 1


# streams and queries


def test_streams_are_created_listed_described_and_deleted(server: Running) -> None:
    created = lines(
        run("streams", "create", "event", "--time", "event", "--timestamp-path", "a:t", "--retention", "PT1H")
    )
    assert created[0]["timestampPath"] == ["a:t"]
    assert [one["name"] for one in lines(run("streams"))] == ["event", "s"]
    assert lines(run("streams", "show", "event")) == created
    [advanced] = lines(run("streams", "watermark", "event", "1970-01-01T00:00:05Z"))
    assert advanced["watermark"] == "1970-01-01T00:00:05Z"
    assert run("streams", "delete", "event").exit_code == 0
    assert "there is no stream 'event'" in run("streams", "show", "event").output


def test_a_stream_has_the_settings_of_a_file_and_those_of_options_before_them(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"time": "event", "partitions": 2, "retention": "P7D"}')
    [created] = lines(run("streams", "create", "event", "--settings", file, "--retention", "PT1H"))
    assert (created["time"], created["partitions"], created["retention"]) == ("event", 2, "PT1H")
    for wrong, said in (("[1]", "has to be an object"), ("{", "settings.json is not JSON")):
        file.write_text(wrong)
        refused = run("streams", "create", "other", "--settings", file)
        assert refused.exit_code == 1
        assert said in refused.output


def test_a_query_is_registered_listed_planned_and_deleted(server: Running, tmp_path: Path) -> None:
    file = tmp_path / "count.rq"
    file.write_text(COUNT.format(url=server.url))
    [registered] = lines(run("register", "count", file, "--since", "beginning"))
    assert registered["name"] == "count"
    assert [one["name"] for one in lines(run("queries"))] == ["count"]
    assert lines(run("queries", "show", "count"))[0]["text"] == file.read_text()
    assert run("queries", "plan", "count").output == "plan of count\n"
    assert run("queries", "delete", "count").exit_code == 0
    with pytest.raises(NotFound):
        server.backend.query("count")


def test_a_query_that_names_itself_needs_no_name(server: Running) -> None:
    [registered] = lines(run("register", "REGISTER QUERY own AS " + COUNT.format(url=server.url)))
    assert registered["name"] == "own"


def test_a_query_comes_from_standard_input_too(server: Running) -> None:
    assert lines(run("register", "piped", input=COUNT.format(url=server.url)))[0]["name"] == "piped"


@pytest.mark.parametrize(
    ("arguments", "input", "told"),
    [
        (("SELECT * { ?s ?p ?o }",), None, "does not name itself"),
        (("name", "missing.rq"), None, "neither a query nor a file"),
        (("name",), "", "standard input is empty"),
        (("name",), b"\xff", "not UTF-8"),
        (("name", "SELECT * { ?s timestamp(?p) ?o }"), None, "timestamp"),
        (("name", "SELECT *\nFROM NAMED WINDOW <a:w> ON <a:s> [RANGE]\n{}"), None, "line 2"),
    ],
)
def test_what_cannot_be_registered_is_told(
    server: Running, arguments: tuple[str, ...], input: str | bytes | None, told: str
) -> None:
    result = run("register", *arguments, input=input)
    assert result.exit_code != 0
    assert told in result.output
    assert not server.backend.queries()


# query and subscribe


def test_a_question_is_answered_with_a_json_line_a_solution(server: Running) -> None:
    result = run("query", "SELECT ?x ?y { VALUES (?x ?y) { (1 UNDEF) ('é' <a:b>) } }")
    assert lines(result) == [
        {"x": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}},
        {"x": {"type": "literal", "value": "é"}, "y": {"type": "uri", "value": "a:b"}},
    ]
    assert lines(run("query", "ASK {}")) == [{"boolean": True}]
    assert lines(run("query", "CONSTRUCT { <a:s> <a:p> 1 } {}"))[0]["triple"].startswith("<a:s>")


def test_a_triple_is_a_line_whatever_its_literals_have_in_them(server: Running) -> None:
    printed = run("query", 'CONSTRUCT { <a:s> <a:p> "a\\u2028b\\u0085c" } {}').stdout.split("\n")
    assert [json.loads(line)["triple"] for line in printed if line] == ['<a:s> <a:p> "a\u2028b\u0085c" .']


def test_an_answer_in_a_format_asked_for_is_printed_as_it_is(server: Running) -> None:
    assert run("query", "SELECT ?x { VALUES ?x { 1 } }", "--format", "csv").output.splitlines() == ["x", "1"]


def test_a_syntax_error_is_told_with_its_place(server: Running) -> None:
    result = run("query", "SELECT ?x {\n ?x }")
    assert result.exit_code == 1
    assert "line 2" in result.output


def test_subscribers_get_a_json_line_an_evaluation_with_its_id(server: Running) -> None:
    assert run("register", "count", COUNT.format(url=server.url)).exit_code == 0
    server.backend.evaluate("count", 1000, evaluation(5, 1))
    server.backend.evaluate("count", 2000, evaluation(7, 2))
    got = lines(run("subscribe", "count", "--since", "beginning", "--limit", "2"))
    assert [one["results"]["bindings"][0]["n"]["value"] for one in got] == ["5", "7"]
    assert [one["evaluation"]["time"][-3:-1] for one in got] == ["01", "02"]
    first = got[0]["id"]
    [resumed] = lines(run("subscribe", "count", "--last-event-id", first, "--limit", "1"))
    assert resumed == got[1]


def test_a_subscription_ends_at_the_time_that_it_was_asked_for(server: Running) -> None:
    assert run("register", "count", COUNT.format(url=server.url)).exit_code == 0
    for second in (1, 2, 3):
        server.backend.evaluate("count", second * 1000, evaluation(second, second))
    until = run("subscribe", "count", "--since", "1000", "--until", "1970-01-01T00:00:02Z")
    assert [one["evaluation"]["time"] for one in lines(until)] == ["1970-01-01T00:00:02Z"]


def test_a_question_says_since_when_its_answer_may_be(server: Running) -> None:
    result = run("query", COUNT.format(url=server.url), "--since", "never")
    assert result.exit_code == 1
    assert "since: 'never' is not a time" in result.output


def test_what_a_query_can_be_known_not_to_answer_is_said_on_standard_error(server: Running) -> None:
    never = "SELECT ?y { VALUES ?x { 1 } }"
    warning = "warning: ?y is never bound here, so that no solution has it (line 1, column 8)\n"
    asked, listening = run("query", never), run("subscribe", never, "--limit", "1")
    assert asked.stderr == listening.stderr == warning
    assert lines(asked) == [{}]


def test_a_subscription_ends_with_its_query(server: Running) -> None:
    assert run("register", "count", COUNT.format(url=server.url)).exit_code == 0
    server.backend.evaluate("count", 1000, evaluation(5, 1))
    server.backend.push(Ended("count", "all its streams have ended"))
    result = run("subscribe", "count", "--since", "beginning")
    assert len(lines(result)) == 1
    assert "end:" in result.stderr


@pytest.mark.parametrize("argument", ["", "/", "no/such/file.rq"])
def test_what_can_be_no_name_of_a_query_is_not_asked_for(argument: str) -> None:
    result = run("subscribe", argument)
    assert result.exit_code == 2
    assert f"{argument!r} is neither the name of a query nor a query nor a file with one" in result.output


def test_an_unknown_query_cannot_be_subscribed_to(server: Running) -> None:
    result = run("subscribe", "nothing")
    assert result.exit_code == 1
    assert "there is no query 'nothing'" in result.output


# Tokens


def test_a_token_is_sent_by_every_command_that_talks_to_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "token-0123456789"
    with running_server(tokens=Tokens((AccessToken.of("t", EVERY_SCOPE, token),), frozenset())) as running:
        monkeypatch.setenv("SPARQL_STREAMS_SERVER", running.url)
        refused = run("streams")
        assert refused.exit_code == 1
        assert "this needs a token with the scope read" in refused.output
        assert "not one of this endpoint's" in run("streams", "--token", "other-0123456789").output
        assert "--token: a token has letters" in run("streams", "--token", "no token").output
        assert run("streams", "--token", token, "create", "s").exit_code == 0
        monkeypatch.setenv("SPARQL_STREAMS_TOKEN", token)
        assert run("publish", "s", input="<a:1> <a:p> <a:o> .").exit_code == 0
        assert run("register", "count", COUNT.format(url=running.url)).exit_code == 0
        assert lines(run("query", "ASK {}")) == [{"boolean": True}]
        running.backend.evaluate("count", 1000, evaluation(5, 1))
        assert len(lines(run("subscribe", "count", "--since", "beginning", "--limit", "1"))) == 1
        assert run("queries", "delete", "count").exit_code == 0


# The rest


@pytest.mark.parametrize(
    "command", ["serve", "demo", "publish", "register", "query", "subscribe", "streams", "queries", "conformance"]
)
def test_every_command_explains_itself(command: str) -> None:
    assert run(command, "--help").exit_code == 0
    assert f"  {command} " in run("--help").output


def options_of(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """Those of the command and of the commands below it, with where they are."""
    yield from (((*path, one.opts[0]), one) for one in command.params if isinstance(one, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options_of(below, *path, name)


def test_every_option_is_a_variable_and_says_which() -> None:
    silent = {
        where for where, one in options_of(main)
        if "[env var: SPARQL_STREAMS_" not in (one.help or "") and not (one.envvar and one.show_envvar)
    }  # fmt: skip
    assert silent == {("--version",)}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--port", "eighty"), "port: 'eighty' is not a whole number"),
        (("--load", "/not/there.ttl"), "load: there is no file"),
        (("--base-url", "nonsense"), "base_url: 'nonsense' is not a URL"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_wrong_setting_is_named(command: str, arguments: tuple[str, ...], told: str) -> None:
    result = run(command, *arguments)
    assert result.exit_code == 2
    assert told in result.output


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_STREAMS_PORT", "99999")
    assert "port: '99999'" in run("serve").output


def test_serving_on_a_taken_port_is_refused(server: Running) -> None:
    result = run("serve", "--port", server.url.rpartition(":")[2])
    assert result.exit_code == 1
    assert "cannot listen on 127.0.0.1:" in result.output


def test_conformance_without_the_suite_says_how_to_get_it(tmp_path: Path) -> None:
    result = run("conformance", "--suite-path", str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "github.com/w3c/rdf-tests" in result.output


@pytest.mark.parametrize(("address", "wrong"), [("192.0.2.1", "--host"), ("host.invalid", "--host"), ("", "--port")])
def test_an_address_that_cannot_be_listened_on_is_told_with_what_is_wrong_of_it(
    server: Running, address: str, wrong: str
) -> None:
    taken = server.url.rpartition(":")[2]
    result = run("serve", "--host", address or "127.0.0.1", "--port", taken)
    assert result.exit_code == 1
    assert f"(choose another with {wrong})" in result.output
