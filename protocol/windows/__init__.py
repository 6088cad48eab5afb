"""Windows and evaluation instants as pure functions (RSP-QL; contract section 2)."""
