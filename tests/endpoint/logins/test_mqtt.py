from __future__ import annotations

from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from endpoint.logins.mqtt import set_login
from endpoint.logins.password import LoginFailed
from protocol.login import Login, TlsFiles


def test_a_file_of_tls_that_is_not_there_is_named(tmp_path: Path) -> None:
    there, missing = tmp_path / "there.pem", tmp_path / "missing.pem"
    there.write_text("")
    for tls in (
        TlsFiles(str(missing)),
        TlsFiles(str(there), str(missing)),
        TlsFiles(None, str(there), str(missing)),
    ):
        with pytest.raises(LoginFailed, match=f"the file {missing} of tls cannot be read: No such file"):
            set_login(Client(CallbackAPIVersion.VERSION2), "mqtts://a", Login(tls=tls))


def test_a_file_of_tls_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    with pytest.raises(LoginFailed, match="the files of tls cannot be used"):
        set_login(Client(CallbackAPIVersion.VERSION2), "mqtts://a", Login(tls=TlsFiles(str(file))))
