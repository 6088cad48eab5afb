"""Settings for all tests."""

from __future__ import annotations

import os
from collections import defaultdict

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# The ordinary run tries the same examples every time: what fails on one machine fails on all.
# HYPOTHESIS_PROFILE=searching looks for new ones. None fails for the time it takes: other work may slow the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


FEW_CASES, FEW_EXAMPLES = 4, 10


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--few",
        action="store_true",
        help=f"of each test at most {FEW_CASES} cases, and {FEW_EXAMPLES} examples of a property: whether all of it "
        "works under another Python, where the whole runs under one",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests (``make test``), what takes longest begins: servers and Spark."""
    if config.getoption("few"):
        chosen = _few(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("server", "spark")))


def _few(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each test some cases, from the first to the last; and its properties try fewer examples."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
        wanted = getattr(getattr(item, "obj", None), _SETTINGS, None)
        if wanted is not None and wanted.max_examples > FEW_EXAMPLES:
            setattr(item.obj, _SETTINGS, settings(wanted, max_examples=FEW_EXAMPLES))  # type: ignore[attr-defined]
    return {
        these[place * (len(these) - 1) // max(1, min(FEW_CASES, len(these)) - 1)]
        for these in cases.values()
        for place in range(min(FEW_CASES, len(these)))
    }


_SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test. Were it to move, more examples would be tried, not fewer."""


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
            "tests/server/test_services",
        ),
    )

    def _split_scope(self, nodeid: str) -> str:
        return next((these[0] for these in self._SHARED if nodeid.startswith(these)), nodeid.partition("::")[0])
