"""A statement that is planned once gives what there is each time it is executed."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from spark_backend.evaluation.contents.row_statements import RowStatement

SCHEMA = pa.schema([pa.field("x", pa.int64()), pa.field("y", pa.string())])


def rows(*numbers: int) -> pa.Table:
    return pa.table([pa.array(numbers, pa.int64()), pa.array(map(str, numbers), pa.string())], schema=SCHEMA)


def test_it_reads_the_rows_that_it_is_given_whatever_is_made_in_between() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TEMP TABLE found (x BIGINT, y VARCHAR)")
        insert = "INSERT INTO found SELECT a.x, b.y FROM one a JOIN other b USING (x) LIMIT 3"
        statement = RowStatement(connection, "joined", insert, {"one": SCHEMA, "other": SCHEMA})
        for number, added in enumerate([0, 1, 2, 3, 3]):
            joined = statement.execute([rows(*range(number)), rows(*range(number + 5))])
            assert joined["Count"].tolist() == [added]
            connection.execute("CREATE OR REPLACE TEMP TABLE found AS FROM found WHERE x < 2")
        assert connection.execute("SELECT x, y, count(*) FROM found GROUP BY ALL ORDER BY ALL").fetchall() == [
            (0, "0", 4),
            (1, "1", 3),
        ]
        assert statement.execute([rows(), rows(1)])["Count"].tolist() == [0], "rows are read once"
        statement.drop()
        with pytest.raises(duckdb.Error):
            connection.execute("EXECUTE joined")
        RowStatement(connection, "joined", "SELECT x FROM one", {"one": SCHEMA}).drop()


def test_rows_of_another_schema_are_an_error() -> None:
    with duckdb.connect() as connection:
        statement = RowStatement(connection, "numbers", "SELECT x FROM one", {"one": SCHEMA})
        with pytest.raises(AssertionError, match="planned for"):
            statement.execute([rows(1).select(["y"])])
        assert statement.execute([rows(1, 2)])["x"].tolist() == [1, 2]
