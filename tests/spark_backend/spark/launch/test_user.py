"""What Java is told of a user whom the system has no name for."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from spark_backend.spark.launch.user import home_options, is_nameless, name_user


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    def getpwuid(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", getpwuid)


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pwd, "getpwuid", lambda number: pwd.struct_passwd(("me", "x", number, 0, "", "/home/me", "sh")))


@pytest.mark.usefixtures("nameless")
@pytest.mark.parametrize(
    ("home", "at_home"), [("/home/of its own", "/home/of its own"), ("/", "/"), ("", "/"), ("x", "/")]
)
def test_a_nameless_user_is_at_home_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, home: str, at_home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    assert is_nameless()
    assert home_options() == (f"-Duser.home={Path(at_home)}",)


@pytest.mark.usefixtures("nameless")
def test_a_nameless_user_has_the_number_for_a_name() -> None:
    jvm = MagicMock()
    name_user(jvm)
    users = jvm.org.apache.hadoop.security.UserGroupInformation
    users.createRemoteUser.assert_called_once_with(str(os.geteuid()))
    users.setLoginUser.assert_called_once_with(users.createRemoteUser.return_value)


@pytest.mark.usefixtures("named")
def test_of_a_user_with_a_name_java_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/elsewhere")
    jvm = MagicMock()
    name_user(jvm)
    assert (is_nameless(), home_options(), jvm.mock_calls) == (False, (), [])
