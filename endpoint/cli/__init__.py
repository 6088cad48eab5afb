"""The command ``sparql-streams`` (docs/command-line.md)."""

from __future__ import annotations

from endpoint.cli.commands import main

__all__ = ["main"]
