"""The interoperability tests of *RDF Messages* (W3C RSP CG), for each format in text that they apply to.

What is tested is restated here in our words: what a log holds, and where one is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import InvalidMessage
from protocol.formats.media_types import RdfSyntax
from protocol.messages.body_type import BodyType, Grouping
from protocol.messages.division import divide, join
from protocol.messages.jelly_frames import write_frames
from protocol.messages.message import Message
from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest import bodies, marked_bodies, statement_lines, statements
from spark_backend.ingest.bodies import read_statements
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.parsing.documents import IN_PROCESS, WrongDocument
from spark_backend.ingest.parsing.parsers import Parsers

STREAM = StreamSettings("http://ex/stream", time=TimeKind.ARRIVAL)
EVENT = StreamSettings("http://ex/stream", time=TimeKind.EVENT)
NT, NQ, TTL, TRIG = RdfSyntax.N_TRIPLES, RdfSyntax.N_QUADS, RdfSyntax.TURTLE, RdfSyntax.TRIG
ALL, GROUPED, QUADS = [NT, NQ, TTL, TRIG], [TTL, TRIG], [NQ, TRIG]
VERSION = 'VERSION "1.2-messages"'
XSD = "http://www.w3.org/2001/XMLSchema#"
A, B = "<http://ex/a> <http://ex/p> <http://ex/o> .", "<http://ex/b> <http://ex/p> <http://ex/o> ."

Quad = tuple[str | None, str, str, str]


@pytest.fixture(autouse=True, scope="module", params=[0, statement_lines.SHORT], ids=["by lines", "by the parser"])
def _way_of_reading(request: pytest.FixtureRequest) -> Iterator[None]:
    """Short bodies go to the parser, but their lines can be read as those of long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement_lines, "SHORT", request.param)
        yield


def messages(text: str, syntax: str, parameters: str = "") -> list[list[Quad]]:
    """The quads of every message of a body, as terms in N-Triples: g, s, p, o."""
    batch = read_elements(text.encode(), f"{syntax}{parameters}", settings=STREAM, at=None, blank_scope="r1")
    found: dict[int, list[Quad]] = {}
    for row in batch.to_pylist():
        quads = found.setdefault(row["element"], [])
        if row["s"] is not None:
            quads.append((row["g"], row["s"], row["p"], row["o"]))
    return list(found.values())


def subjects(text: str, syntax: RdfSyntax, parameters: str = "") -> list[list[str]]:
    return [
        [s.removeprefix("<http://ex/")[:-1] for _, s, _, _ in quads] for quads in messages(text, syntax, parameters)
    ]


def refused(text: str, syntax: RdfSyntax, parameters: str = "") -> InvalidMessage:
    with pytest.raises(InvalidMessage) as raised:
        messages(text, syntax, parameters)
    return raised.value


def log(*lines: str) -> str:
    return "".join(f"{line}\n" for line in (VERSION, *lines))


# By their numbers


@pytest.mark.parametrize("syntax", ALL)
def test_1_one_statement_is_one_message(syntax: RdfSyntax) -> None:
    assert subjects(log(A), syntax) == [["a"]]


@pytest.mark.parametrize("syntax", ALL)
def test_2_message_divides(syntax: RdfSyntax) -> None:
    assert subjects(log(A, "MESSAGE", B), syntax) == [["a"], ["b"]]


@pytest.mark.parametrize("syntax", GROUPED)
def test_3_at_message_divides(syntax: RdfSyntax) -> None:
    assert subjects(log(A, "@message .", B), syntax) == [["a"], ["b"]]


@pytest.mark.parametrize("syntax", ALL)
def test_4_a_delimiter_at_the_beginning_makes_an_empty_message(syntax: RdfSyntax) -> None:
    assert subjects(log("MESSAGE", A), syntax) == [[], ["a"]]


@pytest.mark.parametrize("syntax", ALL)
def test_5_two_delimiters_in_a_row_make_an_empty_message(syntax: RdfSyntax) -> None:
    assert subjects(log(A, "MESSAGE", "MESSAGE", B), syntax) == [["a"], [], ["b"]]


@pytest.mark.parametrize("syntax", ALL)
def test_6_a_delimiter_at_the_end_makes_none(syntax: RdfSyntax) -> None:
    assert subjects(log(A, "MESSAGE"), syntax) == [["a"]]


@pytest.mark.parametrize(
    ("syntax", "first", "second"),
    [
        (NQ, A[:-1] + "<http://ex/g> .", B[:-1] + "<http://ex/h> ."),
        (TRIG, f"<http://ex/g> {{ {A} }}", f"GRAPH <http://ex/h> {{ {B} }}"),
    ],
)
def test_7_names_of_graphs_are_kept(syntax: RdfSyntax, first: str, second: str) -> None:
    found = messages(log(first, "MESSAGE", second), syntax)
    assert [[quad[0] for quad in quads] for quads in found] == [["<http://ex/g>"], ["<http://ex/h>"]]


@pytest.mark.parametrize(("syntax", "graph"), [(NQ, B[:-1] + "<http://ex/g> ."), (TRIG, f"<http://ex/g> {{ {B} }}")])
def test_8_default_and_named_graph_are_in_one_message(syntax: RdfSyntax, graph: str) -> None:
    (found,) = messages(log(A, graph), syntax)
    assert [quad[0] for quad in found] == [None, "<http://ex/g>"]


@pytest.mark.parametrize("syntax", ALL)
def test_9_a_blank_node_is_another_in_another_message(syntax: RdfSyntax) -> None:
    line = "_:b0 <http://ex/p> _:b0 ."
    [[first], [second]] = messages(log(line, "MESSAGE", line), syntax)
    assert first[1] == first[3] != second[1] == second[3]


@pytest.mark.parametrize("again", ["PREFIX ex: <http://ex/b/>", "@prefix ex: <http://ex/b/> ."])
@pytest.mark.parametrize("syntax", GROUPED)
def test_10_a_prefix_said_again_holds_from_there_on(syntax: RdfSyntax, again: str) -> None:
    text = log(
        "PREFIX ex: <http://ex/a/>", "ex:1 ex:p 1 .", "MESSAGE", again, "ex:2 ex:p 1 .", "MESSAGE", "ex:3 ex:p 1 ."
    )
    assert subjects(text, syntax) == [["a/1"], ["b/2"], ["b/3"]]


def test_11_a_delimiter_may_follow_a_graph_block() -> None:
    for between in ("\n", ""):
        assert subjects(log(f"<http://ex/g> {{ {A} }}{between}MESSAGE", B), TRIG) == [["a"], ["b"]]


@pytest.mark.parametrize("syntax", ALL)
def test_s_what_is_written_and_read_again_is_the_same(syntax: RdfSyntax) -> None:
    graph = {NQ: B[:-1] + "<http://ex/g> .", TRIG: f"<http://ex/g> {{ {B} }}"}.get(syntax, B)
    written = join([Message(A.encode()), Message(b""), Message(graph.encode())])
    found = messages(written.decode(), syntax)
    assert [[s for _, s, _, _ in quads] for quads in found] == [["<http://ex/a>"], [], ["<http://ex/b>"]]
    assert found[2][0][0] == ("<http://ex/g>" if syntax in QUADS else None)


@pytest.mark.parametrize("delimiter", ["MESSAGE", "@message ."])
@pytest.mark.parametrize("syntax", ALL)
def test_e1_a_delimiter_without_the_label_is_an_error(syntax: RdfSyntax, delimiter: str) -> None:
    raised = refused(f"{A}\n  {delimiter}\n{B}\n", syntax)
    assert (raised.line, raised.column) == (2, 3)
    assert "version=1.2-messages" in raised.detail


@pytest.mark.parametrize("syntax", ALL)
def test_e2_at_message_needs_its_full_stop(syntax: RdfSyntax) -> None:
    raised = refused(log(A, "@message", B), syntax)
    assert (raised.line, raised.column) == (3, 1)
    assert ("full stop" if syntax in GROUPED else "on a line of its own") in raised.detail


@pytest.mark.parametrize("block", ["<http://ex/g> {", "GRAPH <http://ex/g> {", "{"])
@pytest.mark.parametrize("delimiter", ["MESSAGE", "@message ."])
def test_e3_a_delimiter_inside_a_graph_block_is_an_error(block: str, delimiter: str) -> None:
    raised = refused(log(B, "MESSAGE", f"{block} {A} {delimiter} {B} }}"), TRIG)
    assert (raised.line, raised.column) == (4, len(f"{block} {A} ") + 1)
    assert raised.extra == {"message": 2}


# How it is announced, and written


@pytest.mark.parametrize("label", ["1.2-messages", "1.2-basic-messages", "1.1-messages"])
@pytest.mark.parametrize("syntax", ALL)
def test_the_media_type_announces_messages_too(syntax: RdfSyntax, label: str) -> None:
    assert subjects(f"{A}\nMESSAGE\n{B}\n", syntax, f"; version={label}") == [["a"], ["b"]]
    assert subjects(f'VERSION "{label}"\n{A}\nMESSAGE\n{B}\n', syntax) == [["a"], ["b"]]


@pytest.mark.parametrize("announced", ["@version '1.2-messages' .", 'version "1.2-messages"'])
def test_turtle_may_announce_behind_its_prefixes(announced: str) -> None:
    text = f"# a log\nPREFIX : <http://ex/>\n{announced}\n:a :p 1 . message :b :p 2 . Message\n:c :p 3 .\n"
    assert subjects(text, TTL) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("syntax", ALL)
def test_a_version_without_messages_is_one_message(syntax: RdfSyntax) -> None:
    assert subjects(f'VERSION "1.2"\n{A}\n{B}\n', syntax) == [["a", "b"]]
    assert "version=1.2-messages" in refused(f'VERSION "1.2"\n{A}\nMESSAGE\n{B}\n', syntax).detail


@pytest.mark.parametrize("syntax", ALL)
def test_logs_one_behind_the_other_are_a_log(syntax: RdfSyntax) -> None:
    assert subjects(log(A, "MESSAGE") + log(B, "MESSAGE"), syntax) == [["a"], ["b"]]


@pytest.mark.parametrize("syntax", ALL)
def test_a_log_may_hold_nothing(syntax: RdfSyntax) -> None:
    assert messages(log(), syntax) == []
    assert messages(log("MESSAGE"), syntax) == [[]]


@pytest.mark.parametrize("syntax", ALL)
def test_the_text_and_the_older_parameter_contradict_each_other(syntax: RdfSyntax) -> None:
    assert "leave one out" in refused(log(A), syntax, "; messages=rdfm").detail


@pytest.mark.parametrize("syntax", ALL)
def test_the_older_markers_are_comments_here(syntax: RdfSyntax) -> None:
    assert subjects(log(A, "# @message", B, " MESSAGE # one more", A), syntax) == [["a", "b"], ["a"]]


def test_a_word_in_a_name_a_string_or_a_comment_is_no_delimiter() -> None:
    text = log(
        "PREFIX MESSAGE: <http://ex/> PREFIX : <http://ex/>",
        'MESSAGE:a :MESSAGE "MESSAGE" , "x"@message , """',
        "MESSAGE",
        '""" . # MESSAGE',
        "_:MESSAGE :p.MESSAGE :MESSAGE-1 .",
    )
    assert [len(quads) for quads in messages(text, TTL)] == [4]
    assert [len(quads) for quads in messages(text.replace('"""\nMESSAGE\n"""', '"m"'), TTL)] == [4]


@pytest.mark.parametrize(
    "statement",
    [
        ":s :p MESSAGE", ":s MESSAGE :o .", ":s :p :o ; MESSAGE", ":s :p :o , MESSAGE .", ":s :p ( MESSAGE ) .",
        ":s :p [ MESSAGE ] .", ":s :p 'x'^^MESSAGE .", "PREFIX x: MESSAGE", "BASE MESSAGE", "[ :p 1 ] MESSAGE",
        ":s :p\n@message\n. :o .",
    ],
)  # fmt: skip
@pytest.mark.parametrize("syntax", GROUPED)
def test_a_delimiter_inside_a_statement_is_an_error_at_its_place(syntax: RdfSyntax, statement: str) -> None:
    if "[ :p 1 ]" in statement:
        statement += " :p 2 ."
    before = "PREFIX : <http://ex/> :s :p 'é' . MESSAGE "
    raised = refused(log(before + statement), syntax)
    text = before + statement
    line = text[: text.index("essage" if "@" in statement else "MESSAGE", len(before))].splitlines()
    assert (raised.line, raised.extra) == (1 + len(line), {"message": 2})
    assert "MESSAGE" in raised.detail or "delimiter" in raised.detail


@pytest.mark.parametrize("syntax", ALL)
def test_an_error_behind_delimiters_is_where_the_body_has_it(syntax: RdfSyntax) -> None:
    raised = refused(log(A, "MESSAGE", B, "MESSAGE", "<http://ex/é> <http://ex/p> nothing ."), syntax)
    assert (raised.line, raised.column, raised.extra) == (6, 29, {"message": 3})


def test_an_error_behind_a_delimiter_of_its_line_has_its_column() -> None:
    raised = refused(log(A, "@message . <http://ex/é> <http://ex/p> nothing ."), TTL)
    assert (raised.line, raised.column, raised.extra) == (3, 40, {"message": 2})


@pytest.mark.parametrize("syntax", ALL)
def test_a_message_that_cannot_be_taken_is_told_by_its_line(syntax: RdfSyntax) -> None:
    timed = f'<http://ex/a> <http://www.w3.org/ns/sosa/resultTime> "1970-01-01T00:00:01Z"^^<{XSD}dateTime> .'
    with pytest.raises(InvalidMessage) as raised:
        read_elements(log(timed, "MESSAGE", "MESSAGE", A).encode(), syntax, settings=EVENT, at=None)
    assert (raised.value.line, raised.value.extra) == (5, {"message": 3})


@pytest.mark.parametrize("syntax", QUADS)
@pytest.mark.parametrize("many", [0, 60])
def test_an_empty_message_has_the_time_of_the_one_before(syntax: RdfSyntax, many: int) -> None:
    timed = f'<http://ex/a> <http://www.w3.org/ns/sosa/resultTime> "5"^^<{XSD}integer> .'
    generated = "<http://www.w3.org/ns/prov#generatedAtTime>"
    graphs = [f'<http://ex/{g}> {generated} "{time}"^^<{XSD}integer> .' for g, time in (("g", 8), ("h", 7))]
    named = [f"<http://ex/{g}> {{ {A} }}" if syntax is TRIG else f"{A[:-1]} <http://ex/{g}> ." for g in "gh"]
    text = log(timed, "MESSAGE", "MESSAGE", *graphs, *named, *["MESSAGE"] * (many + 2))
    batch = read_elements(text.encode(), syntax, settings=EVENT, at=None)
    times = dict(zip(*(batch.column(name).to_pylist() for name in ("element", "time")), strict=True))
    assert list(times.values()) == [5, 5, 7, 8, *[8] * (many + 1)]


def test_an_empty_message_with_none_before_it_has_no_time() -> None:
    with pytest.raises(InvalidMessage, match="empty") as raised:
        read_elements(log("MESSAGE").encode(), NT, settings=EVENT, at=None)
    assert raised.value.extra == {"message": 1}


# Jelly and lines of JSON-LD


JELLY = "application/x-jelly-rdf"
QUAD = ox.Quad(*(ox.NamedNode(f"http://ex/{name}") for name in "apo"))


def test_a_frame_of_jelly_is_a_message() -> None:
    blank = ox.Quad(ox.BlankNode("b"), QUAD.predicate, ox.BlankNode("b"), ox.NamedNode("http://ex/g"))
    frames = b"".join(write_frames([[QUAD], [], [blank], [blank]]))
    batch = read_elements(frames, JELLY, settings=STREAM, at=None, blank_scope="r1")
    one, empty, second, third = batch.to_pylist()
    assert (one["s"], one["o"], one["g"], empty["s"]) == ("<http://ex/a>", "<http://ex/o>", None, None)
    assert second["g"] == "<http://ex/g>"
    assert second["s"] == second["o"] != third["s"] == third["o"]


def test_an_error_in_a_frame_says_which() -> None:
    frames = list(write_frames([[QUAD], [], [QUAD, ox.Quad(ox.NamedNode("http://ex/b"), QUAD.predicate, QUAD.object)]]))
    frames[2] = frames[2].replace(b"b", b" ")
    with pytest.raises(InvalidMessage, match=r"message 3: .*not an IRI") as raised:
        read_elements(b"".join(frames), JELLY, settings=STREAM, at=None, blank_scope="r1")
    assert (raised.value.line, raised.value.extra) == (None, {"message": 3})
    with pytest.raises(InvalidMessage, match="message 1: no timestamp found"):
        read_elements(frames[0], JELLY, settings=EVENT, at=None)


def test_long_jelly_is_read_in_a_process_as_it_is_in_this_one() -> None:
    messages = [
        [ox.Quad(ox.NamedNode(f"http://ex/{n}"), QUAD.predicate, ox.Literal(str(n)))] * (n % 3) for n in range(2000)
    ]
    frames = b"".join(write_frames(messages))
    parsers = Parsers()
    try:
        quads, counts = parsers.frames(frames)
        assert counts == [n % 3 for n in range(2000)]
        assert [column.to_pylist() for column in quads.columns] == [
            column.to_pylist() for column in IN_PROCESS.frames(frames)[0].columns
        ]
        with pytest.raises(WrongDocument) as raised:
            parsers.frames(frames[:-1])
        assert raised.value.number == 0
    finally:
        parsers.close()


def test_lines_of_json_ld_have_contexts_and_may_say_nothing() -> None:
    lines = [
        '{"@id": "http://ex/a", "p": 1}',
        '{"@context": {"p": "http://ex/p"}}',
        '{"@id": "http://ex/b", "p": 2}',
        "{}",
    ]
    lines += ['{"@context": {"p": "http://ex/q"}}', '{"@id": "http://ex/c", "p": 3}']
    for media_type in ("application/x-ndjson", "application/x-ld+ndjson"):
        batch = read_elements("\n".join(lines).encode(), media_type, settings=STREAM, at=None, blank_scope="r1")
        found = [(row["element"], row["s"], row["p"]) for row in batch.to_pylist()]
        assert found == [
            (0, None, None), (1, "<http://ex/b>", "<http://ex/p>"), (2, None, None), (3, "<http://ex/c>", "<http://ex/q>"),
        ]  # fmt: skip


# Any log

_IRIS = st.sampled_from(["http://ex/a", "http://ex/MESSAGE", "http://ex/message"]).map(ox.NamedNode)
_TEXTS = st.text(alphabet=st.sampled_from("MESAGmesag@.# \n\r\t\"'\\<>{}é"), max_size=12) | st.sampled_from(
    ["MESSAGE", "\nMESSAGE\n", "@message .", 'VERSION "1.2-messages"', "# @message"]
)
_OBJECTS = _IRIS | _TEXTS.map(ox.Literal) | _TEXTS.map(lambda text: ox.Literal(text, language="message"))
_LOGS = st.lists(st.lists(st.tuples(_IRIS, _OBJECTS, st.none() | _IRIS), max_size=3), max_size=6)


def canonical(quads: list[tuple[ox.NamedNode, ox.Literal | ox.NamedNode, ox.NamedNode | None]]) -> set[Quad]:
    return {(None if g is None else str(g), str(s), "<http://ex/p>", str(o)) for s, o, g in quads}


@settings(max_examples=60, deadline=None)
@given(said=_LOGS, size=st.integers(min_value=1, max_value=4), syntax=st.sampled_from(ALL))
def test_any_log_is_the_same_after_it_was_written_divided_and_read(
    said: list[list[tuple[ox.NamedNode, ox.Literal | ox.NamedNode, ox.NamedNode | None]]], size: int, syntax: RdfSyntax
) -> None:
    if syntax not in QUADS:
        said = [[(s, o, None) for s, o, _ in quads] for quads in said]
    predicate = ox.NamedNode("http://ex/p")
    bodies = []
    for quads in said:
        made = [ox.Quad(s, predicate, o, g or ox.DefaultGraph()) for s, o, g in quads]
        bodies.append(Message(ox.serialize(made, format=syntax.oxigraph) or b""))
    written = join(bodies)
    assert [set(quads) for quads in messages(written.decode(), syntax)] == [canonical(quads) for quads in said]
    divided = list(divide(written.splitlines(keepends=True) if syntax in (NT, NQ) else [written], syntax))
    assert len(divided) == len(said)
    again: list[set[Quad]] = []
    for start in range(0, len(divided), size):
        again += map(set, messages(join(divided[start : start + size]).decode(), syntax))
    assert again == [canonical(quads) for quads in said]


_PIECES = st.sampled_from(
    [
        "MESSAGE", "  MESSAGE # 7", "message\r", "@message .", "# @message", "# a comment", "", "\t", ":s :p 1 .",
        "PREFIX : <http://b/>", "@base <http://c/> .", '<s> <p> """\nMESSAGE\n@prefix : <http://d/> .\n""" .',
        "[] :p :o . # MESSAGE", ":s :p 'MESSAGE' . MESSAGE :s :p 2 .", VERSION,
    ]
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES, max_size=12))
def test_a_body_has_the_messages_that_a_client_divides_it_into(lines: list[str]) -> None:
    text = "\n".join([VERSION, "@prefix : <http://e/> .", *lines])
    whole = read_statements(text.encode(), BodyType(TTL, Grouping.SINGLE), "http://base/")
    apart = [
        len(
            ox.serialize(
                ox.parse(message.alone, ox.RdfFormat.TURTLE, base_iri="http://base/"), format=ox.RdfFormat.N_TRIPLES
            )
            or b""
        )
        > 0
        for message in divide([text.encode()], TTL)
    ]
    assert [count > 0 for count in whole.counts] == apart


@pytest.mark.parametrize(
    ("syntax", "parameters", "first", "between", "last"),
    [
        *[(syntax, "", VERSION, "MESSAGE", A) for syntax in ALL],
        *[(syntax, "; version=1.2-messages", "", "Message # told apart", A) for syntax in ALL],
        *[(syntax, "; messages=rdfm", A, "# @message", "") for syntax in ALL],
        ("application/x-ndjson", "", "", "{}", ""),
    ],
)
def test_a_body_has_so_many_messages_at_the_most(
    monkeypatch: pytest.MonkeyPatch, syntax: str, parameters: str, first: str, between: str, last: str
) -> None:
    for module in (bodies, marked_bodies, statements):
        monkeypatch.setattr(module, "MOST_MESSAGES", 20)
    body = "\n".join([first, *[between] * 19, last, ""])
    assert 19 <= len(messages(body, syntax, parameters)) <= 20
    with pytest.raises(InvalidMessage, match=r"the body has more than 20 messages, .* send them in several"):
        messages(body.replace(between, f"{between}\n{between}\n"), syntax, parameters)


@pytest.mark.parametrize("syntax", GROUPED)
def test_what_is_said_of_messages_in_a_text_divides_none(monkeypatch: pytest.MonkeyPatch, syntax: RdfSyntax) -> None:
    for module in (marked_bodies, statements):
        monkeypatch.setattr(module, "MOST_MESSAGES", 20)
    said = "MESSAGE\n" * 30
    body = f'{VERSION}\n<http://ex/a> <http://ex/p> """{said}""" .\nMESSAGE\n'
    assert len(messages(body, syntax)) == 1
