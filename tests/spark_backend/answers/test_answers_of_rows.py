"""Rows of a statement as answers."""

from __future__ import annotations

import pyarrow as pa

from spark_backend.answers.answers_of_rows import answers_of_rows
from spark_backend.compiler.plan import compile_query
from tests.spark_backend.compiler.one_shot import INSTANT, Content, continuous


def test_a_template_without_variables_is_there_for_each_solution() -> None:
    content = Content({None: ""})
    plan = compile_query(continuous("CONSTRUCT {:a :b :c} WHERE {}", content))
    rows = pa.table({"instant": pa.array([INSTANT], pa.int64()), "member": pa.array([0], pa.int32())})
    ((answer,),) = answers_of_rows([plan], [INSTANT], rows)
    assert answer.triples == ["<http://ex/a> <http://ex/b> <http://ex/c> ."]
