from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from endpoint.processes.frames import Frame, FrameDecoder, Kind, frame
from endpoint.readers.exchange import Asked, GraphQuestion, QueryQuestion, Release

frames = st.builds(Frame, st.sampled_from(Kind), st.binary(max_size=300))
texts = st.text()


@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 3000), max_size=20))
def test_frames_arrive_as_they_were_sent_however_the_bytes_are_cut(sent: list[Frame], cuts: list[int]) -> None:
    stream = b"".join(frame(one.kind, one.content) for one in sent)
    decoder, received, start = FrameDecoder(), [], 0
    for end in [*sorted(cut for cut in cuts if cut < len(stream)), len(stream)]:
        decoder.feed(stream[start:end])
        start = end
        while (one := decoder.next()) is not None:
            received.append(one)
    assert received == sent


@given(
    st.one_of(
        st.builds(
            QueryQuestion,
            texts,
            st.none() | texts,
            st.none() | texts,
            st.lists(texts).map(tuple),
            st.lists(texts).map(tuple),
            st.lists(texts).map(tuple),
        ),
        st.builds(GraphQuestion, st.none() | texts, st.none() | texts),
        st.just(Release()),
    ),
    texts,
    st.floats(0, 1e6),
    st.integers(0, 2**53),
)
def test_a_question_arrives_as_it_was_put(question: Any, snapshot: str, seconds: float, most: int) -> None:
    asked = Asked(question, snapshot, seconds, most)
    decoder = FrameDecoder()
    decoder.feed(asked.encoded())
    received = decoder.next()
    assert received is not None
    assert received.kind is Kind.QUESTION
    assert Asked.decoded(received) == asked
