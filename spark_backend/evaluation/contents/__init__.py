"""What windows hold at instants, as rows of a log: sets of triples, occurrences, the last of each key, sessions."""
