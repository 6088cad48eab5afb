"""Spark itself: how it is started, the source of due evaluations, the pipeline and what its tasks run."""
