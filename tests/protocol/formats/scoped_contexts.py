"""JSON-LD that takes seconds to read, though it is short."""

from __future__ import annotations

import json


def scoped_contexts() -> bytes:
    """A document whose every node has the terms of all contexts copied for it."""
    inner = {f"u{number}": f"http://u/{number}" for number in range(100)}
    context = {f"t{number}": {"@id": f"http://t/{number}", "@context": inner} for number in range(100)}
    nodes = {f"t{number}": [{"u1": 1}] * 20 for number in range(100)}
    return json.dumps({"@context": context, **nodes}).encode()
