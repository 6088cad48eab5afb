"""What is known at once to keep a sink from delivering."""

from __future__ import annotations

from endpoint.logins.password import login_warnings
from endpoint.sinks.json_lines_file import JsonLinesFile
from protocol.sinks.settings import SinkSettings


def sink_warnings(settings: SinkSettings) -> list[str]:
    """Why it would fail as things are, a sentence each: that may be put right later. Looks at the disk."""
    if settings.topic is not None:
        return login_warnings(settings.topic.login)
    if settings.rotation is not None:
        path = JsonLinesFile(settings.url, settings.format, settings.rotation).path
        if not path.parent.is_dir():
            return [f"there is no folder {path.parent}: the sink will be failing until there is"]
        if path.exists() and not path.is_file():
            return [f"{path} is there and is no file: the sink will be failing as long as it is"]
    return []
