"""The command ``sparql-streams`` (contract section 6)."""

from __future__ import annotations

from endpoint.cli.commands import main

__all__ = ["main"]
