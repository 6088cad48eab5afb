"""Processes that parse: the same statements and errors as in this process, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import psutil
import pytest

from protocol.errors import InvalidMessage, ProtocolError, Unavailable
from protocol.formats.media_types import RdfSyntax
from protocol.formats.reading_time import LONG
from spark_backend.ingest.parsing.documents import IN_PROCESS, WrongDocument
from spark_backend.ingest.parsing.parsers import Parsers
from spark_backend.ingest.terms.quads import Quads
from tests.protocol.formats.scoped_contexts import scoped_contexts

BASE = "http://base/"
PREFIXES = "@prefix : <http://first/> .\n"
STATEMENTS = "".join(f':s{number} :p "{number}" , <o{number}> .\n' for number in range(9_000))


class Clock:
    """Moves when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def parsers(clock: Clock) -> Iterator[Parsers]:
    parsers = Parsers(frozen_after=3.0, clock=clock)
    yield parsers
    parsers.close()


def processes() -> list[psutil.Process]:
    """Those that parse for this process."""
    return [one for one in psutil.Process().children() if "parsing.program" in " ".join(one.cmdline())]


def rows(quads: Quads) -> list[tuple[str | None, ...]]:
    """g, s, p and o of each statement."""
    return list(zip(*(column.to_pylist() for column in quads.columns), strict=True))


def wrong(parser: Parsers, document: str) -> tuple[str, int | None, int | None]:
    with pytest.raises(SyntaxError) as told:
        parser.statements(document.encode(), RdfSyntax.TURTLE, BASE)
    return told.value.msg, told.value.lineno, told.value.offset


@pytest.mark.parametrize("middle", ["", "@prefix : <http://other/> .\n", '<a> :p """ .\n:x\n""" .\n'])
def test_long_documents_say_what_they_say_in_this_process(parsers: Parsers, middle: str) -> None:
    document = f"{PREFIXES}{STATEMENTS}{middle}{STATEMENTS}".encode()
    assert len(document) > 4 * LONG
    expected = IN_PROCESS.statements(document, RdfSyntax.TURTLE, BASE)
    assert rows(parsers.statements(document, RdfSyntax.TURTLE, BASE)) == rows(expected)
    assert processes()


def test_an_error_has_its_place_in_the_whole(parsers: Parsers) -> None:
    for document in (f"{PREFIXES}{STATEMENTS}  :s p .\n", f"{PREFIXES}  :s p .\n{STATEMENTS}"):
        with pytest.raises(SyntaxError) as told:
            IN_PROCESS.statements(document.encode(), RdfSyntax.TURTLE, BASE)
        assert wrong(parsers, document) == (told.value.msg, told.value.lineno, told.value.offset)


def test_of_many_documents_the_first_wrong_one_is_told(parsers: Parsers) -> None:
    documents = [b'{"@id": "http://s%d", "http://p": "o"}' % number for number in range(9_000)]
    quads, counts = parsers.all_statements(documents, RdfSyntax.JSON_LD, BASE)
    expected, _ = IN_PROCESS.all_statements(documents, RdfSyntax.JSON_LD, BASE)
    assert rows(quads) == rows(expected)
    assert counts == [1] * len(documents)
    for number in (8_000, 5):
        documents[number] = b"{"
        with pytest.raises(WrongDocument) as told:
            parsers.all_statements(documents, RdfSyntax.JSON_LD, BASE)
        assert told.value.number == number


def test_an_ended_process_is_replaced(parsers: Parsers) -> None:
    document = (PREFIXES + STATEMENTS).encode()
    expected = rows(parsers.statements(document, RdfSyntax.TURTLE, BASE))
    for process in processes():
        process.kill()
        process.wait()
    assert rows(parsers.statements(document, RdfSyntax.TURTLE, BASE)) == expected


def test_a_process_that_stands_still_is_ended_and_its_request_refused(parsers: Parsers, clock: Clock) -> None:
    document = (PREFIXES + STATEMENTS).encode()
    parsers.statements(document, RdfSyntax.TURTLE, BASE)
    for process in processes():
        os.kill(process.pid, signal.SIGSTOP)
    errors: list[ProtocolError] = []

    def ask() -> None:
        try:
            parsers.statements(document, RdfSyntax.TURTLE, BASE)
        except ProtocolError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive():
        clock.now += 1.0
        parsers.look()
        asking.join(0.01)
    assert [type(error) for error in errors] == [Unavailable]
    assert parsers.statements(document, RdfSyntax.TURTLE, BASE)


def test_what_takes_too_much_processor_time_is_refused_and_the_next_is_parsed() -> None:
    document = scoped_contexts()
    parsers = Parsers(allowed=lambda size: 0.2 if size == len(document) else 60.0)
    try:
        with pytest.raises(InvalidMessage, match="more than 0 s of processor time"):
            parsers.statements(document, RdfSyntax.JSON_LD, BASE)
        with pytest.raises(InvalidMessage, match="processor time"):
            parsers.all_statements([document], RdfSyntax.JSON_LD, BASE)
        turtle = (PREFIXES + STATEMENTS).encode()
        assert len(rows(parsers.statements(turtle, RdfSyntax.TURTLE, BASE))) == STATEMENTS.count("\n") * 2
    finally:
        parsers.close()


def test_after_the_end_nothing_long_is_parsed() -> None:
    parsers = Parsers()
    document = (PREFIXES + STATEMENTS).encode()
    before = len(processes())
    parsers.statements(document, RdfSyntax.TURTLE, BASE)
    assert len(processes()) > before
    parsers.close()
    assert len(processes()) == before
    with pytest.raises(Unavailable):
        parsers.statements(document, RdfSyntax.TURTLE, BASE)
