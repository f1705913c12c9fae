"""Records as producers with a schema registry write them: by Confluent's own serialisers."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integration.registry_server import RegistryServer

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "n", "type": ["null", "long"], "default": None},
        {
            "name": "price",
            "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}],
            "default": None,
        },
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    ],
}


def with_field(name: str, kind: object, default: object) -> dict[str, Any]:
    """A later version of `ORDER`, with one field more."""
    return {**ORDER, "fields": [*ORDER["fields"], {"name": name, "type": kind, "default": default}]}


def avro(registry: RegistryServer, topic: str, value: object, schema: object = ORDER, field: str = "value") -> bytes:
    """A value, or a key, of a topic; its schema is registered."""
    client = SchemaRegistryClient({"url": registry.url})
    serializer = AvroSerializer(client, json.dumps(schema))
    found = serializer(value, SerializationContext(topic, MessageField(field)))
    assert isinstance(found, bytes)
    return found


def decoded(registry: RegistryServer, topic: str, content: bytes | None, field: str = "value") -> Any:
    """What a consumer with Confluent's deserialiser gets."""
    deserializer = AvroDeserializer(SchemaRegistryClient({"url": registry.url}))
    return deserializer(content, SerializationContext(topic, MessageField(field)))
