"""The productions of queries over streams: their clauses, windows, event patterns and facts (docs/language.md)."""
