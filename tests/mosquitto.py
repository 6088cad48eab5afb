"""A real broker, mosquitto, that can be stopped and started again with what it had."""

from __future__ import annotations

import getpass
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.free_port import free_port
from tests.started import Broker

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")

needs_mosquitto = pytest.mark.skipif(
    MOSQUITTO is None, reason="mosquitto is not installed: this machine's, not a fault (apt install mosquitto)"
)

_SETTINGS = """\
user {user}
listener {port} 127.0.0.1
persistence true
persistence_location {directory}/
max_queued_messages 0
max_inflight_messages {inflight}
max_qos {qos}
{access}
{further}
"""


class Mosquitto(Broker):
    """``with`` it. ``users``: names and passwords; without, everybody may come. ``further`` lines of its settings."""

    def __init__(
        self,
        directory: Path,
        users: dict[str, str] | None = None,
        inflight: int = 1000,
        qos: int = 2,
        further: Sequence[str] = (),
    ) -> None:
        super().__init__(directory, free_port())
        self.url = f"mqtt://127.0.0.1:{self.port}"
        access = "allow_anonymous true"
        if users is not None:
            passwords = directory / "passwords"
            passwords.write_text("".join(f"{user}:{password}\n" for user, password in users.items()))
            subprocess.run(["mosquitto_passwd", "-U", passwords], check=True)
            access = f"allow_anonymous false\npassword_file {passwords}"
        settings = _SETTINGS.format(
            user=getpass.getuser(),
            port=self.port,
            directory=directory,
            inflight=inflight,
            qos=qos,
            access=access,
            further="\n".join(further),
        )
        (directory / "mosquitto.conf").write_text(settings)

    def start(self) -> None:
        assert MOSQUITTO is not None
        self._run([MOSQUITTO, "-c", str(self._directory / "mosquitto.conf")], 30)

    def stop(self) -> None:
        """It writes down what it has."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None
