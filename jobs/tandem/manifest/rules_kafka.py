"""What the topics of a job, and the properties of its Kafka clients, must agree on."""

from collections.abc import Iterator
from typing import Final

from tandem.manifest.kafka_properties import NO_IAM
from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Issue, Location
from tandem.manifest.vocabulary import nearest

_KAFKA: Final[Location] = ("spec", "kafka")
_PROPERTIES: Final[Location] = (*_KAFKA, "properties")
_SECRETS: Final[Location] = (*_KAFKA, "secretProperties")
_BESIDE_RECORD: Final = 16_384
"""Bytes that a record may have beside key, value and the user's headers, with plenty to spare."""
_PROTOCOL: Final[Location] = (*_PROPERTIES, "security.protocol")
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
WITH_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LOG_LEVELS: Final = tuple("01234567")
DEBUGGED: Final = (
    *("generic", "broker", "topic", "metadata", "feature", "queue", "msg", "protocol", "cgrp", "security", "fetch"),
    *("interceptor", "plugin", "consumer", "admin", "eos", "mock", "assignor", "conf", "telemetry", "all"),
)
"""What librdkafka's property `debug` may name."""
METHOD: Final = "sasl.oauthbearer.method"
GRANT: Final = "sasl.oauthbearer.grant.type"
BY_METADATA: Final = "sasl.oauthbearer.metadata.authentication.type"
OIDC: Final = {
    "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/oauth2/token",
    "sasl.oauthbearer.client.id": "tandem",
    "sasl.oauthbearer.client.secret": "{env: KAFKA_CLIENT_SECRET}",
}
"""What the method oidc needs → an example. The secret goes to secretProperties; grants by assertion need none."""


def topics_do_not_meet(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """Each topic has one use: read by one source, written by one sink, or Tandem's own."""
    seen: dict[str, tuple[str, Location]] = {}
    for topic, use, at in _uses_of_topics(job):
        if topic not in seen:
            seen[topic] = (use, at)
            continue
        first_use, first_at = seen[topic]
        yield Issue(
            at, f"the topic {topic} is {use}, but already {first_use}", _other_topic(first_use, use), (at, first_at)
        )


def _uses_of_topics(job: ReplicatedStreamJob) -> Iterator[tuple[str, str, Location]]:
    for number, source in enumerate(job.spec.sources):
        for index, topic in enumerate(source.topics):
            yield topic, f"an input of source {source.name}", ("spec", "sources", number, "topics", index)
    for number, sink in enumerate(job.spec.sinks):
        if sink.topic is not None:
            yield sink.topic, f"the output of sink {sink.name}", ("spec", "sinks", number, "topic")
    own, at = job.topics, (*_KAFKA, "topics")
    yield own.ordering, "the ordering topic", (*at, "ordering")
    yield own.commits, "the commits topic", (*at, "commits")
    yield own.dead_letter, "the dead-letter topic", (*at, "deadLetter")
    if job.ships_state:
        yield own.checkpoints, "the checkpoints topic", (*at, "checkpoints")


def _other_topic(first_use: str, use: str) -> str:
    if first_use == use:
        return "Name it once"
    if first_use.startswith("an input") and use.startswith("an input"):
        return "Keep one source for it, and use that one twice in the job's function"
    if first_use.startswith("an input"):
        return "Write to another topic, or the job would read its own output"
    return "Give each its own topic"


def properties_are_given_once(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for name in job.spec.kafka.secret_properties:
        if name in job.spec.kafka.properties:
            yield Issue((*_SECRETS, name), f"{name} is also in spec.kafka.properties", "Keep one of them")
    if job.spec.snapshots is not None:
        for name in job.spec.snapshots.secret_properties.keys() & job.spec.snapshots.properties.keys():
            at: Location = ("spec", "snapshots", "secretProperties", name)
            yield Issue(at, f"{name} is also in spec.snapshots.properties", "Keep one of them")


def buffers_hold_a_record(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """A producer waits for room that a larger record would never find."""
    name, needed = "queue.buffering.max.kbytes", -(-(job.spec.max_record_bytes + _BESIDE_RECORD) // 1_024)
    given = job.spec.kafka.properties.get(name, "")
    if given.isdecimal() and int(given) < needed:
        at, other = (*_PROPERTIES, name), ("spec", "maxRecordBytes")
        message = f"{given} kilobytes hold no record of spec.maxRecordBytes, which is {job.spec.max_record_bytes} bytes"
        yield Issue(at, message, f"Give {needed} or more, remove it, or lower maxRecordBytes", (at, other))


def client_logs_are_known(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """The client takes any text for a level, and logs nothing any more."""
    given = job.spec.kafka.properties
    level = given.get("log_level", "6")
    if level not in LOG_LEVELS:
        remedy = "Write a number from 0 to 7 as in syslog, in quotes: 3 for errors, 6 for information, 7 for all"
        yield Issue((*_PROPERTIES, "log_level"), f"{level!r} is no level of the Kafka client's log", remedy)
    for part in given.get("debug", "all").split(","):
        if part.strip().removeprefix("-").lower() not in DEBUGGED:
            yield _no_choice((*_PROPERTIES, "debug"), part.strip(), DEBUGGED)


def authentication_is_complete(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """Finds what librdkafka would silently ignore, or only notice as a refused connection."""
    kafka = job.spec.kafka
    if "security.protocol" in kafka.secret_properties:
        return  # nobody knows here what it is
    protocol = kafka.properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        yield _no_choice(_PROTOCOL, kafka.properties["security.protocol"], PROTOCOLS)
        return
    given = [(*_PROPERTIES, name) for name in kafka.properties] + [
        (*_SECRETS, name) for name in kafka.secret_properties
    ]
    uses_sasl, uses_tls = protocol.startswith("SASL"), protocol.endswith("SSL")
    for prefix, used, remedy in (
        ("sasl.", uses_sasl, "SASL_SSL"),
        ("ssl.", uses_tls, "SASL_SSL" if uses_sasl else "SSL"),
    ):
        without_effect = [at for at in given if str(at[-1]).startswith(prefix) and not used]
        if without_effect:
            message = f"is without effect, as security.protocol is {protocol}"
            yield Issue(without_effect[0], message, f"Set security.protocol: {remedy}", (without_effect[0], _PROTOCOL))
    if uses_sasl:
        yield from _mechanism_is_complete(job)


def _mechanism_is_complete(job: ReplicatedStreamJob) -> Iterator[Issue]:
    kafka = job.spec.kafka
    names = {*kafka.properties, *kafka.secret_properties}
    keys = [key for key in ("sasl.mechanism", "sasl.mechanisms") if key in names]
    mechanism = kafka.properties.get(keys[0]) if keys else "GSSAPI"
    if mechanism is None:
        return
    if mechanism == "AWS_MSK_IAM":
        yield Issue((*_PROPERTIES, keys[0]), "Tandem's Kafka client has no mechanism AWS_MSK_IAM", NO_IAM)
        return
    if mechanism not in MECHANISMS:
        yield _no_choice((*_PROPERTIES, keys[0]), mechanism, MECHANISMS)
        return
    places = tuple((*where, name) for where in (_PROPERTIES, _SECRETS) for name in ("sasl.username", "sasl.password"))
    if mechanism in WITH_PASSWORD:
        for name, where, example in (
            ("sasl.username", _PROPERTIES, "tandem"),
            ("sasl.password", _SECRETS, "{env: KAFKA_PASSWORD}"),
        ):
            if name not in names:
                message = f"sasl.mechanism {mechanism} needs {name}"
                yield Issue((*where, name), message, f"Add it to {where[-1]}, e.g. {name}: {example}", places)
    elif mechanism == "OAUTHBEARER":
        yield from _oauthbearer_is_complete(job, names, (*_PROPERTIES, keys[0]))
    elif not keys and "sasl.password" in names:
        message = "a password is given, but sasl.mechanism is GSSAPI (Kerberos) by default"
        at = (*_SECRETS, "sasl.password")
        concerns = (at, (*_PROPERTIES, "sasl.mechanism"), (*_PROPERTIES, "sasl.mechanisms"))
        yield Issue(at, message, "Set sasl.mechanism in properties to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", concerns)


def _oauthbearer_is_complete(job: ReplicatedStreamJob, names: set[str], mechanism: Location) -> Iterator[Issue]:
    """Without a method, the client would wait for tokens of a function that nobody gives it."""
    properties = job.spec.kafka.properties
    if METHOD in job.spec.kafka.secret_properties:
        return
    if properties.get(METHOD) != "oidc":
        needs = f"{', '.join(list(OIDC)[:2])} in properties and {list(OIDC)[2]} in secretProperties"
        said = f"is {properties[METHOD]}" if METHOD in properties else "is missing"
        message = f"sasl.mechanism OAUTHBEARER needs a method to get its tokens by, but {METHOD} {said}"
        at = (*_PROPERTIES, METHOD)
        yield Issue(at, message, f"Set {METHOD}: oidc, which needs {needs}. {NO_IAM}", (at, mechanism))
        return
    if BY_METADATA in names:
        return
    by_assertion = GRANT in names and properties.get(GRANT) != "client_credentials"
    for name, example in OIDC.items():
        is_secret = name.endswith("secret")
        if name not in names and not (is_secret and by_assertion):
            where = _SECRETS if is_secret else _PROPERTIES
            remedy = f"Add it to {where[-1]}, e.g. {name}: {example}"
            yield Issue(
                (*where, name), f"{METHOD}: oidc needs {name}", remedy, ((*where, name), (*_PROPERTIES, METHOD))
            )


def _no_choice(at: Location, value: str, choices: tuple[str, ...]) -> Issue:
    near = nearest(value, choices)
    remedy = f"Did you mean {near}?" if near else f"Write one of {', '.join(choices)}"
    return Issue(at, f"{value!r} is none of {', '.join(choices)}", remedy)
