"""Continuous queries and those who listen to them: registration, the hub, its channels, result streams."""
