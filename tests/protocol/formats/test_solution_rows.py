"""What other endpoints answer, as rows of terms."""

from __future__ import annotations

import pytest

from protocol.formats.solution_rows import solution_rows

ROW = '{"x":{"type":"uri","value":"http://e/ü"}}'


@pytest.mark.parametrize(
    "document",
    [
        f'{{"head":{{"vars":["x","y"]}},"results":{{"bindings":[{ROW}]}}}}',
        f'{{"results":{{"bindings":[{ROW}]}},"head":{{"vars":["y","x"],"link":[]}}}}',
        f'{{"head":{{"vars":["x","y"]}},"results":{{"distinct":false,"ordered":true,"bindings":[{ROW}]}}}}',
        f'{{"head":{{"vars":["x","y"]}},"results":{{"bindings":[{ROW}],"distinct":false}}}}',
        f'{{"head":{{"vars":["x","y"]}},"results":{{"bindings":[{ROW}]}},"evaluation":{{"time":[1, null]}}}}',
    ],
)
def test_members_that_the_standard_does_not_have_are_passed_over(document: str) -> None:
    assert solution_rows(document.encode(), ["x", "y"]) == [("<http://e/ü>", None)]


@pytest.mark.parametrize("more", ["", ',"metadata":{"httpRequests":1}'])
def test_an_answer_without_variables_may_say_nothing_of_them(more: str) -> None:
    assert solution_rows(f'{{"head":{{}},"results":{{"bindings":[{{}},{{}}]}}{more}}}'.encode(), []) == [(), ()]


@pytest.mark.parametrize(
    "document",
    [
        '{"head":{},"boolean":true}',
        '{"head":{},"boolean":true,"more":1}',
        f'{{"head":{{"vars":["x"]}},"results":{{"bindings":[{ROW}]}},"more":',
        '{"head":{"vars":["x"]},"results":{"bindings":[{"x":{"type":"uri"}}]},"more":1}',
        '{"head":{"vars":["x"]},"results":7,"more":1}',
        f'{{"head":["vars"],"results":{{"bindings":[{ROW}]}}}}',
        f'{{"head":7,"results":{{"bindings":[{ROW}]}}}}',
        "[]",
    ],
)
def test_what_is_no_answer_to_a_select_is_an_error(document: str) -> None:
    with pytest.raises(SyntaxError):
        solution_rows(document.encode(), ["x"])
