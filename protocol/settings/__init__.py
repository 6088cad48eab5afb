"""What clients set of streams and sources: JSON, checked member by member."""
