from __future__ import annotations

import os
from pathlib import Path

import pytest

from endpoint.logins.password import LoginFailed, login_warnings, password_of
from protocol.login import Login, TlsFiles


def login(file: Path | None = None, variable: str | None = None) -> Login:
    path = None if file is None else str(file)
    return Login("me", path, variable)


def test_a_password_is_a_line_of_a_file_or_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes("geheim ü\r\n".encode())
    assert password_of(login(file)) == "geheim ü"
    assert password_of(login(variable="SPARQL_STREAMS_SECRET_A"), {"SPARQL_STREAMS_SECRET_A": "b"}) == "b"
    assert password_of(login()) is None


@pytest.mark.parametrize("content", [b"", b"\n", b"account:x\nother:y\n", b"\xff", b"a" * 2000])
def test_no_other_file_is_taken_for_one_and_nothing_of_it_is_said(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    with pytest.raises(LoginFailed, match="passwordFile") as caught:
        password_of(login(file))
    assert "account" not in caught.value.detail


@pytest.mark.parametrize("between", ["\0", "\r", "\x1b", "\x7f", "\x85", "\u2028", "\u2029"])
def test_a_password_with_a_control_character_is_refused_and_not_said(between: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(f"hush{between}secret\n".encode())
    environment = {"SPARQL_STREAMS_SECRET_A": f"hush{between}secret"}
    for one in (login(file), login(variable="SPARQL_STREAMS_SECRET_A")):
        with pytest.raises(LoginFailed, match="control character") as caught:
            password_of(one, environment)
        assert "hush" not in caught.value.detail
        assert "secret" not in caught.value.detail


def test_a_variable_has_one_line() -> None:
    for value in ("a\n", "a\nb", "\udcff"):
        with pytest.raises(LoginFailed, match="SPARQL_STREAMS_SECRET_A has a control character or a line break"):
            password_of(login(variable="SPARQL_STREAMS_SECRET_A"), {"SPARQL_STREAMS_SECRET_A": value})


def test_one_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoginFailed, match="cannot be read"):
        password_of(login(tmp_path / "none"))
    with pytest.raises(LoginFailed, match="SPARQL_STREAMS_SECRET_A with the password is not set"):
        password_of(login(variable="SPARQL_STREAMS_SECRET_A"), {})


def test_nobody_waits_for_what_is_no_ordinary_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        warnings = login_warnings(Login("me", str(path), tls=TlsFiles(str(path))))
        said = "cannot be read: it is no ordinary file"
        assert warnings == [f"passwordFile {path} {said}", f"the file {path} of tls {said}"]
