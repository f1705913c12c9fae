"""Rules about the properties of librdkafka: which may be set, and which belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from tandem.manifest.kafka_properties import ALLOWED, CALLBACKS, JAVA_ONLY, NO_IAM, OWNED, SECRET
from tandem.manifest.rules_kafka import BY_METADATA, GRANT, MECHANISMS, METHOD, OIDC, PROTOCOLS, WITH_PASSWORD
from tandem_operator.crd.cel import Path, Rule, path, text, texts

_T = TypeVar("_T")
_KAFKA: Final = (path("spec.kafka"),)
_PROPERTIES: Final = path("spec.kafka.properties")
_SECRETS: Final = path("spec.kafka.secretProperties")

_PROTOCOL: Final = (
    "('security.protocol' in self.properties ? self.properties['security.protocol'].upperAscii() : 'PLAINTEXT')"
)
_PROTOCOL_ELSEWHERE: Final = "'security.protocol' in self.secretProperties"
_MECHANISM: Final = (
    "('sasl.mechanism' in self.properties ? self.properties['sasl.mechanism'] : "
    "'sasl.mechanisms' in self.properties ? self.properties['sasl.mechanisms'] : 'GSSAPI')"
)
_MECHANISM_ELSEWHERE: Final = (
    "('sasl.mechanism' in self.secretProperties || 'sasl.mechanisms' in self.secretProperties)"
)
_NO_SASL: Final = f"!{_PROTOCOL}.startsWith('SASL')"


def _has(name: str) -> str:
    return f"({text(name)} in self.properties || {text(name)} in self.secretProperties)"


def _without(prefix: str) -> str:
    return (
        f"(self.properties.all(name, !name.startsWith({text(prefix)})) && "
        f"self.secretProperties.all(name, !name.startsWith({text(prefix)})))"
    )


def grouped(owned: Mapping[str, tuple[_T, str]]) -> Iterator[tuple[tuple[str, ...], _T, str]]:
    """Settings that share reason and remedy: their names, the reason, the remedy."""
    groups: dict[tuple[_T, str], list[str]] = {}
    for name, why in owned.items():
        groups.setdefault(why, []).append(name)
    for (reason, remedy), names in groups.items():
        yield tuple(names), reason, remedy


def forbidden(prefix: str, at: tuple[Path, ...], names: tuple[str, ...], message: str) -> Rule:
    """None of the names may be a key of the map."""
    expression = " && ".join(f"!({text(name)} in self)" for name in names)
    return Rule(f"{prefix}-{names[0].replace('.', '-')}", at, expression, message, reason="FieldValueForbidden")


_SET_BY_TANDEM: Final = tuple(
    forbidden(
        "kafka-owned", (_PROPERTIES, _SECRETS), names, f"Tandem sets {', '.join(names)} itself: {reason}. {remedy}"
    )
    for names, reason, remedy in grouped(OWNED)
)
_OF_JAVA: Final = tuple(
    forbidden(
        "kafka-java",
        (_PROPERTIES, _SECRETS),
        names,
        f"{', '.join(names)}: known to the Java client only, Tandem uses librdkafka. Instead, {remedy}",
    )
    for names, remedy, _ in grouped({name: (remedy, "") for name, remedy in JAVA_ONLY.items()})
)
_FUNCTIONS: Final = tuple(
    forbidden(
        "kafka-function",
        (_PROPERTIES, _SECRETS),
        names,
        f"{', '.join(names)}: a function of Python, which a manifest cannot hold. {remedy}",
    )
    for names, remedy, _ in grouped({name: (remedy, "") for name, remedy in CALLBACKS.items()})
)
_SAID_ELSEWHERE: Final = OWNED.keys() | JAVA_ONLY.keys() | CALLBACKS.keys()
_NO_OAUTHBEARER: Final = (
    f"{_NO_SASL} || {_MECHANISM_ELSEWHERE} || {_MECHANISM} != 'OAUTHBEARER' || {text(METHOD)} in self.secretProperties"
)
_IS_OIDC: Final = f"({text(METHOD)} in self.properties && self.properties[{text(METHOD)}] == 'oidc')"
_ENDPOINT, _CLIENT, _CLIENT_SECRET = OIDC
_OTHER_GRANT: Final = (
    f"{text(GRANT)} in self.secretProperties || "
    f"({text(GRANT)} in self.properties && self.properties[{text(GRANT)}] != 'client_credentials')"
)

KAFKA: Final[tuple[Rule, ...]] = (
    Rule(
        "kafka-secret-inline",
        (_PROPERTIES,),
        f"self.all(name, !(name in {texts(SECRET)}))",
        "a secret must not stand in a manifest. Move it to spec.kafka.secretProperties, e.g. sasl.password: "
        "{secretKeyRef: {name: kafka-login, key: password}}",
        reason="FieldValueForbidden",
    ),
    Rule(
        "kafka-property-unknown",
        (_PROPERTIES, _SECRETS),
        f"self.all(name, name in {texts(ALLOWED | SECRET | _SAID_ELSEWHERE)})",
        "there is a property that cannot be passed to librdkafka. Those of connection, security, buffers and logging "
        "can be set: see librdkafka's CONFIGURATION.md",
    ),
    Rule(
        "kafka-property-given-twice",
        _KAFKA,
        "self.secretProperties.all(name, !(name in self.properties))",
        "a property is both in properties and in secretProperties. Keep one of them",
        field_path=".secretProperties",
        mirrors=("properties_are_given_once",),
    ),
    Rule(
        "snapshot-property-given-twice",
        (path("spec.snapshots"),),
        "self.secretProperties.all(name, !(name in self.properties))",
        "an option is both in properties and in secretProperties. Keep one of them",
        field_path=".secretProperties",
        mirrors=("properties_are_given_once",),
    ),
    Rule(
        "kafka-protocol-unknown",
        _KAFKA,
        f"{_PROTOCOL} in {texts(PROTOCOLS)}",
        f"security.protocol is unknown. Write one of {', '.join(PROTOCOLS)}",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-sasl-without-effect",
        _KAFKA,
        f"{_PROTOCOL_ELSEWHERE} || {_PROTOCOL}.startsWith('SASL') || {_without('sasl.')}",
        "properties sasl.* are without effect, as security.protocol is not one of SASL's. Set security.protocol: "
        "SASL_SSL",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-tls-without-effect",
        _KAFKA,
        f"{_PROTOCOL_ELSEWHERE} || {_PROTOCOL}.endsWith('SSL') || {_without('ssl.')}",
        "properties ssl.* are without effect, as security.protocol is not one of TLS. Set security.protocol: SSL, or "
        "SASL_SSL",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-mechanism-unknown",
        _KAFKA,
        f"{_NO_SASL} || {_MECHANISM_ELSEWHERE} || {_MECHANISM} in {texts(MECHANISMS)}",
        f"sasl.mechanism is unknown. Write one of {', '.join(MECHANISMS)}",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-login-is-complete",
        _KAFKA,
        f"{_NO_SASL} || {_MECHANISM_ELSEWHERE} || !({_MECHANISM} in {texts(WITH_PASSWORD)}) || "
        f"({_has('sasl.username')} && {_has('sasl.password')})",
        f"sasl.mechanism {', '.join(WITH_PASSWORD)} need sasl.username in properties and sasl.password in "
        "secretProperties. Add them, e.g. sasl.password: {secretKeyRef: {name: kafka-login, key: password}}",
        field_path=".secretProperties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-password-needs-mechanism",
        _KAFKA,
        f"{_NO_SASL} || {_has('sasl.mechanism')} || {_has('sasl.mechanisms')} || !{_has('sasl.password')}",
        "a password is given, but sasl.mechanism is GSSAPI (Kerberos) by default. Set sasl.mechanism in properties "
        "to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-oauthbearer-needs-a-method",
        _KAFKA,
        f"{_NO_OAUTHBEARER} || {_IS_OIDC}",
        f"sasl.mechanism OAUTHBEARER needs {METHOD}: oidc, with {_ENDPOINT} and {_CLIENT} in properties and "
        f"{_CLIENT_SECRET} in secretProperties. {NO_IAM}",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    Rule(
        "kafka-oidc-is-complete",
        _KAFKA,
        f"{_NO_OAUTHBEARER} || !{_IS_OIDC} || {_has(BY_METADATA)} || ({_has(_ENDPOINT)} && {_has(_CLIENT)} && "
        f"({_has(_CLIENT_SECRET)} || {_OTHER_GRANT}))",
        f"{METHOD}: oidc needs {_ENDPOINT} and {_CLIENT} in properties, and {_CLIENT_SECRET} in secretProperties. Add "
        "what is missing",
        field_path=".properties",
        mirrors=("authentication_is_complete",),
    ),
    *_SET_BY_TANDEM,
    *_OF_JAVA,
    *_FUNCTIONS,
)
