"""Languages and formats of sparql-streams, and nothing that runs.

The query model and grammar, windows and evaluation instants as pure functions, request and result
formats, Server-Sent Events framing, errors. Imports no web framework and no Spark.
"""
