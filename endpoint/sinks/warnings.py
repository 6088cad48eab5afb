"""What is known at once to keep a sink from delivering."""

from __future__ import annotations

from endpoint.password import login_warnings
from endpoint.sinks.json_lines_file import JsonLinesFile
from protocol.sinks.settings import SinkSettings


def sink_warnings(settings: SinkSettings) -> list[str]:
    """Why it would fail as things are, a sentence each: that may be put right later. Looks at the disk."""
    if settings.topic is not None:
        return login_warnings(settings.topic)
    if settings.rotation is not None:
        folder = JsonLinesFile(settings.url, settings.format, settings.rotation).path.parent
        if not folder.is_dir():
            return [f"there is no folder {folder}: the sink will be failing until there is"]
    return []
