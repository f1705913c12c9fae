"""Which properties of librdkafka a manifest may set, and why not the others.

The names are those of librdkafka's CONFIGURATION.md; Java clients know other ones.
"""

from difflib import get_close_matches
from typing import Final

from tandem.manifest.problems import refusal


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOWED: Final = _words(
    """
    client.rack client.dns.lookup broker.address.family broker.address.ttl
    socket.timeout.ms socket.send.buffer.bytes socket.receive.buffer.bytes socket.keepalive.enable socket.nagle.disable
    socket.max.fails socket.connection.setup.timeout.ms connections.max.idle.ms reconnect.backoff.ms reconnect.backoff.max.ms
    metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms metadata.max.age.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse
    topic.metadata.propagation.max.ms retry.backoff.ms retry.backoff.max.ms request.timeout.ms
    api.version.request.timeout.ms enable.metrics.push
    debug log_level log.connection.close log.thread.name
    security.protocol enable.ssl.certificate.verification
    ssl.cipher.suites ssl.curves.list ssl.sigalgs.list ssl.key.location ssl.certificate.location ssl.certificate.pem
    ssl.ca.location ssl.ca.pem ssl.crl.location ssl.keystore.location ssl.providers
    ssl.endpoint.identification.algorithm https.ca.location https.ca.pem
    sasl.mechanism sasl.mechanisms sasl.username sasl.kerberos.service.name sasl.kerberos.principal sasl.kerberos.kinit.cmd
    sasl.kerberos.keytab sasl.kerberos.min.time.before.relogin
    sasl.oauthbearer.method sasl.oauthbearer.client.id sasl.oauthbearer.scope
    sasl.oauthbearer.extensions sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.grant.type
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.jwt.template.file
    sasl.oauthbearer.metadata.authentication.type
    fetch.max.bytes fetch.message.max.bytes max.partition.fetch.bytes receive.message.max.bytes check.crcs
    queue.buffering.max.messages queue.buffering.max.kbytes
    batch.num.messages batch.size compression.codec compression.type compression.level
    """
)
"""Connection, security, buffers and logging: nothing of these changes what a job computes or publishes."""

SECRET: Final = _words(
    """
    sasl.password sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.private.key.pem ssl.key.password ssl.key.pem ssl.keystore.password
    """
)
"""What librdkafka itself hides in its logs."""

FILES: Final = frozenset(name for name in ALLOWED if name.endswith((".location", ".file", ".keytab")))
"""Whose values are paths; relative ones start from the manifest's folder."""

_AHEAD = ("how far a replica reads ahead follows from the size of an epoch", "Use spec.ordering.maxRecordsPerEpoch")
_FENCING = ("each start of a replica has a transactional id of its own, or fencing fails", "Remove it")
_DURABLE = ("every write is idempotent, ordered and on all in-sync replicas, or an epoch could be lost", "Remove it")
_NO_GROUP = ("replicas read by the positions of the ordering log, not as a consumer group", "Remove it")
_AT_ONCE = ("an epoch is sent at once and whole; waiting for more only adds latency", "Remove it")

OWNED: Final[dict[str, tuple[str, str]]] = {
    "bootstrap.servers": ("it has a field of its own", "Use spec.kafka.bootstrapServers"),
    "metadata.broker.list": ("it has a field of its own", "Use spec.kafka.bootstrapServers"),
    "client.id": ("it names the process: job, role and incarnation", "Remove it"),
    "transactional.id": _FENCING,
    "transaction.timeout.ms": ("transactions last milliseconds, and an abandoned one blocks the readers", "Remove it"),
    "enable.idempotence": _DURABLE,
    "enable.gapless.guarantee": _DURABLE,
    "acks": _DURABLE,
    "request.required.acks": _DURABLE,
    "retries": _DURABLE,
    "message.send.max.retries": _DURABLE,
    "max.in.flight": _DURABLE,
    "max.in.flight.requests.per.connection": _DURABLE,
    "queuing.strategy": _DURABLE,
    "message.timeout.ms": ("it follows from the take-over bounds", "Use spec.takeOver"),
    "delivery.timeout.ms": ("it follows from the take-over bounds", "Use spec.takeOver"),
    "message.max.bytes": ("larger records go to the dead-letter topic", "Use spec.maxRecordBytes"),
    "partitioner": ("all replicas must send a key to the same partition", "Remove it"),
    "linger.ms": _AT_ONCE,
    "queue.buffering.max.ms": _AT_ONCE,
    "fetch.wait.max.ms": ("it decides how long new input stays unseen", "Remove it"),
    "fetch.min.bytes": ("it decides how long new input stays unseen", "Remove it"),
    "isolation.level": ("it is set per source", "Use spec.sources[].isolationLevel"),
    "auto.offset.reset": (
        "input that is gone must be an error, never a silent skip",
        "Use spec.sources[].startingOffsets",
    ),
    "queued.min.messages": _AHEAD,
    "queued.max.messages.kbytes": _AHEAD,
    "statistics.interval.ms": ("nobody would read the client's statistics", "Use the metrics of the processes"),
    "group.id": _NO_GROUP,
    "group.instance.id": _NO_GROUP,
    "group.protocol": _NO_GROUP,
    "group.protocol.type": _NO_GROUP,
    "group.remote.assignor": _NO_GROUP,
    "partition.assignment.strategy": _NO_GROUP,
    "session.timeout.ms": _NO_GROUP,
    "heartbeat.interval.ms": _NO_GROUP,
    "max.poll.interval.ms": _NO_GROUP,
    "enable.auto.commit": _NO_GROUP,
    "auto.commit.enable": _NO_GROUP,
    "auto.commit.interval.ms": _NO_GROUP,
    "enable.auto.offset.store": _NO_GROUP,
    "enable.partition.eof": ("the readers depend on it", "Remove it"),
    "delivery.report.only.error": ("the publisher counts every delivery", "Remove it"),
    "allow.auto.create.topics": ("a topic that does not exist must be an error", "Remove it, and create the topic"),
    "max.poll.records": ("it follows from the size of an epoch", "Use spec.ordering.maxRecordsPerEpoch"),
    "plugin.library.paths": ("it loads foreign code into every replica", "Remove it"),
}
"""Property → (why Tandem sets it itself, what to do instead)."""

_WHICH = "Those of connection, security, buffers and logging can be set: see librdkafka's CONFIGURATION.md"
_PEM = "use ssl.ca.location, ssl.certificate.location and ssl.key.location with PEM files"
NO_IAM: Final = (
    "IAM tokens of Amazon MSK (AWS_MSK_IAM) are not supported: use MSK's SASL/SCRAM (sasl.mechanism: SCRAM-SHA-512) "
    "or mutual TLS"
)
_LOGIN = (
    "write the login as properties of librdkafka, which docs/reference/limits/validation.md lists for each "
    f"sasl.mechanism. {NO_IAM}"
)
_NO_SERIALIZER = "remove it; rows are serialised by the job"

JAVA_ONLY: Final[dict[str, str]] = {
    "sasl.jaas.config": _LOGIN,
    "sasl.client.callback.handler.class": f"remove it. {NO_IAM}",
    "sasl.login.callback.handler.class": f"use sasl.oauthbearer.method. {NO_IAM}",
    "ssl.truststore.location": _PEM,
    "ssl.truststore.password": _PEM,
    "ssl.truststore.type": _PEM,
    "ssl.keystore.type": _PEM,
    "ssl.protocol": "use ssl.cipher.suites",
    "ssl.enabled.protocols": "use ssl.cipher.suites",
    "fetch.max.wait.ms": "remove it",
    "key.serializer": _NO_SERIALIZER,
    "value.serializer": _NO_SERIALIZER,
    "key.deserializer": _NO_SERIALIZER,
    "value.deserializer": _NO_SERIALIZER,
    "buffer.memory": "use queue.buffering.max.kbytes",
    "send.buffer.bytes": "use socket.send.buffer.bytes",
    "receive.buffer.bytes": "use socket.receive.buffer.bytes",
}
"""Properties of the Java client only → what to do with librdkafka."""

CALLBACKS: Final[dict[str, str]] = {
    "oauth_cb": f"Set sasl.oauthbearer.method: oidc, and the client fetches its tokens itself. {NO_IAM}",
    "oauthbearer_token_refresh_cb": f"Set sasl.oauthbearer.method: oidc, and the client fetches its tokens itself. {NO_IAM}",
    "error_cb": "Remove it; errors are in the processes' logs",
    "throttle_cb": "Remove it; throttling is in the processes' logs",
    "stats_cb": "Remove it; use the metrics of the processes",
    "on_delivery": "Remove it; Tandem looks after every delivery",
    "on_commit": "Remove it; replicas do not commit positions to Kafka",
    "logger": "Remove it; clients log to the processes' logs",
}
"""Arguments of Kafka's Python clients that are functions → what to do instead."""


def plain_property(name: str) -> str:
    """Check the name of a property whose value stands in the manifest."""
    if name in SECRET:
        raise refusal(
            "a secret must not stand in a manifest",
            f"Move it to spec.kafka.secretProperties, e.g. {name}: {{env: {name.upper().replace('.', '_')}}}",
        )
    return _known(name)


def secret_property(name: str) -> str:
    """Check the name of a property whose value is taken from elsewhere."""
    return name if name in SECRET else _known(name)


def _known(name: str) -> str:
    if name in ALLOWED:
        return name
    if name in OWNED:
        reason, remedy = OWNED[name]
        raise refusal(f"Tandem sets {name} itself: {reason}", remedy)
    if name in CALLBACKS:
        raise refusal(f"{name} is a function of Python, which a manifest cannot hold", CALLBACKS[name])
    if name in JAVA_ONLY:
        raise refusal(f"{name} is a property of the Java client, Tandem uses librdkafka", f"Instead, {JAVA_ONLY[name]}")
    near = get_close_matches(name, ALLOWED | SECRET | OWNED.keys(), 1, 0.75)
    remedy = f"Did you mean {near[0]}?" if near else _WHICH
    raise refusal(f"{name} is no property that can be passed to librdkafka", remedy)
