"""What the process that infers answers where it cannot."""

from __future__ import annotations

import errno
import os
import socket
import threading

import pytest

from endpoint.entailment.entailed_graphs import EntailedGraphs
from endpoint.entailment.entailer import serve
from endpoint.processes.frames import Connection, Kind, json_frame


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, Kind.PROBLEM), (errno.EIO, Kind.FAILED)])
def test_a_full_disk_is_told_from_what_nobody_foresaw(number: int, kind: Kind) -> None:
    def make() -> EntailedGraphs:
        raise OSError(number, os.strerror(number))

    ours, theirs = map(Connection, socket.socketpair())
    thread = threading.Thread(target=serve, args=(theirs, make))
    thread.start()
    ours.send(json_frame(Kind.QUESTION, {"graphs": "graphs", "snapshot": "snapshot"}))
    answer = ours.receive(30)
    assert answer.kind is kind
    assert os.strerror(number) in answer.content.decode()
    assert kind is Kind.FAILED or answer.json()["status"] == 507
    thread.join()
    for one in (ours, theirs):
        one.close()
