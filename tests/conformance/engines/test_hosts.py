from __future__ import annotations

import pytest

from conformance.engines import hosts


def test_without_waitress_the_flask_host_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "find_spec", lambda name: None)
    with pytest.raises(OSError, match=r"waitress.*sparql-streams\[conformance\]"), hosts.running_endpoint("flask", ()):
        pass
