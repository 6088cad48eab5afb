from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.run import fuzz


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(("backend", "seed"), [("none", 1), ("engine", 2)])
def test_no_request_is_answered_with_a_500_or_ends_anything(backend: str, seed: int, tmp_path: Path) -> None:
    findings = fuzz(backend, 300, seed, tmp_path)
    assert not findings.wrong, findings.report()
    assert findings.statuses[200] > 10
    assert findings.statuses[400] > 10


@pytest.mark.long
@pytest.mark.server
@pytest.mark.parametrize(
    ("backend", "seed", "clients"), [("none", 101, 1), ("engine", 102, 1), ("none", 103, 4), ("engine", 104, 4)]
)
def test_none_of_ten_thousand_requests_is_answered_with_a_500_or_ends_anything(
    backend: str, seed: int, clients: int, tmp_path: Path
) -> None:
    findings = fuzz(backend, 10_000, seed, tmp_path, clients=clients)
    assert not findings.wrong, findings.report()
    assert findings.statuses.total() == 10_000
    assert clients > 1 or findings.digests > 100
