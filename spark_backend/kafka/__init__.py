"""Kafka, by Spark's own connector: a streaming query of its own for each source, a producer in the JVM for each sink.

``connector`` brings the connector to a session that runs, ``properties`` says how its clients reach a cluster,
``topics`` asks where topics begin and end. ``parsing`` is what tasks do with what they read, ``feed`` hands that over.
``writer`` is a producer.
"""
