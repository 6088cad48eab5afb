"""Settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# The ordinary run tries the same examples every time: what fails on one machine fails on all.
# HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests (``make test``): what starts Spark or a server stays in one of them.

    These tests share a server and a session, and take longest: they begin. The others stay together by files.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return

    def is_long(item: pytest.Item) -> bool:
        return any(item.get_closest_marker(name) for name in ("spark", "server"))

    items.sort(key=lambda item: not is_long(item))
    for item in items:
        item.add_marker(pytest.mark.xdist_group("processes" if is_long(item) else item.nodeid.partition("::")[0]))
