from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from endpoint.backend import Backend, Notice
from endpoint.late_backend import LateBackend
from protocol.errors import StorageFull, Unavailable
from protocol.streams import StreamSettings
from tests.endpoint.fake_backend import FakeBackend


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


@pytest.mark.parametrize("failure", [None, OSError("the disk is full"), StorageFull("the disk is full")])
def test_a_change_of_the_store_while_it_is_built_is_told_it_once_it_is_there(
    failure: OSError | StorageFull | None, caplog: pytest.LogCaptureFixture
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


class Panic(BaseException):
    """As pyoxigraph's is."""


@pytest.mark.parametrize("failure", [OSError("the disk is full"), Panic("the disk is full")])
def test_a_backend_that_cannot_be_built_is_said_to_have_failed(failure: BaseException) -> None:
    def make() -> Backend:
        raise failure

    late = LateBackend(make)
    late.start()
    with pytest.raises(Unavailable, match="the disk is full"):
        late.queries()
    assert late.health().state == "failed"
    assert "the disk is full" in late.health().detail
    late.stop()


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
