"""The algebra as SQL."""
