"""The demonstration: this machine's own measurements as a stream, and continuous queries over it."""
