"""Server-Sent Events as a source (docs/sources.md, "Server-Sent Events")."""
