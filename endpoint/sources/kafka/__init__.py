"""Kafka: the backend reads it (``protocol.kafka``)."""
