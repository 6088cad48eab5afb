"""An ASGI application for hosts that have no event loop of their own."""
