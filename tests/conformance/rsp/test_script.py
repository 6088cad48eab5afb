from __future__ import annotations

import pytest

from conformance.manifest import ManifestError
from conformance.rsp.script import Await, Close, Listen, Resume, ScriptRequest, Step, read_script

FILES = {"q.rq": "SELECT *\n"}


def steps(text: str) -> list[Step]:
    return read_script(text, "a.http", FILES.__getitem__)


def test_a_body_reaches_to_the_next_step_and_has_the_prologue_before_it() -> None:
    (put, post, end, listen) = steps(
        "PREFIX : <http://ex/>\n\nPUT /streams/s\n{}\n\nPOST /streams/s?at=2\n:a :v 1 .\n:b :v 2 .\n\n"
        "PUT /streams/s/watermark\nend\n"
    )
    assert put == ScriptRequest("PUT", "/streams/s", "application/json", "{}")
    assert post == ScriptRequest(
        "POST", "/streams/s?at=2", "text/turtle", "PREFIX : <http://ex/>\n:a :v 1 .\n:b :v 2 ."
    )  # fmt: skip
    assert end == ScriptRequest("PUT", "/streams/s/watermark", "text/plain", "end")
    assert listen == Listen("beginning")


def test_an_empty_body_stays_empty() -> None:
    assert steps("PREFIX : <http://ex/>\nPOST /streams/s?at=2\n")[0] == ScriptRequest(
        "POST", "/streams/s?at=2", "text/turtle", ""
    )  # fmt: skip


def test_each_of_several_messages_has_the_prologue() -> None:
    request = steps("PREFIX : <x:>\nPOST /streams/s\nContent-Type: text/turtle; messages=rdfm\n:a\n# @message\n:b\n")[0]
    assert isinstance(request, ScriptRequest)
    assert request.body == "PREFIX : <x:>\n:a\n# @message\nPREFIX : <x:>\n:b"


def test_a_file_is_sent_as_it_is() -> None:
    request = steps("PREFIX : <x:>\nPUT /queries/q\n< q.rq\n")[0]
    assert request == ScriptRequest("PUT", "/queries/q", "application/sparql-query", "SELECT *\n", file="q.rq")


def test_a_number_behind_the_target_is_the_status_that_is_expected() -> None:
    request = steps("POST /streams/s 400\nnonsense")[0]
    assert isinstance(request, ScriptRequest)
    assert request.status == 400


def test_what_a_listener_does_is_a_word_each() -> None:
    found = steps("PUT /streams/s\nLISTEN\nLISTEN 4\nAWAIT 5\nRESUME\nAWAIT -7\nCLOSE\n")
    assert found[1:] == [Listen(), Listen("4"), Await(5), Resume(), Await(-7), Close()]


def test_a_script_without_a_request_is_none() -> None:
    with pytest.raises(ManifestError, match=r"a\.http: there is no request"):
        steps("PREFIX : <x:>\n")


def test_other_headers_are_not_sent() -> None:
    with pytest.raises(ManifestError, match="Accept is no header"):
        steps("POST /streams/s\nAccept: text/turtle\n\n:a :b :c .")
