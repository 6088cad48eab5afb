from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endpoint.processes.frames import Frame, FrameDecoder, Kind
from endpoint.readers.errors import ResultTooLarge
from endpoint.readers.writer import CHUNK_BYTES, FIRST_BYTES, FIRST_SECONDS, AnswerWriter


@dataclass
class Output:
    """A writer, what it has sent, and its clock."""

    most: int = 2**40
    now: float = 0.0
    decoder: FrameDecoder = field(default_factory=FrameDecoder)

    def __post_init__(self) -> None:
        self.writer = AnswerWriter(self.decoder.feed, self.most, lambda: self.now)

    def sent(self) -> list[Frame]:
        frames = []
        while (one := self.decoder.next()) is not None:
            frames.append(one)
        return frames


@given(st.lists(st.tuples(st.integers(0, 200_000), st.floats(0, 0.2)), max_size=20))
def test_what_is_written_comes_out_in_order_and_the_end_is_marked(writes: list[tuple[int, float]]) -> None:
    output = Output()
    written = b""
    for number, (size, seconds) in enumerate(writes):
        data = bytes([number]) * size
        assert output.writer.write(data) == size
        written += data
        output.now += seconds
    output.writer.finish()
    frames = output.sent()
    assert b"".join(one.content for one in frames) == written
    assert [one.kind for one in frames] == [Kind.DATA] * (len(frames) - 1) + [Kind.LAST]
    assert all(len(one.content) >= CHUNK_BYTES for one in frames[1:-1])


def test_a_short_answer_is_one_frame() -> None:
    output = Output()
    output.writer.write(b"a" * (FIRST_BYTES - 1))
    assert output.sent() == []
    output.writer.finish()
    assert [one.kind for one in output.sent()] == [Kind.LAST]


def test_a_slow_answer_begins_with_what_there_is() -> None:
    output = Output()
    output.writer.write(b"a")
    output.now += FIRST_SECONDS
    output.writer.write(b"b")
    assert output.sent() == [Frame(Kind.DATA, b"ab")]


def test_an_answer_may_be_as_long_as_the_limit_and_no_longer() -> None:
    output = Output(most=10)
    output.writer.write(b"a" * 10)
    with pytest.raises(ResultTooLarge, match="10 bytes"):
        output.writer.write(b"b")
    assert output.sent() == []
