"""A plan's statement, written for DuckDB, as a program of Spark SQL."""
