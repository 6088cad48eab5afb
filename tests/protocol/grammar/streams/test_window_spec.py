from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ProtocolError, QuerySemanticError, QuerySyntaxError
from protocol.grammar.streams.window_spec import SpecificationReader
from protocol.grammar.streams.written_windows import (
    WrittenCount,
    WrittenLandmark,
    WrittenNow,
    WrittenSession,
    WrittenTime,
    WrittenWindow,
)
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source
from protocol.time import UNITS, format_instant
from protocol.windows.spec import Report, Strategy, Unit

NEW_YEAR = 1_767_225_600_000
CLOSES = Report(frozenset({Strategy.ON_WINDOW_CLOSE}))


def reader_of(text: str) -> SpecificationReader:
    source = Source(text)
    return SpecificationReader(source, Namespaces(source, None), 0)


def read(text: str) -> WrittenWindow:
    reader = reader_of(text)
    window = reader.window()
    assert reader.offset == len(text)
    return window


@pytest.mark.parametrize(
    ("text", "width", "slide"),
    [
        ("[RANGE 10s STEP 2s]", 10_000, 2_000),
        ("[RANGE PT10S]", 10_000, None),
        ("[range 10 seconds slide 2 seconds]", 10_000, 2_000),
        ("[RANGE 10 SECONDS STEP 5 SECONDS]", 10_000, 5_000),
        ("[RANGE 5 STEP 2]", 5, 2),
        ("[RANGE 5 STEP 7]", 5, 7),
        ("[RANGE 10m TUMBLING]", 600_000, 600_000),
        ("[Range 3 sec Tumbling]", 3_000, 3_000),
        ("[RANGE P1D STEP PT0.5S]", 86_400_000, 500),
        ("[RANGE P1DT1H1M1.5S]", 90_061_500, None),
        ("[RANGE 1w STEP 1D]", 604_800_000, 86_400_000),
        (
            '[RANGE "PT10S"^^xsd:duration STEP "PT1S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>]',
            10_000,
            1_000,
        ),
        ("[\r\n\tRANGE # ] STEP\n 10 # s\n s\n]", 10_000, None),
        ("[RANGE 005s]", 5_000, None),
    ],
)
def test_a_range_and_a_step_are_read_in_every_way_to_write_them(text: str, width: int, slide: int | None) -> None:
    assert read(text) == WrittenTime(width, slide, None, None)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("[RANGE 10s STEP 2s OFFSET 1h]", WrittenTime(10_000, 2_000, offset=3_600_000)),
        ("[range 10s offset 7]", WrittenTime(10_000, offset=7)),
        ("[RANGE 10 OFFSET 5 T0 1 REPORT ON_WINDOW_CLOSE]", WrittenTime(10, None, 1, CLOSES, offset=5)),
        ("[RANGE 10m TUMBLING OFFSET P7D]", WrittenTime(600_000, 600_000, offset=604_800_000)),
        ("[RANGE 10s OFFSET 0s]", WrittenTime(10_000)),
        ("[10s SLIDE 1s OFFSET 5s]", WrittenTime(10_000, 1_000, of_now=True, offset=5_000)),
        ("[FROM NOW - 10m TO NOW - 5m STEP 1m]", WrittenTime(300_000, 60_000, of_now=True, offset=300_000)),
        ("[FROM NOW-10s TO NOW-4s]", WrittenTime(6_000, of_now=True, offset=4_000)),
        ("[FROM NOW - 10s TO NOW - 0s]", WrittenTime(10_000, of_now=True)),
        ("[FROM NOW - 10s TO NOW OFFSET 4s]", WrittenTime(10_000, of_now=True, offset=4_000)),
    ],
)
def test_a_window_that_ends_in_the_past_has_an_offset(text: str, window: WrittenTime) -> None:
    assert read(text) == window


@pytest.mark.parametrize(
    "width", ["60s", "1 MINUTE", "60000", "PT1M", "pt1m", '"PT1M"^^xsd:duration', "'PT60S'", '"1 minute"']
)
@pytest.mark.parametrize("step", ["STEP PT10S", "slide 10s", 'SLIDING "PT10S"^^xsd:dayTimeDuration'])
def test_a_width_without_range_is_a_duration_in_every_way_to_write_it(width: str, step: str) -> None:
    assert read(f"[{width} {step}]") == WrittenTime(60_000, 10_000, of_now=True)


@pytest.mark.parametrize(
    ("width", "slide"),
    [
        ("30 MINUTE", 60_000),
        ("30 # p 1 hour\n minute", 60_000),
        ("500", 1),
        ("500 # days\n", 1),
        ("PT30M", 60_000),
        ("pt1h30m", 60_000),
        ('"P1D"^^xsd:duration', 86_400_000),
        ("' 2 Weeks '", 7 * 86_400_000),
    ],
)
def test_slide_alone_is_by_one_of_the_unit_of_the_range(width: str, slide: int) -> None:
    window = reader_of(f"RANGE {width} SLIDE }}").bare_window()
    assert isinstance(window, WrittenTime)
    assert window.slide == slide


@given(st.integers(1, 10_000), st.sampled_from(sorted(UNITS)), st.booleans(), st.booleans())
def test_every_unit_is_read_with_and_without_space_and_in_any_case(
    count: int, unit: str, space: bool, upper: bool
) -> None:
    written = unit.upper() if upper else unit
    assert read(f"[RANGE {count}{' ' if space else ''}{written} STEP 1]") == WrittenTime(count * UNITS[unit], 1)


@pytest.mark.parametrize(
    ("time", "origin"),
    [
        ("1", 1),
        ("-5000", -5000),
        ("+5000", 5000),
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01T00:00:00", NEW_YEAR),
        ("2026-01-01T01:00:00.250+01:00", NEW_YEAR + 250),
        ('"2026-01-01T00:00:00Z"', NEW_YEAR),
        ("'2026-01-01T00:00:00Z'^^xsd:dateTime", NEW_YEAR),
        ('"2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', NEW_YEAR),
        ('"17"^^xsd:integer', 17),
    ],
)
def test_an_origin_is_an_integer_or_a_date_and_time_quoted_or_bare(time: str, origin: int) -> None:
    assert read(f"[RANGE 10s T0 {time}]").origin == origin
    assert read(f"[RANGE 10s STEP 5s T0 {time} REPORT ON_WINDOW_CLOSE]").origin == origin


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_every_instant_that_can_be_shown_can_be_an_origin(instant: int) -> None:
    assert read(f"[RANGE 10s T0 {format_instant(instant)}]").origin == instant


def test_a_report_is_a_conjunction_of_strategies() -> None:
    everything = read("[RANGE 5 STEP 2 T0 1 REPORT ON_WINDOW_CLOSE non_empty_content ON_CONTENT_CHANGE PERIODIC 10s]")
    assert everything == WrittenTime(5, 2, 1, Report(frozenset(Strategy), 10_000))
    one = read("[RANGE 5 REPORT PERIODIC 2 seconds NON_EMPTY_CONTENT]")
    assert one.report == Report(frozenset({Strategy.PERIODIC, Strategy.NON_EMPTY_CONTENT}), 2_000)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[TRIPLES 10]", WrittenCount(10, Unit.TRIPLES)),
        ("[RANGE TRIPLES 10 STEP 2]", WrittenCount(10, Unit.TRIPLES, 2)),
        ("[triples 0010 step 2 T0 5]", WrittenCount(10, Unit.TRIPLES, 2, 5)),
        (
            "[elements 10 step 2 REPORT ON_CONTENT_CHANGE]",
            WrittenCount(10, Unit.ELEMENTS, 2, None, Report(frozenset({Strategy.ON_CONTENT_CHANGE}))),
        ),
        ("[TRIPLES 10 SLIDING 2]", WrittenCount(10, Unit.TRIPLES, 2)),
        ("[ELEMENTS 10 slide 2]", WrittenCount(10, Unit.ELEMENTS, 2)),
        ("[NOW]", WrittenNow()),
        ("[SESSION 30 seconds]", WrittenSession(30_000)),
        ("[session PT5M T0 7 REPORT ON_WINDOW_CLOSE]", WrittenSession(300_000, 7, CLOSES)),
        ("[now T0 -5 report periodic 1s]", WrittenNow(-5, Report(frozenset({Strategy.PERIODIC}), 1000))),
        ("[LANDMARK]", WrittenLandmark()),
        ("[LANDMARK STEP 5s]", WrittenLandmark(None, 5_000)),
        ("[LANDMARK SLIDE 5s]", WrittenLandmark(None, 5_000)),
        ("[LANDMARK 0 sliding PT5S]", WrittenLandmark(0, 5_000)),
        (
            "[LANDMARK 2026-01-01T00:00:00Z STEP 5s REPORT PERIODIC 5s]",
            WrittenLandmark(NEW_YEAR, 5_000, None, Report(frozenset({Strategy.PERIODIC}), 5_000)),
        ),
        ("[LANDMARK 0 ]", WrittenLandmark(0)),
        ("[LANDMARK T0 7]", WrittenLandmark(None, None, 7)),
        ('[LANDMARK "2026-01-01T00:00:00Z"^^xsd:dateTime T0 7]', WrittenLandmark(NEW_YEAR, None, 7)),
    ],
)
def test_windows_by_count_at_the_instant_and_from_a_landmark_on_are_read(text: str, written: WrittenWindow) -> None:
    assert read(text) == written


@pytest.mark.parametrize("step", ["5 S", "5000", "PT5S", '"PT5S"^^xsd:duration'])
def test_a_window_without_brackets_slides_by_a_duration_in_every_way_to_write_it(step: str) -> None:
    text = f"RANGE 10 S SLIDE {step} WHERE"
    reader = reader_of(text)
    assert reader.bare_window() == WrittenTime(10_000, 5_000)
    assert text[reader.offset :].strip() == "WHERE"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[RANGE ¦0s]", "RANGE 0s lasts no time"),
        ("[RANGE ¦PT0S]", "RANGE PT0S lasts no time"),
        ("[RANGE ¦PT0.0005S]", "lasts no time"),
        ("[RANGE 10s STEP ¦0]", "STEP 0 lasts no time: write at least a millisecond, such as STEP 1s"),
        ("[RANGE 10s SLIDE\n ¦0 ms]", "SLIDE 0ms lasts no time"),
        ("[RANGE 10s REPORT PERIODIC ¦0s]", "PERIODIC 0s lasts no time"),
        ("[RANGE ¦99999999999999999999999999d]", "longer than 1000 years"),
        ("[RANGE ¦" + "9" * 5000 + "]", "longer than 1000 years"),
        ("[RANGE 10s T0 ¦9999999999999999]", "outside the years 1 to 9999"),
        ("[RANGE 10s REPORT PERIODIC 1s ¦PERIODIC 2s]", "write PERIODIC once"),
        ("[TRIPLES ¦0]", "write at least TRIPLES 1"),
        ("[ELEMENTS 5 STEP ¦0]", "write at least STEP 1"),
        ("[TRIPLES ¦1000000001]", "at most 1000000000"),
        ("[TRIPLES ¦" + "9" * 5000 + "]", "at most 1000000000"),
        ("[SESSION ¦0s]", "SESSION 0s lasts no time"),
        ("[SESSION 5s ¦OFFSET 5s]", "OFFSET shifts a time window"),
        ("[TRIPLES 5 ¦OFFSET 5s]", "OFFSET shifts a time window into the past, and no other: write RANGE"),
        ("[NOW ¦OFFSET 5s]", "OFFSET shifts a time window"),
        ("[LANDMARK 0 STEP 1s ¦OFFSET 5s]", "OFFSET shifts a time window"),
        ("[FROM NOW - 10m TO NOW - 5m ¦OFFSET 5s]", "leave OFFSET out"),
        ("[FROM NOW - 10m TO NOW¦ - 10m]", "a window ends after it begins"),
        ("[FROM NOW - ¦0s TO NOW]", "lasts no time"),
        ("[RANGE 10s OFFSET ¦366000d]", "longer than 1000 years"),
        ("[¦LANDMARK 5 REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT]", "a LANDMARK window without STEP never closes"),
    ],
)
def test_what_parses_and_means_nothing_is_a_semantic_error_at_its_place(text: str, said: str) -> None:
    check(text, said, QuerySemanticError)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("¦", "expected a window specification such as [RANGE 10s STEP 5s], found the end of the query"),
        ("¦RANGE 10s]", "expected a window specification"),
        ("[¦]", "expected RANGE, TRIPLES, ELEMENTS, NOW, LANDMARK, SESSION or FROM NOW, found ]"),
        ("[SESSION ¦]", "expected a duration after SESSION"),
        ("[SESSION 5s ¦STEP 5s]", "expected PARTITION BY, T0, REPORT or ]"),
        ("[¦10s]", "expected RANGE before the window's length, or STEP and a duration after it"),
        ("[¦PT10S]", "expected RANGE before the window's length, or STEP and a duration after it"),
        ("[¦PARTITION BY SUBJECT]", "expected RANGE, TRIPLES"),
        ('[¦"10 parsecs" STEP 1s]', "'10 parsecs' is not a duration"),
        ("[¦ALL]", "expected RANGE"),
        ("[RANGE ¦]", "expected a duration after RANGE"),
        ("[RANGE ¦-5s]", "expected a duration"),
        ("[RANGE ¦1.5s]", "a whole number"),
        ("[RANGE ¦P1Y]", "years and months have no fixed length"),
        ("[RANGE ¦PT]", "not a duration"),
        ("[RANGE 10 ¦fortnights]", "fortnights is no unit of time"),
        ("[RANGE 10¦STEP 5]", "STEP is no unit"),
        ('[RANGE ¦"10s"^^xsd:string]', '"10s"^^xsd:string is no xsd:duration'),
        ('[RANGE ¦"10s"^^<urn:duration>]', '"10s"^^<urn:duration> is no xsd:duration, but of <urn:duration>'),
        ('[RANGE "10s"^^¦duration]', "expected a datatype after ^^, found duration"),
        ('[RANGE "10s"^^¦', "expected a datatype after ^^, found the end of the query"),
        ('[RANGE "10s"^^¦x:duration]', "the prefix x: is not declared"),
        ('[RANGE "10s"^^¦<duration>]', "<duration> is relative"),
        ("[RANGE 10s ¦HOPPING 1s]", "expected STEP, SLIDE, SLIDING, TUMBLING, OFFSET, T0, REPORT or ]"),
        ("[RANGE 10s STEP ¦T0 1]", "expected a duration after STEP"),
        ("[RANGE 10s STEP 5s ¦STEP 5s]", "expected OFFSET, T0, REPORT or ]"),
        ("[RANGE 10s OFFSET ¦]", "expected a duration after OFFSET"),
        ("[RANGE 10s OFFSET 5s ¦STEP 5s]", "where the order is STEP, OFFSET, T0, REPORT, found STEP"),
        ("[ELEMENTS 1 STEP 2 ¦s]", "which counts and has no durations, found s"),
        ("[TRIPLES 1 ¦minutes]", "which counts and has no durations, found minutes"),
        ("[RANGE 10s T0 1 ¦OFFSET 5s]", "expected REPORT or ]"),
        ("[RANGE 10s T0 1 ¦STEP 5s]", "where the order is STEP, OFFSET, T0, REPORT"),
        ("[RANGE 10s T0 ¦]", "expected a time"),
        ("[RANGE 10s T0 ¦2026-01-01]", "is not a time"),
        ("[RANGE 10s T0 ¦٣]", "is not a time"),
        ("[RANGE ¦٣s]", "expected a duration after RANGE"),
        ("[RANGE ¦'٣s']", "is not a duration"),
        ("[RANGE 10s T0 ¦2026-13-01T00:00:00Z]", "is not a time"),
        ('[RANGE 10s T0 ¦"1"^^xsd:decimal]', "is no xsd:dateTime"),
        ("[RANGE 10s REPORT ¦]", "ON_CONTENT_CHANGE or PERIODIC <duration> after REPORT"),
        ("[RANGE 10s REPORT ¦ON_CLOSE]", "expected ON_WINDOW_CLOSE"),
        ("[RANGE 10s REPORT ON_WINDOW_CLOSE ¦T0 1]", "found T0"),
        ("[RANGE 10s REPORT PERIODIC¦]", "a duration after PERIODIC"),
        ("[RANGE 10s ¦ON_WINDOW_CLOSE]", "expected STEP"),
        ("[RANGE 10s ¦", "found the end of the query"),
        ("[TRIPLES ¦x]", "a whole number after TRIPLES"),
        ("[NOW ¦STEP 1s]", "expected T0, REPORT or ] in the window specification, found STEP"),
        ("[NOW ¦- 10m]", "where what goes back from now is FROM NOW - 10m TO NOW, found -"),
        ("[NOW¦-5h SLIDE 1h]", "where what goes back from now is FROM NOW - 10m TO NOW, found -5h"),
        ("[TRIPLES 5 ¦HOPPING 1]", "expected STEP, SLIDE, SLIDING, PARTITION BY, WHERE, T0, REPORT or ]"),
        ("[LANDMARK ¦TODAY]", "is not a time"),
        ("[LANDMARK STEP 1s ¦STEP 1s]", "expected T0, REPORT or ]"),
    ],
)
def test_what_is_no_window_specification_is_a_syntax_error_that_says_what_belongs_there(text: str, said: str) -> None:
    check(text, said, QuerySyntaxError)


def check(text: str, said: str, kind: type[ProtocolError]) -> None:
    source = Source(text.replace("¦", ""))
    with pytest.raises(kind) as raised:
        SpecificationReader(source, Namespaces(source, None), 0).window()
    assert said in raised.value.detail
    assert (raised.value.line, raised.value.column) == source.place(text.index("¦"))


@given(st.text(alphabet=st.sampled_from("RANGE 10s[]STPTD#\n\"'^<>-:")) | st.text())
def test_any_characters_in_the_brackets_give_a_window_or_an_error_with_a_place(text: str) -> None:
    error = window = None
    try:
        window = reader_of("[" + text).window()
    except ProtocolError as raised:
        error = raised
    assert window is not None if error is None else error.line is not None and error.column is not None
