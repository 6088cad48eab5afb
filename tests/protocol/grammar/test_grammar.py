"""The grammar (docs/language.md, "Grammar"): whatever it derives is read, and means what it was derived from.

Queries are derived production by production, with the model that each part stands for; keywords in any case.
"""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.grammar.parser import parse
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.time import format_instant
from protocol.windows.spec import (
    CountWindow,
    LandmarkWindow,
    NowWindow,
    Report,
    SessionWindow,
    Strategy,
    TimeWindow,
    Unit,
    WindowSpec,
)

UNITS = {
    1: ["", "ms", "millisecond", "milliseconds"],
    1000: ["s", "second", "seconds", "sec"],
    60_000: ["m", "min", "minute", "minutes"],
    3_600_000: ["h", "hour", "hours"],
    86_400_000: ["d", "day", "days"],
    604_800_000: ["w", "week", "weeks"],
}
DURATIONS = {"PT10S": 10_000, "P1D": 86_400_000, "PT0.5S": 500, "PT1H30M": 5_400_000, "P1DT1S": 86_401_000}

Written = tuple[str, WindowSpec]
"""A window's brackets, and what they mean with the defaults of FROM."""


@st.composite
def durations(draw: st.DrawFn) -> tuple[str, int]:
    if draw(st.booleans()):
        text = draw(st.sampled_from(sorted(DURATIONS)))
        return text, DURATIONS[text]
    size = draw(st.sampled_from(sorted(UNITS)))
    unit, count = draw(st.sampled_from(UNITS[size])), draw(st.integers(1, 500))
    space = draw(st.sampled_from(["", " "])) if unit else ""
    return f"{count}{space}{unit}", count * size


@st.composite
def times(draw: st.DrawFn) -> tuple[str, int]:
    time = draw(st.integers(-(10**6), 10**6)) * 1000
    shown = format_instant(time)
    return draw(st.sampled_from([str(time), shown, f'"{shown}"', f'"{shown}"^^xsd:dateTime', shown.rstrip("Z")])), time


@st.composite
def reports(draw: st.DrawFn) -> tuple[str, Report | None]:
    strategies = draw(st.lists(st.sampled_from(list(Strategy)), max_size=3, unique=True))
    if not strategies:
        return "", None
    period, texts = None, []
    for strategy in strategies:
        texts.append(strategy.value)
        if strategy is Strategy.PERIODIC:
            text, period = draw(durations())
            texts.append(text)
    return f" REPORT {' '.join(texts)}", Report(frozenset(strategies), period)


@st.composite
def windows(draw: st.DrawFn) -> Written:
    """WindowSpec."""
    kind = draw(st.sampled_from(["RANGE", "TRIPLES", "ELEMENTS", "NOW", "LANDMARK", "SESSION"]))
    origin_text, origin = draw(st.one_of(st.just(("", None)), times().map(lambda one: (f" T0 {one[0]}", one[1]))))
    report_text, report = draw(reports())
    window: WindowSpec
    if kind == "RANGE":
        text, width = draw(durations())
        slide_text, slide = draw(
            st.one_of(
                st.sampled_from([("", width), (" TUMBLING", width)]),
                st.tuples(st.sampled_from([" STEP ", " SLIDE "]), durations()).map(lambda s: (s[0] + s[1][0], s[1][1])),
            )
        )
        offset_text, offset = draw(st.just(("", 0)) | durations().map(lambda one: (f" OFFSET {one[0]}", one[1])))
        body = f"RANGE {text}{slide_text}{offset_text}"
        window = TimeWindow(width, slide, -width if origin is None else origin, report, offset)
    elif kind in ("TRIPLES", "ELEMENTS"):
        size, step = draw(st.integers(1, 99)), draw(st.none() | st.integers(1, 9))
        prefix = draw(st.sampled_from(["", "RANGE "])) if kind == "TRIPLES" else ""
        body = f"{prefix}{kind} {size}{'' if step is None else f' STEP {step}'}"
        window = CountWindow(size, Unit(kind), step or 1, origin, report)
    elif kind == "SESSION":
        text, gap = draw(durations())
        body, window = f"SESSION {text}", SessionWindow(gap, origin, report)
    elif kind == "NOW":
        body, window = "NOW", NowWindow(origin, report)
    else:
        since_text, since = draw(st.one_of(st.just(("", None)), times().map(lambda one: (f" {one[0]}", one[1]))))
        closes = report is not None and Strategy.ON_WINDOW_CLOSE in report.strategies
        step_text, step = draw(durations() if closes else st.one_of(st.just(("", None)), durations()))
        body = f"LANDMARK{since_text}{f' STEP {step_text}' if step_text else ''}"
        window = LandmarkWindow(since, step, since if origin is None else origin, report)
    return f"[{body}{origin_text}{report_text}]", window


def in_any_case(text: str, seed: int) -> str:
    """Letters outside of IRIs, strings, variables and prefixed names in upper or lower case by chance."""
    chance = random.Random(seed)
    words = text.split(" ")
    return " ".join(
        word
        if any(mark in word for mark in "<:?\"'")
        else "".join(chance.choice([letter.lower(), letter.upper()]) for letter in word)
        for word in words
    )


DEFAULT = Report(frozenset({Strategy.ON_WINDOW_CLOSE, Strategy.NON_EMPTY_CONTENT}))
CHANGE = Report(frozenset({Strategy.ON_CONTENT_CHANGE}))


def reporting(written: list[WindowSpec], every: int | None) -> list[WindowSpec]:
    """The windows with what the defaults and COMPUTED EVERY make of their reports
    (docs/language.md, "Registration").
    """
    if every is not None:
        return [
            replace(w, report=Report((w.report.strategies if w.report else frozenset()) | {Strategy.PERIODIC}, every))
            for w in written
        ]
    changing = [isinstance(w, NowWindow) or (isinstance(w, LandmarkWindow) and w.step is None) for w in written]
    if any(w.report for w in written) or not any(changing):
        return written
    return [replace(w, report=CHANGE if changes else DEFAULT) for w, changes in zip(written, changing, strict=True)]


CLAUSES = ["stream", "named stream", "window", "window on stream"]


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from(CLAUSES), windows()), min_size=1, max_size=3),
    st.sampled_from([None, *R2S]),
    st.sampled_from([None, "QUERY", "STREAM", *R2S]),
    st.none() | durations(),
    st.sampled_from(list(Form)),
    st.integers(),
)
def test_whatever_the_grammar_derives_is_read(
    clauses: list[tuple[str, Written]],
    operator: R2S | None,
    registered: str | None,
    every: tuple[str, int] | None,
    form: Form,
    seed: int,
) -> None:
    computed = every if registered is not None else None
    if computed is not None:  # a PERIODIC of the window's own has another period
        clauses = [(kind, (text, window)) for kind, (text, window) in clauses if "PERIODIC" not in text]
    if not clauses:
        return
    if form not in (Form.SELECT, Form.CONSTRUCT) or registered in tuple(R2S):
        operator = None
    dataset, expected = [], []
    for number, (kind, (text, window)) in enumerate(clauses):
        stream, name = f"<http://ex/s{number}>", f"<http://ex/w{number}>"
        dataset.append(
            {
                "stream": f"FROM STREAM {stream} {text}",
                "named stream": f"FROM NAMED STREAM {stream} {text}",
                "window": f"FROM NAMED WINDOW {name} ON {stream} {text}",
                "window on stream": f"FROM NAMED WINDOW {name} ON STREAM {stream} {text}",
            }[kind]
        )
        graph = {"stream": None, "named stream": stream[1:-1]}.get(kind, name[1:-1])
        expected.append((stream[1:-1], graph, kind != "stream", window))
    head = {"SELECT": "?x", "ASK": "", "CONSTRUCT": "{ ?x <u:p> ?y }", "DESCRIBE": "?x"}[form]
    registration = f"REGISTER {registered} <http://ex/q> " if registered else ""
    if computed:
        registration += f"COMPUTED EVERY {computed[0]} "
    registration += "AS " if registered else ""
    text = f"{registration}{form} {operator or ''} {head} {' '.join(dataset)} WHERE {{ ?x ?p ?y }}"
    query = parse(in_any_case(text, seed))
    assert isinstance(query, ContinuousQuery)
    assert query.form is form
    chosen = operator or (R2S(registered) if registered in tuple(R2S) else R2S.RSTREAM)
    assert query.operator is chosen
    reported = reporting([window for *_, window in expected], computed[1] if computed else None)
    assert [(w.stream, w.graph, w.declared, w.window) for w in query.windows] == [
        (stream, graph, declared, window)
        for (stream, graph, declared, _), window in zip(expected, reported, strict=True)
    ]
    if registered is None:
        assert query.registration is None
    else:
        assert query.registration is not None
        assert (query.registration.kind, query.registration.name) == (registered, "http://ex/q")
        assert query.registration.every == (computed[1] if computed else None)
    assert query.publishes is (registered not in (None, "QUERY") and form in (Form.CONSTRUCT, Form.DESCRIBE))


@settings(max_examples=60)
@given(windows(), st.sampled_from([None, *R2S]), st.integers())
def test_whatever_window_may_stand_in_a_stream_pattern(written: Written, operator: R2S | None, seed: int) -> None:
    text, window = written
    query = parse(
        in_any_case(f"SELECT {operator or ''} ?x WHERE {{ STREAM <http://ex/s> {text} {{ ?x ?p ?y }} }}", seed)
    )
    assert isinstance(query, ContinuousQuery)
    assert query.operator is (operator or R2S.ISTREAM)
    (read,) = query.windows
    if isinstance(window, TimeWindow) and not any(word in text for word in ("STEP", "SLIDE", "TUMBLING")):
        window = replace(window, slide=1)
    if window.report is None:
        stepped = isinstance(window, LandmarkWindow | CountWindow) and "STEP" in text
        window = replace(window, report=None if stepped else CHANGE)
    assert read.window == window
