"""Trials of the rules about properties of librdkafka and settings of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from cluster.crd_case import LOGIN, SECRET, Case, properties
from tandem.manifest.kafka_properties import CALLBACKS, JAVA_ONLY, OWNED
from tandem.manifest.spark_settings import FIXED
from tandem.manifest.spark_settings import OWNED as SPARK_OWNED

_OIDC: Final = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "tandem",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/token",
}

KAFKA: Final = (
    Case(
        "kafka-secret-inline",
        properties({}),
        properties({"ssl.key.pem": "…"}),
        "a secret must not stand in a manifest",
    ),
    Case(
        "kafka-property-unknown",
        properties({"client.rack": "a"}),
        properties({"client.rak": "a"}),
        "cannot be passed to librdkafka",
    ),
    Case(
        "kafka-property-given-twice",
        properties({"ssl.ca.pem": "…", "security.protocol": "SSL"}, {"ssl.key.pem": SECRET}),
        properties({"ssl.ca.pem": "…", "security.protocol": "SSL"}, {"ssl.ca.pem": SECRET}),
        "both in properties and in secretProperties",
    ),
    Case(
        "snapshot-property-given-twice",
        {"spec.snapshots": {"store": "s3://b", "properties": {"anon": "false"}}},
        {"spec.snapshots": {"store": "s3://b", "properties": {"a": "b"}, "secretProperties": {"a": SECRET}}},
        "both in properties and in secretProperties",
    ),
    Case(
        "kafka-protocol-unknown",
        properties({"security.protocol": "ssl"}),
        properties({"security.protocol": "TLS"}),
        "security.protocol is unknown",
    ),
    Case(
        "kafka-sasl-without-effect",
        properties(LOGIN, {"sasl.password": SECRET}),
        properties({"sasl.username": "tandem"}),
        "sasl.* are without effect",
    ),
    Case(
        "kafka-sasl-without-effect",
        properties({"sasl.username": "tandem"}, {"security.protocol": SECRET}),
        properties({"sasl.username": "tandem", "security.protocol": "PLAINTEXT"}),
        "sasl.* are without effect",
    ),
    Case(
        "kafka-tls-without-effect",
        properties({"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"}),
        properties({"ssl.ca.location": "/ca.pem"}),
        "ssl.* are without effect",
    ),
    Case(
        "kafka-tls-without-effect",
        properties({"ssl.ca.location": "/ca.pem"}, {"security.protocol": SECRET}),
        properties({"ssl.ca.location": "/ca.pem", "security.protocol": "PLAINTEXT"}),
        "ssl.* are without effect",
    ),
    Case(
        "kafka-mechanism-unknown",
        properties({**LOGIN, "sasl.mechanism": "SCRAM-SHA-512"}, {"sasl.password": SECRET}),
        properties({**LOGIN, "sasl.mechanism": "SCRAM-SHA512"}, {"sasl.password": SECRET}),
        "sasl.mechanism is unknown",
    ),
    Case(
        "kafka-login-is-complete",
        properties(LOGIN, {"sasl.password": SECRET}),
        properties(LOGIN),
        "need sasl.username in properties and sasl.password",
    ),
    Case(
        "kafka-password-needs-mechanism",
        properties({"security.protocol": "SASL_SSL", "sasl.kerberos.service.name": "kafka"}),
        properties({"security.protocol": "SASL_SSL"}, {"sasl.password": SECRET}),
        "a password is given, but sasl.mechanism is GSSAPI",
    ),
    Case(
        "kafka-oauthbearer-needs-a-method",
        properties(_OIDC, {"sasl.oauthbearer.client.secret": SECRET}),
        properties({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}),
        "needs sasl.oauthbearer.method: oidc",
    ),
    Case(
        "kafka-oidc-is-complete",
        properties(_OIDC, {"sasl.oauthbearer.client.secret": SECRET}),
        properties(_OIDC),
        "sasl.oauthbearer.client.secret in secretProperties",
    ),
    Case(
        "place-can-be-written-to",
        {"spec.snapshots": {"store": "abfss://lake@account.dfs.core.windows.net/x"}},
        {"spec.snapshots": {"store": "memory://x"}},
        "nothing lasting can be written there",
    ),
    Case(
        "place-can-be-written-to",
        {"spec.sinks": [{"name": "table", "parquet": {"path": "gs://lake/out"}}]},
        {"spec.sinks": [{"name": "table", "parquet": {"path": "s3n://lake/out"}}]},
        "nothing lasting can be written there",
    ),
    Case(
        "delta-table-can-be-written-to",
        {"spec.sinks": [{"name": "table", "delta": {"path": "s3://lake/out"}}]},
        {"spec.sinks": [{"name": "table", "delta": {"path": "webhdfs://lake/out"}}]},
        "no Delta table can be written there",
    ),
)


def forbidden() -> Iterator[Case]:
    """Every setting that Tandem keeps to itself, or that only the Java client knows."""
    harmless = properties({"client.rack": "a"})
    for index, (prefix, names) in enumerate(
        (
            ("kafka-owned", _first_of(OWNED)),
            ("kafka-java", _first_of(JAVA_ONLY)),
            ("kafka-function", _first_of(CALLBACKS)),
        )
    ):
        words = ("Tandem sets", "known to the Java client only", "a function of Python")[index]
        for name, first in names.items():
            yield Case(f"{prefix}-{_slug(first)}", harmless, properties({name: "1"}), words)
    yield Case("kafka-owned-enable-idempotence", harmless, properties({}, {"acks": SECRET}), "Tandem sets")
    time_zone = {"spec.spark.conf": {"spark.sql.session.timeZone": "UTC"}}
    yield Case(
        "spark-setting-has-its-prefix", time_zone, {"spec.spark.conf": {"sql.ansi": "true"}}, "begin with spark."
    )
    for name, first in _first_of(SPARK_OWNED).items():
        yield Case(f"spark-owned-{_slug(first)}", time_zone, {"spec.spark.conf": {name: "1"}}, "Tandem sets")
    for name, first in _first_of(FIXED).items():
        value = FIXED[name][0][0]
        so, otherwise = ({"spec.spark.conf": {name: text}} for text in (f" {value.capitalize()}", "otherwise"))
        yield Case(f"spark-fixed-{_slug(first)}", so, otherwise, f"must be {value}")


def _first_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Each setting → the first one that shares its reason and remedy, after which their rule is named."""
    first: dict[Any, str] = {}
    return {name: first.setdefault(why, name) for name, why in settings.items()}


def _slug(name: str) -> str:
    return name.replace(".", "-")
