"""How sources and sinks log in where they go (docs/sources.md, docs/sinks.md)."""
