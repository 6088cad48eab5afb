"""Settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# The ordinary run tries the same examples every time: what fails on one machine fails on all.
# HYPOTHESIS_PROFILE=searching looks for new ones. None fails for the time it takes: other work may slow the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests (``make test``), what takes longest begins: servers and Spark."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("server", "spark")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """What shares a server or a Spark session stays in one process, and otherwise the tests of a file."""
    return _ByWhatIsShared(config, log)


class _ByWhatIsShared(LoadFileScheduling):
    _SHARED = (
        ("tests/spark_backend/spark_sql/",),
        ("tests/docs/test_commands",),
        (
            "tests/server/robustness/test_lost_workers",
            "tests/server/test_csrbench",
            "tests/server/test_example_10",
            "tests/server/test_first_light",
            "tests/server/test_plan",
        ),
    )

    def _split_scope(self, nodeid: str) -> str:
        return next((these[0] for these in self._SHARED if nodeid.startswith(these)), nodeid.partition("::")[0])
