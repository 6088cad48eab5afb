"""The second site of evaluation: a prepared query as Spark SQL, over tables that all tasks read together.

The same plan as in DuckDB (``spark_backend.evaluation``) and the same answers, for windows that are too large for one
process.
"""
