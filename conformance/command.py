"""The command: a run against an endpoint, started here or elsewhere, with its table, its list and its exit code."""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from conformance.engines.baseline import OxigraphEngine
from conformance.engines.endpoints import Endpoint
from conformance.engines.engine import Engine, EngineFailure
from conformance.engines.hosts import WITH_SPARK, running_endpoint
from conformance.engines.http import HttpEngine
from conformance.engines.services import FederatedServices
from conformance.engines.windows import WindowsEngine
from conformance.known import FILE, THROUGH_WINDOWS, Judgement, Known, read_known
from conformance.manifest import ManifestError, Test
from conformance.outcome import Verdict
from conformance.report import Judged, print_table, write_earl
from conformance.rsp import case as rsp
from conformance.rsp.engine import RspEngine
from conformance.run import query_evaluations, run, select, without_http

_SUITE_ADVICE = (
    "clone https://github.com/w3c/rdf-tests and name its directory sparql with --suite-path"
    " (or SPARQL_STREAMS_SUITE_PATH)"
)
_EVERY_ADDRESS = ("*",)


def run_command(
    suites: Sequence[str],
    suite_path: str,
    url: str | None,
    host: str,
    baseline: bool,
    through_windows: bool,
    earl: str | None,
    listing: bool,
    site: str = "auto",
) -> None:
    """See ``conformance.cli``. Ends the process with 1 if the run is not as it should be."""
    root = Path(suite_path)
    try:
        of_windows = rsp.are_meant(suites)
    except ManifestError as error:
        raise click.UsageError(str(error)) from None
    if of_windows and (baseline or through_windows):
        raise click.UsageError(f"{rsp.SUITE} is of continuous queries already, and needs an endpoint")
    if not of_windows and not root.is_dir():
        raise click.UsageError(f"--suite-path: there is no directory {suite_path!r}: {_SUITE_ADVICE}")
    console = Console(highlight=False, soft_wrap=True)
    try:
        if of_windows:
            tests, known = rsp.select_cases(suites), {}
        else:
            tests = select(root, suites)
            known = {} if baseline else read_known(THROUGH_WINDOWS if through_windows else FILE)
            tests = without_http(tests) if baseline else query_evaluations(tests) if through_windows else tests
        with _rsp_engine(url, site) if of_windows else _engine(url, host, baseline, through_windows, site) as engine:
            judged = list(_watched(tests, engine, known))
    except (ManifestError, EngineFailure, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    print_table(judged, console)
    if earl is not None:
        write_earl(judged, Path(earl), dt.datetime.now(dt.UTC))
    if listing:
        _print_known(judged, known, console)
    if baseline:
        return
    bad = [one for one in judged if one.bad]
    for one in bad:
        console.print(f"{one.judgement.value}: {one.outcome.test.directory} <{one.outcome.test.iri}>", markup=False)
        console.print(f"    {one.outcome.error or one.outcome.verdict.value}", markup=False)
    counts = Counter(one.judgement for one in judged)
    console.print(_summary(counts), markup=False)
    if bad:
        sys.exit(1)


@contextmanager
def _engine(url: str | None, host: str, baseline: bool, through_windows: bool, site: str) -> Iterator[Engine]:
    if baseline:
        yield OxigraphEngine()
        return
    if through_windows:
        with (
            FederatedServices() as services,
            _endpoint(url, site, _EVERY_ADDRESS) as endpoint,
            closing(WindowsEngine(endpoint, services=services)) as windows,
        ):
            yield windows
        return
    with FederatedServices() as services:
        if url is not None:
            with closing(HttpEngine(Endpoint(url), services)) as engine:
                yield engine
            return
        # Every address: a SERVICE that is named by a variable is asked under no less. All that the tests name are
        # stand-ins on the loopback interface.
        with (
            running_endpoint(host, _EVERY_ADDRESS) as endpoint,
            closing(HttpEngine(endpoint, services)) as engine,
        ):
            yield engine


@contextmanager
def _rsp_engine(url: str | None, site: str) -> Iterator[Engine]:
    with _endpoint(url, site) as endpoint, closing(RspEngine(endpoint)) as engine:
        yield engine


@contextmanager
def _endpoint(url: str | None, site: str, allowed: Sequence[str] = ()) -> Iterator[Endpoint]:
    if url is not None:
        yield Endpoint(url)
        return
    with running_endpoint(WITH_SPARK, allowed, site) as endpoint:
        yield endpoint


def _watched(tests: Sequence[Test], engine: Engine, known: Mapping[str, Known]) -> Iterator[Judged]:
    """The outcomes as they come, with a bar where a person is looking."""
    terminal = Console(stderr=True)
    outcomes = run(tests, engine, known)
    return iter(
        track(outcomes, "tests", total=len(tests), console=terminal, transient=True, disable=not terminal.is_terminal)
    )


def _print_known(judged: Sequence[Judged], known: Mapping[str, Known], console: Console) -> None:
    for one in judged:
        if one.outcome.verdict is Verdict.STRICT:
            continue
        entry = known.get(one.outcome.test.iri)
        why = f" ({entry.owner.value}) {entry.reason}" if entry is not None else ""
        console.print(f"{one.outcome.verdict.value}: {one.outcome.test.iri}{why}", markup=False)


def _summary(counts: Mapping[Judgement, int]) -> str:
    return ", ".join(f"{counts.get(one, 0)} {one.value}" for one in Judgement)
