"""The processes of a server, found while some of them end."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from tests.crash import faults


def test_a_process_that_ends_while_the_others_are_found_is_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as leader:
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        sessions = {leader.pid: leader.pid, ended.pid: leader.pid, os.getpid(): os.getpid()}
        monkeypatch.setattr(psutil, "pids", lambda: list(sessions))
        monkeypatch.setattr(faults, "_session", sessions.get)
        found = {one.pid for one in faults.processes(os.getpid())}
        assert {leader.pid, os.getpid()} <= found
        assert ended.pid not in found
        leader.communicate(b"\n")
