"""Streams as resources, described and read."""
