"""What listens: the ASGI application and everything it serves. ``from endpoint import create_app``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from endpoint.app import create_app as create_app
    from endpoint.settings import Settings as Settings

__all__ = ["Settings", "create_app"]


def __getattr__(name: str) -> Any:
    # The application is imported when asked for: endpoint.backend is imported by processes that serve nothing.
    if name == "create_app":
        from endpoint.app import create_app

        return create_app
    if name == "Settings":
        from endpoint.settings import Settings

        return Settings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
