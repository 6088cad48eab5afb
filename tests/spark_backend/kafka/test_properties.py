from __future__ import annotations

from protocol.kafka import KafkaCluster, KafkaTls
from spark_backend.kafka.properties import client_properties


def test_a_cluster_without_a_login() -> None:
    properties = client_properties(KafkaCluster("h:9092"))
    assert properties["bootstrap.servers"] == "h:9092"
    assert properties["security.protocol"] == "PLAINTEXT"
    assert not any(name.startswith(("sasl.", "ssl.")) for name in properties)


def test_a_login_is_written_as_jaas_reads_it() -> None:
    properties = client_properties(KafkaCluster("h:1", "me", 'a"b\\c', "SCRAM-SHA-512"))
    assert (properties["security.protocol"], properties["sasl.mechanism"]) == ("SASL_PLAINTEXT", "SCRAM-SHA-512")
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert properties["sasl.jaas.config"] == f'{module} required username="me" password="a\\"b\\\\c";'


def test_a_line_break_does_not_end_a_text_of_jaas() -> None:
    properties = client_properties(KafkaCluster("h:1", "u\nx=", "a\r\nb"))
    assert properties["sasl.jaas.config"].endswith('username="u\\nx=" password="a\\r\\nb";')


def test_tls_has_the_texts_of_the_files() -> None:
    properties = client_properties(KafkaCluster("h:1", "me", "x", tls=KafkaTls("ca", "cert", "key")))
    assert properties["security.protocol"] == "SASL_SSL"
    assert properties["ssl.truststore.certificates"] == "ca"
    assert (properties["ssl.truststore.type"], properties["ssl.keystore.type"]) == ("PEM", "PEM")
    assert (properties["ssl.keystore.certificate.chain"], properties["ssl.keystore.key"]) == ("cert", "key")
    # The system's authorities, and no certificate.
    assert not any(name.startswith("ssl.") for name in client_properties(KafkaCluster("h:1", tls=KafkaTls())))


def test_secrets_are_in_no_repr() -> None:
    cluster = KafkaCluster("h:1", "me", "hush", tls=KafkaTls(key="hush"))
    assert "hush" not in repr(cluster)
