"""What comes again is known again, and nothing else is taken for it."""

from __future__ import annotations

from endpoint.sources.mqtt.redelivery import Delivery, Redelivery


def delivery(packet: int, payload: bytes = b"x") -> Delivery:
    return Delivery.of(packet, "t", payload)


def test_what_was_stored_is_known_when_it_comes_again_also_after_a_restart() -> None:
    first = Redelivery({})
    stored = [delivery(1), delivery(2, b"y")]
    positions = first.positions(stored)
    first.stored(stored)
    for redelivery in (first, Redelivery(positions)):
        assert redelivery.is_known(delivery(1), again=True)
        assert redelivery.is_known(delivery(2, b"y"), again=True)
        assert not redelivery.is_known(delivery(1), again=False), "a number that is used again"
        assert not redelivery.is_known(delivery(1, b"z"), again=True), "one that was sent first while nobody listened"
        assert not redelivery.is_known(delivery(3), again=True)


def test_what_the_broker_has_the_word_for_is_forgotten() -> None:
    redelivery = Redelivery({})
    redelivery.stored([delivery(1), delivery(2)])
    redelivery.asked(7)
    redelivery.stored([delivery(3)])
    redelivery.answered(7, [])
    assert not redelivery.is_known(delivery(1), again=True), "another message of the same number and words"
    assert redelivery.is_known(delivery(3), again=True)
    assert redelivery.positions([]) == {"1": b"", "2": b""}, "nothing was stored with it"
    assert redelivery.positions([delivery(2)]) == {"1": b"", "2": delivery(2).digest}
    redelivery.stored([delivery(2)])
    assert redelivery.positions([]) == {}


def test_a_number_that_was_used_again_meanwhile_stays() -> None:
    redelivery = Redelivery({})
    redelivery.stored([delivery(1)])
    redelivery.asked(7)
    redelivery.stored([delivery(1)])
    redelivery.asked(8)
    redelivery.answered(7, [])
    assert redelivery.is_known(delivery(1), again=True)
    redelivery.answered(8, [1])
    assert redelivery.is_known(delivery(1), again=True), "it has arrived once more"
    assert redelivery.positions([]) == {}


def test_of_many_numbers_each_is_not_compared_with_all_others() -> None:
    compared = 0

    class Number(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int.__eq__(self, other)

        __hash__ = int.__hash__

    redelivery = Redelivery({})
    for question in (7, 8):
        redelivery.stored([delivery(Number(1000 * question + number)) for number in range(500)])
        redelivery.asked(question)
    redelivery.answered(7, [])
    assert len(redelivery.positions([])) == 500
    assert compared < 5_000
