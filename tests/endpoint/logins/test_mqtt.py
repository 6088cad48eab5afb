from __future__ import annotations

import shutil
import subprocess
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


@pytest.mark.skipif(shutil.which("openssl") is None, reason="this machine has no openssl to make a key with")
def test_nobody_is_asked_for_the_password_of_a_key(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = f"req -x509 -newkey rsa:2048 -passout pass:hush -days 2 -subj /CN=a -keyout {key} -out {certificate}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    login = Login(tls=TlsFiles(None, str(certificate), str(key)))
    with pytest.raises(LoginFailed, match="the files of tls cannot be used: the key is encrypted"):
        set_login(Client(CallbackAPIVersion.VERSION2), "mqtts://a", login)
