"""What the server says on standard error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest

from endpoint.server.server import log_to_terminal
from tests.endpoint.server.test_connection import Door


@pytest.fixture
def put_back() -> Iterator[None]:
    """What is done to logging is undone."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    filters = list(logging.getLogger("uvicorn.error").filters)
    levels = {name: logging.getLogger(name).level for name in ("", "endpoint", "spark_backend", "rdflib.term")}
    yield
    root.handlers[:] = handlers
    logging.getLogger("uvicorn.error").filters[:] = filters
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("put_back")
def test_what_others_wrote_does_nothing_to_a_terminal_and_is_no_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_terminal()
    logging.getLogger("endpoint").warning("http://a/ answers with %s", "500 \x1b[31m\r\x9b\nwarning: all is well")
    told = capsys.readouterr().err
    assert told == "warning: http://a/ answers with 500 \\u001B[31m\\u000D\\u009B\n  warning: all is well\n"


@pytest.mark.usefixtures("put_back")
def test_where_an_error_was_raised_is_shown_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_terminal()
    try:
        raise ValueError("wrong")
    except ValueError:
        logging.getLogger("endpoint").exception("it failed")
    told = capsys.readouterr().err
    assert told.startswith("error: it failed\nTraceback (most recent call last):\n  File ")


@pytest.mark.usefixtures("put_back")
def test_a_request_that_is_no_http_is_no_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not as a server left it that was not ours.
    monkeypatch.setattr(logging.getLogger("uvicorn"), "handlers", [])
    monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
    log_to_terminal()

    async def check() -> None:
        connection, _ = Door().connect()
        connection.data_received(b"nonsense\r\n\r\n")

    asyncio.run(check())
    assert capsys.readouterr().err == ""
    logging.getLogger("uvicorn.error").warning("it is to stop")
    assert capsys.readouterr().err == "warning: it is to stop\n"
