"""What a window's WHERE asks of a message, as a plan (docs/model.md, "Predicate windows")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from protocol.errors import ProtocolError, UnsupportedFeature
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.grammar.parser import read_query
from protocol.language import algebra as a
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.windows.spec import CountWindow, NowWindow, StreamWindow
from spark_backend.compiler.plan import Plan, compile_query

_MESSAGES = "urn:x-sparql-streams:messages"


def compile_conditions(windows: Iterable[StreamWindow], functions: PythonFunctions = NO_FUNCTIONS) -> dict[str, Plan]:
    """The plans of what a query's windows ask, by ``CountWindow.where``; ``functions`` are the application's own.

    Raises UnsupportedFeature, at the window's place, for what the compiler refuses.
    """
    plans: dict[str, Plan] = {}
    for member in windows:
        where = member.window.where if isinstance(member.window, CountWindow) else None
        if where is None or where in plans:
            continue
        try:
            plans[where] = compile_condition(where, functions)
        except ProtocolError as error:
            said = f"in the WHERE of a window: {error.detail.partition(' (line ')[0]}"
            place = f"(line {member.line}, column {member.column})"
            raise UnsupportedFeature(f"{said} {place}", line=member.line, column=member.column) from error
    return plans


def compile_condition(text: str, functions: PythonFunctions = NO_FUNCTIONS) -> Plan:
    """The plan of one condition, an ASK over one window, the messages: its instants are the numbers of elements.

    It gives those whose messages match.
    """
    asked = read_query(text)
    assert isinstance(asked.pattern, a.Project)
    pattern = a.Project(a.Graph(a.Constant(f"<{_MESSAGES}>"), asked.pattern.pattern), ())
    messages = StreamWindow("", NowWindow(), _MESSAGES, declared=True)
    query = ContinuousQuery(text, replace(asked, pattern=pattern), Form.ASK, R2S.RSTREAM, (messages,))
    return compile_query(query, base=asked.base, functions=functions)
