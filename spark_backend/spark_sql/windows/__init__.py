"""Windows' contents as Spark SQL sees them: a stream log read by all tasks together."""
