"""Windows and evaluation instants as pure functions (RSP-QL; docs/model.md, "Windows")."""
