from __future__ import annotations

import pytest

from protocol.time import parse_duration, parse_instant


@pytest.mark.parametrize("zone", ["+14:01", "-14:01", "+24:00", "+99:99", "+01:60", "-00:99"])
def test_zones_are_those_that_there_are(zone: str) -> None:
    """XSD 1.1 Part 2, 3.3.7: 14 hours at most, and minutes up to 59."""
    with pytest.raises(ValueError, match="is not a time"):
        parse_instant(f"2020-01-01T00:00:00{zone}")


@pytest.mark.parametrize(("zone", "minutes"), [("+14:00", 840), ("-14:00", -840), ("+13:59", 839), ("-00:30", -30)])
def test_the_widest_zones_are_read(zone: str, minutes: int) -> None:
    assert parse_instant(f"2020-01-01T00:00:00{zone}") == parse_instant("2020-01-01T00:00:00Z") - minutes * 60_000


@pytest.mark.parametrize(
    "text",
    ["9223372036854775808-01-01T00:00:00Z", f"{'9' * 5000}-01-01T00:00:00Z", "9" * 5000, "10000-01-01T00:00:00Z"],
)
def test_a_year_or_a_number_beyond_all_computers_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_instant(text)


@pytest.mark.parametrize("text", ["9" * 5000, f"PT{'9' * 5000}S", f"{'9' * 5000}s"])
def test_a_number_of_thousands_of_digits_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["٣", "-３", "२०२६-01-01T00:00:00Z", "2026-01-01T00:00:0٣Z", "2026-01-01T00:00:00.٣Z"])
def test_a_time_has_digits_of_ascii(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_instant(text)


@pytest.mark.parametrize("text", ["٣", "３s", "٣ minutes", "PT٣S", "PT1.٣S", "P٣D", "PT3ſ"])
def test_a_duration_has_digits_and_letters_of_ascii(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_a_no_break_space_is_white_space_in_a_duration() -> None:
    assert parse_duration("\u00a010\u00a0seconds ") == 10_000
