from __future__ import annotations

import pytest

from protocol.time import parse_duration, parse_instant


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
