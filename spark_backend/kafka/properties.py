"""How Kafka's clients are told of a cluster, and who asks it: their properties."""

from __future__ import annotations

from protocol.kafka import KafkaCluster

PATIENCE_SECONDS = 10
"""What a broker may take for an answer."""

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def client_properties(cluster: KafkaCluster) -> dict[str, str]:
    """The properties of any client of the cluster; the secrets are among them."""
    security = "PLAINTEXT" if cluster.tls is None else "SSL"
    properties = {
        "bootstrap.servers": cluster.address,
        "security.protocol": security if cluster.user is None else f"SASL_{security}",
        "default.api.timeout.ms": f"{PATIENCE_SECONDS * 1000}",
        "request.timeout.ms": f"{PATIENCE_SECONDS * 1000}",
    }
    if cluster.user is not None:
        properties["sasl.mechanism"] = cluster.mechanism
        properties["sasl.jaas.config"] = (
            f"{_MODULES[cluster.mechanism]} required username={_quoted(cluster.user)} "
            f"password={_quoted(cluster.password or '')};"
        )
    if cluster.tls is not None:
        given = {
            "ssl.truststore.certificates": cluster.tls.authorities,
            "ssl.keystore.certificate.chain": cluster.tls.certificate,
            "ssl.keystore.key": cluster.tls.key,
        }
        properties |= {name: text for name, text in given.items() if text is not None}
        if cluster.tls.authorities is not None:
            properties["ssl.truststore.type"] = "PEM"
        if cluster.tls.certificate is not None:
            properties["ssl.keystore.type"] = "PEM"
    return properties


def secrets_of(cluster: KafkaCluster) -> list[str]:
    """What nobody is to see, as it is and as it is written into properties; the longest first."""
    secrets = {cluster.password, _quoted(cluster.password or "")[1:-1], cluster.tls and cluster.tls.key}
    return sorted((secret for secret in secrets if secret), key=len, reverse=True)


def _quoted(text: str) -> str:
    """A text in the syntax of JAAS, where a line break would end it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
