"""What is looked for in strings is found where the one-shot engine finds it, and mostly without asking it."""

from __future__ import annotations

import pytest

from spark_backend.compiler.sql.expressions.searches import SEARCHES
from spark_backend.compiler.sql.tree.nodes import named
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, evaluated

CONTENT = Content(
    {
        None: r"""
        :a :p "one two", "two"@en, "", "n", "a\nb", "a\\nb", "say \"two\"", "\u00e9t\u00e9", "e\u0301", 12, true, :two .
        :b :q "two", "", "n", "\\n", "\\", "\"", "two"@en, "two"@de, "\u00e9", 1, :two . :c :q "TWO", "one", "e" .
        """
    }
)


@pytest.mark.parametrize("name", SEARCHES)
def test_every_pair_is_as_one_shot(name: str) -> None:
    for text, part in (("?v", "?w"), ("STR(?v)", "STR(?w)"), ("?v", "STR(?w)"), ("?v", "'two'"), ("'one two'", "?w")):
        assert_same_solutions(f"SELECT * {{ ?s :p ?v . ?t :q ?w BIND({name}({text}, {part}) AS ?found) }}", CONTENT)
        assert_same_solutions(f"SELECT * {{ ?s :p ?v . ?t :q ?w FILTER({name}({text}, {part})) }}", CONTENT)
    assert_same_solutions(f"SELECT * {{ ?s :p ?v OPTIONAL {{ ?s :q ?w }} FILTER(!{name}(?v, ?w)) }}", CONTENT)
    assert_same_solutions(f"SELECT * {{ ?s :p ?v OPTIONAL {{ ?t :q ?w FILTER({name}(?v, ?w)) }} }}", CONTENT)
    assert_same_solutions(
        f"SELECT * {{ ?s :p ?v FILTER NOT EXISTS {{ ?t :q ?w FILTER({name}(?v, LCASE(?w))) }} }}", CONTENT
    )


def test_strings_without_escapes_need_no_prelude() -> None:
    plan, _ = evaluated("SELECT * { ?s :p ?v . ?t :q ?w FILTER(CONTAINS(?v, ?w)) }", CONTENT)
    assert "contains(split_part" in named(plan.sql)
