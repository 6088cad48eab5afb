"""Answers that leave their tasks by a connection: what the server receives, and when a task may end."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from protocol.errors import Unavailable
from spark_backend.answers.answer import Answer, Answers
from spark_backend.spark import reception
from spark_backend.spark.reception import Part, Reception, send
from spark_backend.spark.task import ANSWER_SCHEMA, answer_batch


def answer(instant: int, *solutions: str) -> Answer:
    return Answer(instant, "\n".join(solutions).encode())


class Receiver:
    """Keeps what it is given, or raises ``problem``."""

    def __init__(self) -> None:
        self.batches: list[Answers] = []
        self.problem: BaseException | None = None

    def receive(self, answers: Answers) -> None:
        if self.problem is not None:
            raise self.problem
        self.batches.append(answers)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def listening(receiver: Receiver) -> Iterator[Reception]:
    listening = Reception(receiver.receive)
    listening.start()
    yield listening
    listening.stop()
    reception._connections.clear()


def test_a_batch_is_received_when_all_of_its_parts_are_there(listening: Reception, receiver: Receiver) -> None:
    late, early = [("q", answer(3)), ("q", answer(4))], [("q", answer(1, "{}")), ("p", answer(2))]
    send(listening.way, Part("batch", 1, 3), [late])
    send(listening.way, Part("batch", 2, 3), [])
    assert receiver.batches == []
    send(listening.way, Part("batch", 0, 3), [early[:1], early[1:]])
    assert receiver.batches == [[("p", answer(2)), ("q", answer(1, "{}")), ("q", answer(3)), ("q", answer(4))]]


def test_an_empty_batch_is_received_too(listening: Reception, receiver: Receiver) -> None:
    send(listening.way, Part("batch", 0, 1), [])
    assert receiver.batches == [[]]


def test_everything_of_an_answer_arrives(listening: Reception, receiver: Receiver) -> None:
    whole = replace(answer(1, "{}"), triples=["<s> <p> <o> ."], deferred="q.json", stopped=True, quiet=True, read=7)
    failed = replace(whole, error="no", matches=["1 2"], seconds=0.5)
    send(listening.way, Part("batch", 0, 1), [[("a", whole), ("b", failed)]])
    assert [vars(one) for _, one in receiver.batches[0]] == [vars(whole), vars(failed)]


def test_a_part_that_comes_for_a_second_time_is_one_part(listening: Reception, receiver: Receiver) -> None:
    for _ in range(2):
        send(listening.way, Part("batch", 0, 2), [[("q", answer(1))]])
    assert receiver.batches == []
    send(listening.way, Part("batch", 1, 2), [[("q", answer(2))]])
    assert receiver.batches == [[("q", answer(1)), ("q", answer(2))]]


class Panicking(BaseException):
    """As pyoxigraph's is."""


@pytest.mark.parametrize("problem", [Unavailable("the disk is full"), Panicking("out of bounds")])
def test_what_cannot_be_received_fails_the_task_that_comes_again(
    listening: Reception, receiver: Receiver, problem: BaseException
) -> None:
    send(listening.way, Part("batch", 0, 2), [[("q", answer(1))]])
    receiver.problem = problem
    with pytest.raises(Unavailable, match=str(problem)):
        send(listening.way, Part("batch", 1, 2), [[("q", answer(2))]])
    receiver.problem = None
    send(listening.way, Part("batch", 1, 2), [[("q", answer(2))]])
    assert receiver.batches == [[("q", answer(1)), ("q", answer(2))]]


def test_a_batch_that_failed_is_forgotten_with_the_next_one(listening: Reception, receiver: Receiver) -> None:
    send(listening.way, Part("failed", 0, 2), [[("q", answer(1))]])
    send(listening.way, Part("again", 0, 1), [[("q", answer(1))]])
    send(listening.way, Part("failed", 1, 2), [[("q", answer(2))]])
    assert receiver.batches == [[("q", answer(1))]]


def test_a_part_that_breaks_off_is_not_there(listening: Reception, receiver: Receiver) -> None:
    def broken() -> Iterator[Answers]:
        yield [("q", answer(1))]
        raise ValueError("the task is interrupted")

    with pytest.raises(ValueError, match="interrupted"):
        send(listening.way, Part("batch", 0, 1), broken())
    assert receiver.batches == []
    send(listening.way, Part("batch", 0, 1), [[("q", answer(1))]])
    assert receiver.batches == [[("q", answer(1))]]


def test_nobody_without_the_key_is_listened_to(listening: Reception, receiver: Receiver) -> None:
    stranger = replace(listening.way, key=bytes(len(listening.way.key)))
    with pytest.raises((EOFError, ConnectionError)):
        send(stranger, Part("batch", 0, 1), [[("q", answer(1))]])
    with socket.create_connection(("127.0.0.1", listening.way.port)) as silent:
        silent.sendall(pickle.dumps(Part("batch", 0, 1)))
        silent.shutdown(socket.SHUT_WR)
        assert silent.recv(1) == b""
    assert receiver.batches == []


def test_what_never_listened_can_be_stopped(receiver: Receiver) -> None:
    stopped = Reception(receiver.receive)
    stopped.stop()
    with pytest.raises(ConnectionError):
        send(stopped.way, Part("batch", 0, 1), [])


def test_what_a_cluster_collects_is_of_the_type_that_spark_asks_of_a_source() -> None:
    """Spark compares them to the letter."""
    types: dict[str, DataType] = {
        "string": StringType(),
        "binary": BinaryType(),
        "bigint": LongType(),
        "double": DoubleType(),
        "boolean": BooleanType(),
        "array<string>": ArrayType(StringType()),
    }
    columns = [column.split() for column in ANSWER_SCHEMA.split(", ")]
    schema = StructType([StructField(name, types[kind]) for name, kind in columns])
    assert to_arrow_schema(schema, timezone="UTC").equals(answer_batch([("q", answer(1, "{}"))]).schema)
