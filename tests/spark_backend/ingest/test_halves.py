"""What is wrong is found wherever it stands, and what is right is read in its order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import InvalidMessage, ProtocolError, Unavailable
from spark_backend.ingest.halves import read_by_halves


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_what_is_wrong_is_what_is_wrong_alone(rights: list[bool]) -> None:
    def read(some: Sequence[int]) -> Sequence[int]:
        if not all(rights[number] for number in some):
            raise InvalidMessage(f"{some}")
        return some

    done, wrong = read_by_halves(range(len(rights)), read, InvalidMessage)
    assert [number for some in done for number in some] == [number for number, right in enumerate(rights) if right]
    assert [number for number, _ in wrong] == [number for number, right in enumerate(rights) if not right]
    assert all(error.detail == f"{range(number, number + 1)}" for number, error in wrong)
    assert not all(rights) or len(done) == 1


def test_what_says_nothing_of_them_is_raised() -> None:
    def read(some: Sequence[int]) -> None:
        raise Unavailable("the parser is gone")

    with pytest.raises(Unavailable):
        read_by_halves(range(2), read, ProtocolError)
