"""A package, so that its Spark session ends with its last test."""
