from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.sinks.template import Template

LITERALS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{room} is {degrees} °C", "hall is 22.5 °C\n"),
        ("{?room}/{$degrees}", "hall/22.5\n"),
        ("{{{room}}}", "{hall}\n"),
        ("{room}{room}{unbound}", "hallhall\n"),
        ("nobody", "nobody\n"),
    ],
)
def test_variables_stand_for_their_values(text: str, line: str) -> None:
    assert Template.of(text).line({"room": "hall", "degrees": "22.5"}) == line


def test_a_value_stays_on_its_line() -> None:
    assert Template.of("{note}!").line({"note": "one\r\ntwo\u2028three"}) == "one two three!\n"


@pytest.mark.parametrize(
    ("text", "said"), [("ab{c", "character 3"), ("a}", "character 2"), ("{}", "{variable}"), ("a\nb", "line break")]
)
def test_what_is_no_template_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Template.of(text)


@given(st.lists(st.tuples(LITERALS, st.sampled_from(["a", "b", "c_1"]))), LITERALS)
def test_what_was_put_together_is_taken_apart(parts: list[tuple[str, str]], end: str) -> None:
    def escaped(text: str) -> str:
        return text.replace("{", "{{").replace("}", "}}")

    text = "".join(f"{escaped(literal)}{{{name}}}" for literal, name in parts) + escaped(end)
    template = Template.of(text)
    assert template.variables == tuple(name for _, name in parts)
    assert template.literals == (*(literal for literal, _ in parts), end)
