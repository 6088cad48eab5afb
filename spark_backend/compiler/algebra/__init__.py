"""SPARQL algebra as plain values, and what can be told of them without SQL."""
