"""The server's end of one reader process."""

from __future__ import annotations

import asyncio
import socket
import weakref

from endpoint.processes.child import ChildProcess
from endpoint.processes.ending import ended_for_memory, said_of_end
from endpoint.processes.frames import Frame, FrameDecoder, Kind
from endpoint.readers.errors import EndpointStopping, QueryMemoryExceeded, ReaderEnded
from endpoint.readers.exchange import Asked
from endpoint.readers.snapshot import Snapshot
from protocol.entailment.regimes import Regime
from protocol.errors import ProtocolError, Unavailable

PROGRAM = "endpoint.readers.reader"
_RECEIVED_BYTES = 256 * 1024
_DOES = "evaluated the query"
_END_SECONDS = 0.1
"""Short, for the event loop waits."""


class ReaderProcess:
    """A running reader. Belongs to the event loop, but for the constructor, ``kill`` and ``reap``, which may block.

    ``snapshots`` are those it may have open, the last one it was told to open at the end; ``copied`` is the last one
    it has copied into memory.
    """

    def __init__(
        self,
        program: str = PROGRAM,
        *,
        memory: int | None = None,
        nice: int = 0,
        functions: str = "",
        rdflib_functions: str = "",
        regime: Regime = Regime.NONE,
    ) -> None:
        """Start the process, which runs ``endpoint.readers.reader``.

        ``memory``: how many bytes there are for its queries (None: any number).
        ``nice``: how far it stands back where others want the processor.
        ``functions`` (``PythonFunctions.to_json``) and ``rdflib_functions`` (``RdflibFunctions.to_json``) are the
        application's own. ``regime``: its snapshots have what follows from each graph under it.
        OSError if that cannot be done.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                ours.setblocking(False)
                said = memory, nice, functions, rdflib_functions, str(regime)
                self._process = ChildProcess(program, "sparql-reader", [theirs], *said)
            except BaseException:
                ours.close()
                raise
        self._socket = ours
        # Also when whoever owns it has forgotten it: the process ends with its connection.
        weakref.finalize(self, ours.close)
        self._memory = memory
        self._decoder = FrameDecoder()
        self._asked = True
        self._stood_still = self._killed = False
        self.snapshots: list[Snapshot] = []
        self.copied: Snapshot | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def idle(self) -> bool:
        """Whether it is ready and every question put to it has been answered to the end, or properly refused."""
        return not self._asked

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def frozen(self) -> bool:
        """Whether it is stopped (SIGSTOP), which it never does by itself."""
        return self._process.stopped

    async def ready(self) -> None:
        """Wait until it is there. Raises ReaderEnded if it ends instead."""
        received = await self.receive()
        assert received.kind is Kind.READY
        self._asked = False

    async def ask(self, asked: Asked) -> None:
        """Put a question; its answer comes by ``receive``. Raises ReaderEnded, QueryMemoryExceeded or Unavailable."""
        self._asked = True
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, asked.encoded())
        except ConnectionError:
            raise self._ended() from None

    async def receive(self) -> Frame:
        """The next frame. Cancelled, it may lose one.

        Raises ReaderEnded, QueryMemoryExceeded or Unavailable when the process has ended.
        """
        loop = asyncio.get_running_loop()
        while (received := self._decoder.next()) is None:
            try:
                data = await loop.sock_recv(self._socket, _RECEIVED_BYTES)
            except ConnectionError:
                data = b""
            if not data:
                raise self._ended()
            self._decoder.feed(data)
        if received.kind in (Kind.LAST, Kind.PROBLEM):
            self._asked = False
        return received

    def _ended(self) -> ProtocolError:
        if self._stood_still:
            return Unavailable("the process that evaluated the query stood still and is replaced: ask again")
        if self._killed:
            return EndpointStopping()
        said = said_of_end(self._process, _DOES, "query", _END_SECONDS)
        exceeded = None if self._memory is None else QueryMemoryExceeded.of(self._memory)
        return ended_for_memory(self._process, _DOES, "ask again", exceeded) or ReaderEnded(said)

    def close(self) -> None:
        """End the process, whatever it is doing, and let go of the socket. In the event loop, if that still runs."""
        self.kill()
        try:
            # A receive that was cancelled takes the socket out of the loop's selector in the loop's next turn.
            asyncio.get_running_loop().call_soon(self._socket.close)
        except RuntimeError:
            self._socket.close()

    def kill(self, *, frozen: bool = False) -> None:
        """End the process at once; whoever waits for its answer gets Unavailable."""
        self._stood_still, self._killed = self._stood_still or frozen, True
        self._process.kill()

    def reap(self) -> None:
        """Wait until the process has ended and is no zombie any more."""
        self._process.wait()
