"""``python -m endpoint.cli``."""

from __future__ import annotations

from endpoint.cli.commands import main

main(prog_name="sparql-streams")
