"""A WebSocket as a source (docs/sources.md, "WebSocket")."""
