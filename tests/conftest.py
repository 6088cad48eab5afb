"""Settings for all tests."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Generator
from typing import TypeGuard

import pytest
from hypothesis import is_hypothesis_test, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# The ordinary run tries the same examples every time: what fails on one machine fails on all.
# HYPOTHESIS_PROFILE=searching looks for new ones. None fails for the time it takes: other work may slow the machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


FEW_CASES, FEW_EXAMPLES = 2, 5
SHARE, FEWEST = 10, 10
"""An ordinary run tries one in so many of the examples that a property asks for, and no fewer than so many."""


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Generator[None, None, None]:
    """No machine loses its power here: what a process wrote is there, also for others and after it is killed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _written)
        yield


def _written(descriptor: int) -> None:
    """Like fsync, OSError where nothing is open as this."""
    os.fstat(descriptor)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--properties",
        action="store_true",
        help=f"the properties alone, with all of their examples: without it, they try one in {SHARE} of them",
    )
    parser.addoption(
        "--few",
        action="store_true",
        help=f"of each test at most {FEW_CASES} cases, and {FEW_EXAMPLES} examples of a property: whether all of it "
        "works under another Python, where the whole runs under one",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: the garbage collector need not look at it, neither meanwhile nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    # What outlives the interpreter DuckDB's binding complains of.
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests (``make test``), what takes longest begins: servers and Spark."""
    if config.getoption("few"):
        _choose(config, items, _few(items))
    elif config.getoption("properties"):
        _choose(config, items, set(filter(_is_property, items)))
    elif settings().derandomize:
        _try_a_share(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("server", "spark")))


def _choose(config: pytest.Config, items: list[pytest.Item], chosen: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _few(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each test some cases, from the first to the last; and its properties try fewer examples."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    for test in {item.obj for item in items if _is_property(item)}:
        _try(test, FEW_EXAMPLES)
    return {
        these[place * (len(these) - 1) // max(1, min(FEW_CASES, len(these)) - 1)]
        for these in cases.values()
        for place in range(min(FEW_CASES, len(these)))
    }


def _try_a_share(items: list[pytest.Item]) -> None:
    """Of the properties that are not long by themselves; one that asks for few examples tries them all."""
    for test in {item.obj for item in items if _is_property(item) and not item.get_closest_marker("long")}:
        _try(test, max(FEWEST, -(-_settings_of(test).max_examples // SHARE)))


def _is_property(item: pytest.Item) -> TypeGuard[pytest.Function]:
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


def _try(test: Callable[..., object], most: int) -> None:
    """Have a property try so many examples at the most."""
    wanted = _settings_of(test)
    if wanted.max_examples > most:
        setattr(test, _SETTINGS, settings(wanted, max_examples=most))


def _settings_of(test: Callable[..., object]) -> settings:
    found: settings | None = getattr(test, _SETTINGS, None)
    return found or settings()


_SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test. Were it to move, more examples would be tried, not fewer."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """What shares a server or a Spark session stays in one process, and otherwise the tests of a file."""
    return _ByWhatIsShared(config, log)


class _ByWhatIsShared(LoadFileScheduling):
    _SHARED = (
        ("tests/spark_backend/spark_sql/",),
        ("tests/docs/test_commands", "tests/docs/examples/test_commands"),
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
