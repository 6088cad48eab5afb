"""How Spark is started and ended: Java, its settings and classes, the session."""
