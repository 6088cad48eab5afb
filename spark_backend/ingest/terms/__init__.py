"""Columns of terms: texts and facets, lines and quads, and which rows are the same."""
