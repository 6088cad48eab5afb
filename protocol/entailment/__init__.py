"""Entailment regimes: which there are, their rules as data, and the closure of graphs under them."""
