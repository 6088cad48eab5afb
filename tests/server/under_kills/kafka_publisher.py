"""Sends all numbered messages to the partitions of a topic, each until the broker has it:
``python -m tests.server.under_kills.kafka_publisher ADDRESS``.
"""

from __future__ import annotations

import sys

from tests.endpoint.sources.kafka.client import kafka_client
from tests.server.under_kills.messages import MESSAGES, TOPICS, body

with kafka_client(sys.argv[1]) as client:
    for first in range(0, MESSAGES, 400):
        numbers = range(first, min(first + 400, MESSAGES))
        for sent in [client.send("t", body(number).encode(), number % TOPICS) for number in numbers]:
            sent.get()
