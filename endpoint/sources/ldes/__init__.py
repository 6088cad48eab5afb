"""Linked Data Event Streams as a source (docs/sources.md, "Linked Data Event Streams")."""
