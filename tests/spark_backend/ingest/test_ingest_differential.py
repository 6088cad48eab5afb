"""Any body of N-Triples or N-Quads messages, against a slow reader: one parse a message, one term at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import InvalidMessage
from protocol.streams import DEFAULT_TIMESTAMP_PATH, StreamSettings, TimeKind
from protocol.terms import XSD, facets
from spark_backend.ingest import marked_bodies, statement_lines
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.parsing.documents import IN_PROCESS

GENERATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
PATH = [f"<{iri}>" for iri in DEFAULT_TIMESTAMP_PATH]
N_TRIPLES, N_QUADS = "application/n-triples", "application/n-quads"

Element = tuple[int | None, list[tuple[str | None, str, str, str]]]


@pytest.fixture(autouse=True, scope="module", params=[0, statement_lines.SHORT], ids=["by lines", "by the parser"])
def _way_of_reading(request: pytest.FixtureRequest) -> Iterator[None]:
    """Short bodies go to the parser, but their lines can be read as those of long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement_lines, "SHORT", request.param)
        yield


def slow_elements(messages: list[str], format: ox.RdfFormat, kind: TimeKind, at: int | None) -> list[Element]:
    """The elements of messages given one by one, or ValueError. Blank nodes are named message:label."""
    found: list[Element] = []
    for number, message in enumerate(messages):
        quads: list[tuple[str | None, str, str, str]] = []
        for quad in ox.parse(message, format):
            terms = [quad.graph_name, quad.subject, quad.predicate, quad.object]
            g, s, p, o = (
                None
                if isinstance(term, ox.DefaultGraph)
                else f"_:{number}:{term.value}"
                if isinstance(term, ox.BlankNode)
                else str(term)
                for term in terms
            )
            if (g, s, p, o) not in quads:
                quads.append((g, s, p, o))  # type: ignore[arg-type]  # only g may be None
        if not quads and found and kind is TimeKind.EVENT and at is None:
            found.append((found[-1][0], []))
        else:
            found += slow_message(quads, kind if at is None else TimeKind.ARRIVAL)
    return found if at is None else [(at, quads) for _, quads in found]


def slow_time(term: str) -> int | None:
    kind, number = facets(term)
    return int(number // 1) if kind in (1, 6, 7) and number is not None and abs(number) < 10**13 else None


def slow_message(quads: list[tuple[str | None, str, str, str]], kind: TimeKind) -> list[Element]:
    graphs = {g for g, _, _, _ in quads if g is not None}
    stamps = [(s, o) for g, s, p, o in quads if g is None and p == GENERATED and s in graphs]
    if kind is TimeKind.ARRIVAL:
        return [
            (
                None,
                [
                    q
                    for q in quads
                    if not (q[0] is None and q[2] == GENERATED and q[1] in graphs and slow_time(q[3]) is not None)
                ],
            )
        ]
    times: dict[str, int] = {}
    for graph, term in stamps:
        time = slow_time(term)
        if time is None or times.setdefault(graph, time) != time:
            raise ValueError(graph)
    if times:
        ordered = sorted(times, key=times.__getitem__)
        contents: dict[str, list[tuple[str | None, str, str, str]]] = {graph: [] for graph in ordered}
        for g, s, p, o in quads:
            if not (g is None and (s, o) in stamps and p == GENERATED):
                about = s if g is None else g
                contents[about if about in times else ordered[0]].append((g, s, p, o))
        return [(times[graph], contents[graph]) for graph in ordered]
    for predicate in PATH:
        objects = [o for _, _, p, o in quads if p == predicate]
        if objects:
            usable = [time for time in map(slow_time, objects) if time is not None]
            if not usable:
                raise ValueError(objects[0])
            return [(usable[0], quads)]
    raise ValueError("no time")


# Bodies

iris = st.sampled_from(
    ["<http://ex/a>", "<http://ex/b#c>", "<http://ex/\\u00e9>", "<http://ex/é>", "<http://ex/@message>"]
)
blanks = st.sampled_from(["_:b", "_:b0", "_:0", "_:x.y", "_:é-1", "_:B_b"])
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
tricky = st.sampled_from(
    [
        "",
        " .",
        '" .',
        "a <http://ex/g>",
        "_:b",
        "# @message",
        "\n# @message\n",
        "\\",
        '"@en',
        "<<( ",
        "é 😀",
        "\x00\x7f",
    ]
)


@st.composite
def quoted(draw: st.DrawFn) -> str:
    text = draw(st.one_of(strings, tricky))
    escaped = str(ox.Literal(text))
    if draw(st.booleans()):
        escaped = "".join(c if c.isascii() else f"\\U{ord(c):08x}" for c in escaped)
    return escaped


numbers = st.builds(
    lambda lexical, name: f'"{lexical}"^^<{XSD}{name}>',
    st.sampled_from(["1", "01", "-5", "+7", "x", "1.5", "1e3", "INF", "true", "99999999999999999999", " 1"]),
    st.sampled_from(["integer", "int", "decimal", "float", "double", "boolean", "date", "string"]),
)
instants = st.one_of(
    st.integers(-(10**6), 10**6).map(lambda time: f'"{time}"^^<{XSD}integer>'),
    st.sampled_from(["1970-01-01T00:00:00Z", "1969-12-31T23:59:59.9995", "2014-05-22T09:09:04+02:00", "soon"]).map(
        lambda lexical: f'"{lexical}"^^<{XSD}dateTime>'
    ),
)
suffixes = st.sampled_from(["", "@en", "@de-AT", "^^<http://ex/d#x>"])
objects = st.one_of(iris, blanks, numbers, instants, st.builds(str.__add__, quoted(), suffixes))
predicates = st.sampled_from(["<http://ex/p>", "<http://ex/q>", "<http://ex/p>", *PATH])


@st.composite
def statements(draw: st.DrawFn, graphs: bool) -> str:
    predicate = draw(predicates)
    terms = [draw(st.one_of(iris, blanks)), predicate, draw(instants if predicate in PATH else objects)]
    if graphs and draw(st.booleans()):
        terms.append(draw(st.one_of(iris, blanks)))
    space = draw(st.sampled_from([" ", " ", " ", "\t", "  "]))
    return space.join([*terms, "."]) + draw(st.sampled_from(["", "", "", " ", " # remark", " # @message"]))


@st.composite
def stamps(draw: st.DrawFn, graphs: bool) -> list[str]:
    """Statements that give a message its time or times, so that not most bodies are refused."""
    time = st.integers(0, 3).map(lambda milliseconds: f'"{milliseconds}"^^<{XSD}integer>')
    if not graphs or draw(st.booleans()):
        return [f"<http://ex/a> {PATH[0]} {draw(time)} ."]
    named = draw(st.lists(st.sampled_from(["<http://ex/a>", "<http://ex/é>", "_:b", "_:é-1"]), min_size=1, unique=True))
    return [line for g in named for line in (f"{g} {GENERATED} {draw(time)} .", f"{g} <http://ex/p> {g} {g} .")]


@dataclass(frozen=True)
class Body:
    text: str
    messages: list[str]
    format: ox.RdfFormat
    content_type: str


@st.composite
def bodies(draw: st.DrawFn, plain: bool) -> Body:
    """A body and its messages apart. ``plain``: the markers of the usual shape, and nothing but statements."""
    graphs = draw(st.booleans())
    lines = st.lists(statements(graphs), min_size=1 if plain else 0, max_size=5)
    messages = draw(st.lists(lines, min_size=1, max_size=5))
    if draw(st.booleans()):
        messages = [draw(st.permutations([*lines, *draw(stamps(graphs))])) for lines in messages]
    line_end = "\n" if plain else draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    marker = "# @message" if plain else draw(st.sampled_from(["# @message", "#@message", "\t# @message 5"]))
    if not plain:
        filler = st.sampled_from(["", " ", "# remark", "# # @message"])
        messages = [[*lines, *draw(st.lists(filler, max_size=2))] for lines in messages]
    pieces = [[marker, *lines] for lines in messages]
    # A first or last message without statements is one only between markers.
    if not any(line.startswith(("<", "_")) for line in messages[-1]):
        pieces.append([marker])
    elif draw(st.booleans()) and any(line.startswith(("<", "_")) for line in messages[0]):
        pieces[0] = pieces[0][1:]
    text = line_end.join(line for piece in pieces for line in piece) + draw(st.sampled_from(["", line_end]))
    joined = ["\n".join(lines) for lines in messages]
    if graphs:
        return Body(text, joined, ox.RdfFormat.N_QUADS, N_QUADS)
    return Body(text, joined, ox.RdfFormat.N_TRIPLES, N_TRIPLES)


def fast_elements(body: Body, kind: TimeKind, at: int | None) -> list[Element]:
    stream = StreamSettings("http://ex/stream", kind)
    batch = read_elements(
        body.text.encode(), f"{body.content_type}; messages=rdfm", settings=stream, at=at, blank_scope="r1"
    )
    batch.validate(full=True)
    found: list[Element] = []
    for row in batch.to_pylist():
        if row["element"] == len(found):
            found.append((row["time"], []))
        assert row["element"] == len(found) - 1
        assert found[-1][0] == row["time"]
        if row["s"] is None:
            assert found[-1][1] == []
            assert all(row[name] is None for name in "gpokn")
        else:
            assert repr((row["k"], row["n"])) == repr((int(facets(row["o"])[0]), facets(row["o"])[1]))
            found[-1][1].append((row["g"], row["s"], row["p"], row["o"]))
    return found


def assert_same(fast: list[Element], slow: list[Element]) -> None:
    """Equal up to one renaming of blank nodes, the same for all elements and one to one."""
    assert [(time, len(quads)) for time, quads in fast] == [(time, len(quads)) for time, quads in slow]
    names: dict[str, str] = {}
    for (_, left), (_, right) in zip(fast, slow, strict=True):
        for quad, expected in zip(left, right, strict=True):
            for term, other in zip(quad, expected, strict=True):
                if term is not None and term.startswith("_:"):
                    assert other is not None
                    assert other.startswith("_:")
                    assert names.setdefault(term, other) == other
                else:
                    assert term == other
    assert len(set(names.values())) == len(names)


def compare(body: Body, kind: TimeKind, at: int | None) -> None:
    try:
        slow = slow_elements(body.messages, body.format, kind, at)
    except ValueError:
        with pytest.raises(InvalidMessage):
            fast_elements(body, kind, at)
    else:
        assert_same(fast_elements(body, kind, at), slow)


choices = st.sampled_from(
    [(TimeKind.ARRIVAL, None), (TimeKind.EVENT, None), (TimeKind.EVENT, None), (TimeKind.EVENT, 9)]
)


@settings(max_examples=250, deadline=None)
@given(bodies(plain=False), choices)
def test_any_body_reads_as_its_messages_do_one_by_one(body: Body, choice: tuple[TimeKind, int | None]) -> None:
    compare(body, *choice)


@settings(max_examples=250, deadline=None)
@given(bodies(plain=True), choices)
def test_a_plain_body_reads_as_its_messages_do_one_by_one(body: Body, choice: tuple[TimeKind, int | None]) -> None:
    compare(body, *choice)


def test_the_usual_body_takes_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: object) -> None:
        raise AssertionError("the quick way should do")

    monkeypatch.setattr(marked_bodies, "_read_as_one", unexpected)
    statement = "<http://ex/a> <http://ex/p> <http://ex/o> .\n"
    for text in (
        f"# @message\n{statement}{statement}# @message\n{statement}",
        f"{statement}# @message\n{statement[:-1]}",
    ):
        body = Body(text, [], ox.RdfFormat.N_TRIPLES, N_TRIPLES)
        assert len(fast_elements(body, TimeKind.ARRIVAL, None)) == 2


def test_a_long_canonical_body_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*_: object) -> None:
        raise AssertionError("the lines should do")

    monkeypatch.setattr(IN_PROCESS, "statements", unexpected)
    monkeypatch.setattr(marked_bodies, "_read_as_one", unexpected)
    line = '<http://ex/{0}> <http://ex/p> "{0}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    messages = [line.format(number) for number in range(1000)]
    body = Body("".join(f"# @message\n{text}" for text in messages), messages, ox.RdfFormat.N_TRIPLES, N_TRIPLES)
    assert len(body.text) > statement_lines.SHORT
    compare(body, TimeKind.ARRIVAL, None)
