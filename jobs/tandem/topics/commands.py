"""What a user is told to type: commands of Kafka's own."""

from __future__ import annotations

from tandem.kafka.client import KafkaConnection


def alter_topic(connection: KafkaConnection, topic: str, settings: str) -> str:
    """The command that gives a topic other settings, e.g. `retention.ms=-1`."""
    servers = connection.properties.get("bootstrap.servers", "")
    return (
        f"kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name {topic} "
        f"--add-config {settings}"
    )
