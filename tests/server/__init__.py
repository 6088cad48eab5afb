"""A package, so that its server ends with its last test."""
