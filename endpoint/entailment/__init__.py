"""What follows from the store's graphs under an entailment regime: a second store beside it, made in a process."""
