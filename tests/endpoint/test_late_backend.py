from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from endpoint.backend import Backend, Notice
from endpoint.late_backend import LateBackend
from protocol.errors import StorageFull, Unavailable
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend


class Panic(BaseException):
    """As pyoxigraph's is."""


def gated(backend: FakeBackend) -> tuple[Callable[[], Backend], threading.Event]:
    gate = threading.Event()

    def make() -> Backend:
        assert gate.wait(10)
        return backend

    return make, gate


def test_before_it_is_built_it_is_starting_and_changes_of_the_store_do_not_wait() -> None:
    backend = FakeBackend()
    make, gate = gated(backend)
    late = LateBackend(make)
    late.start()
    assert late.health().state == "starting"
    late.store_changed()
    assert backend.calls == []
    gate.set()
    late.streams()
    late.store_changed()
    assert late.health().state == "running"
    assert backend.calls == ["start", "store_changed", "streams", "store_changed"]
    late.stop()


@pytest.mark.parametrize(
    "failure", [None, OSError("the disk is full"), StorageFull("the disk is full"), Panic("the disk is full")]
)
def test_a_change_of_the_store_while_it_is_built_is_told_it_once_it_is_there(
    failure: BaseException | None, caplog: pytest.LogCaptureFixture
) -> None:
    backend = FakeBackend()
    if failure is not None:
        backend.failures["store_changed"] = failure

    def make() -> Backend:
        # What standing queries read of the graphs was read by now.
        late.store_changed()
        return backend

    late = LateBackend(make)
    late.start()
    assert late.streams() == []
    assert backend.calls == ["start", "store_changed", "streams"]
    assert late.health().state == "running"
    assert not caplog.messages
    late.stop()


def test_a_backend_whose_store_has_not_changed_is_told_nothing() -> None:
    backend = FakeBackend()
    late = LateBackend(lambda: backend)
    late.start()
    late.streams()
    assert backend.calls == ["start", "streams"]
    late.stop()


def test_what_needs_the_backend_waits_for_it() -> None:
    backend = FakeBackend()
    make, gate = gated(backend)
    late = LateBackend(make)
    heard: list[Notice] = []
    late.listen(heard.extend)
    late.start()
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(late.create_stream("s", StreamSettings("http://ex/s"))))
    waiting.start()
    assert answers == []
    gate.set()
    waiting.join(10)
    assert answers == [True]
    backend.evaluate("q", 1, b"{}")
    assert len(heard) == 2
    late.stop()
    assert backend.calls[-1] == "stop"


def failing(*failures: BaseException, then: Backend) -> Callable[[], Backend]:
    """Makes a backend, after so many failures."""
    left = iter(failures)

    def make() -> Backend:
        if (failure := next(left, None)) is not None:
            raise failure
        return then

    return make


@pytest.mark.parametrize("failure", [OSError("the disk is full"), Panic("the disk is full")])
def test_a_backend_that_cannot_be_built_is_said_to_have_failed_and_tried_again(failure: BaseException) -> None:
    backend = FakeBackend()
    paused, again = threading.Event(), threading.Event()
    pauses: list[float] = []

    def pause(stopping: threading.Event, seconds: float) -> bool:
        pauses.append(seconds)
        if len(pauses) == 2:
            paused.set()
            assert again.wait(10)
        return stopping.is_set()

    late = LateBackend(failing(failure, failure, then=backend), pause=pause)
    late.start()
    with pytest.raises(Unavailable, match="the disk is full"):
        late.queries()
    assert paused.wait(10)
    assert late.health().state == "failed"
    assert "tried again" in late.health().detail
    assert "the disk is full" in late.health().detail
    assert backend.calls == []
    assert 0 < pauses[0] <= 0.5 < 2 * pauses[1] <= 2
    again.set()
    assert late._thread is not None
    late._thread.join(10)
    assert late.health().state == "running"
    assert late.queries() == []
    late.stop()
    assert backend.calls == ["start", "queries", "stop"]


def test_one_that_cannot_be_started_is_stopped_before_it_is_tried_again() -> None:
    backend = FakeBackend()
    starts = iter([RuntimeError("can't start new thread")])
    started = backend.start

    def start() -> None:
        started()
        if (failure := next(starts, None)) is not None:
            raise failure

    backend.start = start  # type: ignore[method-assign]
    late = LateBackend(lambda: backend, pause=lambda stopping, seconds: stopping.is_set())
    late.start()
    assert late._thread is not None
    late._thread.join(10)
    assert backend.calls == ["start", "stop", "start"]
    late.stop()


def test_it_is_stopped_between_two_attempts() -> None:
    make = failing(OSError("the disk is full"), then=FakeBackend())
    late = LateBackend(make, pause=lambda stopping, seconds: stopping.wait())
    late.start()
    with pytest.raises(Unavailable, match="the disk is full"):
        late.streams()
    late.stop()
    assert late._thread is not None
    assert not late._thread.is_alive()
    assert late.health().state == "failed"


def test_stopped_while_being_built_it_is_stopped_once_built() -> None:
    backend = FakeBackend()
    make, gate = gated(backend)
    late = LateBackend(make)
    late.start()
    stopping = threading.Thread(target=late.stop)
    stopping.start()
    gate.set()
    stopping.join(10)
    assert backend.calls[-1] == "stop"
    with pytest.raises(Unavailable):
        late.streams()


def test_it_has_every_method_of_the_interface() -> None:
    methods = {name for name in vars(Backend) if not name.startswith("_")}
    assert methods <= set(vars(LateBackend))
    backend: Backend = LateBackend(FakeBackend)
    with pytest.raises(Unavailable, match="not been started"):
        backend.streams()
