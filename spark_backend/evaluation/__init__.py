"""Plans are evaluated at instants, in DuckDB; each of these knows those before it (docs/architecture.md).

``prelude`` has what SQL lacks, ``database`` the connection. ``contents`` is what windows hold, ``tables`` keeps it
for all queries that read it, ``interval_tables`` what slides; ``narrowing`` looks first at what is smallest. A
``statement`` answers the queries of a shape in a ``step``. ``evaluator`` does all that, ``process`` does it within a
budget, ``pool`` keeps such processes from one batch to the next.
"""
