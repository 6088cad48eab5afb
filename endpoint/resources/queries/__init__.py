"""Standing queries and their sinks, as resources and as documents."""
