"""Spark itself: Java, the session, the source of due evaluations, the pipeline and what its tasks run."""
