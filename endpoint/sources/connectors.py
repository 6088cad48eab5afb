"""The connection of each type of source."""

from __future__ import annotations

from collections.abc import Mapping

from endpoint.sources.connection import Connect
from endpoint.sources.files.connection import FileConnection
from protocol.sources import SourceType

CONNECTORS: Mapping[SourceType, Connect] = {
    SourceType.FILE: FileConnection,
}
