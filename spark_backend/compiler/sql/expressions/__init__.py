"""Expressions and aggregates as SQL (SPARQL 1.1 Query section 17)."""
