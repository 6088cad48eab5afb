"""Spark SQL as it is written here: types that Spark has, and strings that mean what they meant."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator


class SparkSite(Spark):
    """Spark's dialect, generated from a tree that has been rewritten (``expressions``, ``sets``)."""

    class Generator(SparkGenerator):
        TYPE_MAPPING: ClassVar = {
            **SparkGenerator.TYPE_MAPPING,
            # Kinds are small; sums and products of integers below 2**53 fit in 38 digits.
            exp.DType.UTINYINT: "SMALLINT",
            exp.DType.INT128: "DECIMAL(38, 0)",
        }

        def literal_sql(self, expression: exp.Literal) -> str:
            return string_sql(expression.name) if expression.is_string else str(expression.this)


def string_sql(text: str) -> str:
    """A literal of Spark SQL: a backslash escapes there, and a control character had better not be seen."""
    escaped = "".join(
        f"\\u{ord(character):04X}" if character < " " else f"\\{character}" if character in "\\'" else character
        for character in text
    )
    return f"'{escaped}'"
