from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from protocol.kafka import KafkaCluster, KafkaFailed
from spark_backend.kafka.topics import Topic, Topics, start_of

TOPICS = {"t": Topic("first", {0: 0, 1: 5, 2: 0}, {0: 10, 1: 10, 2: 10})}


def test_without_positions_a_topic_is_read_from_what_it_still_has() -> None:
    start = start_of(TOPICS, {})
    assert start.offsets == {"t": {0: 0, 1: 5, 2: 0}}
    assert start.identities == {"t": b"first"}
    assert start.notices == []


def test_reading_goes_on_at_the_positions_and_a_new_partition_is_read_from_its_beginning() -> None:
    start = start_of(TOPICS, {"t": b"first", "t/0": b"10", "t/1": b"7"})
    assert start.offsets == {"t": {0: 10, 1: 7, 2: 0}}
    assert start.notices == []


def test_what_the_broker_has_dropped_is_said() -> None:
    start = start_of(TOPICS, {"t": b"first", "t/1": b"3"})
    assert start.offsets["t"][1] == 5
    assert start.notices == ["t/1: the broker has dropped the messages 3 to 4"]


def test_what_the_broker_has_lost_is_said_and_nothing_is_read_again() -> None:
    start = start_of(TOPICS, {"t": b"first", "t/2": b"12"})
    assert start.offsets["t"][2] == 10
    assert start.notices == ["t/2: the broker has lost messages, the last it has is 9, and 11 was read"]


def test_a_topic_that_was_made_anew_is_read_from_its_beginning() -> None:
    start = start_of(TOPICS, {"t": b"before", "t/0": b"7", "t/1": b"7", "t/2": b"7"})
    assert start.offsets == {"t": {0: 0, 1: 5, 2: 0}}
    assert start.identities == {"t": b"first"}
    assert start.notices == ["the topic t was made anew: it is read from its beginning"]


def topics(**answers: MagicMock) -> Topics:
    """Those of a cluster that describes each so."""
    jvm: Any = MagicMock()
    jvm.org.apache.kafka.clients.admin.Admin.create().describeTopics().topicNameValues.return_value = answers
    return Topics(jvm, KafkaCluster("h:1"), list(answers))


def described(identity: str) -> MagicMock:
    answer = MagicMock()
    answer.get().topicId().toString.return_value = identity
    return answer


def test_a_topic_that_took_the_name_of_another_is_told_apart_from_it() -> None:
    asked = topics(a=described("first"), b=described("second"))
    asked.require({"a": b"first", "b": b"second"})
    with pytest.raises(KafkaFailed, match=r"\Akafka://h:1: the topic b was made anew while it was read\Z"):
        asked.require({"a": b"first", "b": b"before"})


def test_the_topic_that_is_not_there_is_named() -> None:
    absent = MagicMock()
    absent.get.side_effect = RuntimeError("This server does not host this topic-partition.")
    with pytest.raises(KafkaFailed, match=r"\Akafka://h:1, topic b: This server does not host"):
        topics(a=described("first"), b=absent).read()
