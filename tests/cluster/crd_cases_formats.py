"""Trials of the rules about formats and the schema registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cluster.crd_base import ABSENT, Overrides
from cluster.crd_case import SECRET, Case
from tandem.manifest.formats import OWNED

_REGISTRY: Final = {"url": "http://registry:8081"}


def registered(source: Mapping[str, Any], registry: Mapping[str, Any] | None = _REGISTRY) -> Overrides:
    """The second source with other fields, and a registry."""
    given = {} if registry is None else {"spec.schemaRegistry": registry}
    return {"spec.sources.1": {"name": "weather", "topics": ["weather"], **source}, **given}


def written(sink: Mapping[str, Any], registry: Mapping[str, Any] | None = _REGISTRY) -> Overrides:
    """The first sink with other fields, and a registry."""
    given = {} if registry is None else {"spec.schemaRegistry": registry}
    return {"spec.sinks.0": {"name": "delays", "topic": "delays", **sink}, **given}


def table(sink: Mapping[str, Any]) -> Overrides:
    """The second sink, a table, with other fields, and a registry."""
    return {
        "spec.sinks.1": {"name": "archive", "parquet": {"path": "/data/out"}, **sink},
        "spec.schemaRegistry": _REGISTRY,
    }


def registry(**more: Any) -> Overrides:
    """A registry with other fields."""
    return {"spec.schemaRegistry": {**_REGISTRY, **more}}


AVRO: Final = {"format": "avro"}
KEYS: Final = {"keyFormat": "avro"}
SEVERAL: Final = {"topics": ["weather", "winds"]}
TEXT: Final = {"text": "syntax = 'proto3';", "message": "Order"}

FORMATS: Final = (
    Case("json-needs-a-schema", {}, {"spec.sources.0.schema": ABSENT}, "format json needs a schema"),
    Case("raw-has-no-schema", {}, {"spec.sources.1.schema": "a INT"}, "format raw (the default) has no schema"),
    Case(
        "registry-has-the-columns",
        registered(AVRO),
        registered({**AVRO, "schema": "a INT"}),
        "have their columns by a schema of the registry",
    ),
    Case("format-needs-a-registry", registered(AVRO), registered(AVRO, None), "need a schema registry"),
    Case("format-needs-a-registry", registered(KEYS), registered(KEYS, None), "need a schema registry"),
    Case("format-needs-a-registry", written(AVRO), written(AVRO, None), "need a schema registry"),
    Case(
        "table-has-no-format", written({"format": "json"}, None), table({"format": "json"}), "format is of the records"
    ),
    Case("table-has-no-keyformat", written(KEYS), table(KEYS), "keyFormat is of the records of a topic"),
    Case(
        "registry-property-given-twice",
        registry(secretProperties={"basic.auth.user.info": SECRET}),
        registry(properties={"proxy": "http://p"}, secretProperties={"proxy": SECRET}),
        "both in properties and in secretProperties",
    ),
    Case(
        "registry-url-is-one",
        registry(url="https://registry:8081/api,http://other"),
        registry(url="registry:8081"),
        "is no URL of a registry",
    ),
    Case("registry-url-is-one", registry(), registry(url="http://me:secret@registry"), "is no URL of a registry"),
    Case(
        "registry-secret-inline",
        registry(secretProperties={"basic.auth.user.info": SECRET}),
        registry(properties={"basic.auth.user.info": "me:secret"}),
        "a secret must not stand in a manifest",
    ),
    Case(
        "registry-property-unknown",
        registry(properties={"ssl.ca.location": "/ca.pem"}),
        registry(properties={"ssl.truststore.location": "/ca.jks"}),
        "cannot be set for the registry's client",
    ),
    *(
        Case(
            f"registry-owned-{name.replace('.', '-')}",
            registry(),
            registry(properties={name: "1"}),
            f"{name} cannot be set for the registry's client",
        )
        for name in OWNED
    ),
    Case(
        "format-has-a-schema",
        registered({**AVRO, "valueSchema": {"subject": "weather"}}),
        registered({"valueSchema": {"subject": "weather"}}),
        "valueSchema is without effect",
    ),
    Case(
        "format-has-a-schema",
        written({**AVRO, "valueSchema": {"subject": "delays", "text": "{}"}}),
        written({"format": "json", "valueSchema": {"subject": "delays"}}),
        "valueSchema is without effect",
    ),
    Case(
        "keyformat-has-a-schema",
        registered({**KEYS, "keySchema": {"subject": "weather"}}),
        registered({**AVRO, "keySchema": {"subject": "weather"}}),
        "keySchema is without effect",
    ),
    Case(
        "format-has-messages",
        registered({"format": "protobuf", "valueSchema": TEXT}),
        registered({**AVRO, "valueSchema": {"message": "Order"}}),
        "valueSchema gives a message",
    ),
    Case(
        "keyformat-has-messages",
        registered({"keyFormat": "protobuf", "keySchema": TEXT}),
        registered({**KEYS, "keySchema": {"message": "Order"}}),
        "keySchema gives a message",
    ),
    Case(
        "schema-is-given-once",
        registered({"format": "protobuf", "valueSchema": TEXT}),
        registered({"format": "protobuf", "valueSchema": {**TEXT, "subject": "weather"}}),
        "Keep one of subject and text",
    ),
    Case(
        "format-has-a-subject",
        registered({**AVRO, **SEVERAL, "valueSchema": {"subject": "weather"}}),
        registered({**AVRO, **SEVERAL}),
        "has several topics",
    ),
    Case(
        "keyformat-has-a-subject",
        registered({**KEYS, **SEVERAL, "keySchema": {"subject": "weather"}}),
        registered({**KEYS, **SEVERAL}),
        "has several topics",
    ),
)
