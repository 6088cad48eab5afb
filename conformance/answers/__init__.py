"""Answers of tests: read from files and responses, and compared."""
