"""Formats whose schemas are in a registry: which registry, and which of its schemas."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from tandem.manifest.problems import refusal
from tandem.manifest.secrets import SecretReference, resolve_all
from tandem.manifest.values import Flag, Section, Shape

RegistryFormat = Literal["avro", "protobuf"]
REGISTRY_FORMATS: Final = ("avro", "protobuf")

FILES: Final = frozenset({"ssl.ca.location", "ssl.certificate.location", "ssl.key.location"})
"""Properties whose values are paths; relative ones start from the manifest's folder."""
ALLOWED: Final = FILES | {
    *("proxy", "bearer.auth.credentials.source", "bearer.auth.client.id", "bearer.auth.scope"),
    *("bearer.auth.issuer.endpoint.url", "bearer.auth.logical.cluster", "bearer.auth.identity.pool.id"),
}
SECRET: Final = frozenset(
    {"basic.auth.user.info", "ssl.key.password", "bearer.auth.token", "bearer.auth.client.secret"}
)
"""What the client must not be given in a manifest."""
OWNED: Final = {
    "url": "It has a field of its own: spec.schemaRegistry.url",
    "timeout": "Tandem sets it: a registry that is silent is asked again. Remove it",
    "max.retries": "Tandem asks again by itself, and reports it. Remove it",
    "retries.wait.ms": "Tandem asks again by itself, and reports it. Remove it",
    "auto.register.schemas": "It has a field of its own: spec.schemaRegistry.register",
}
"""Property → what to do instead."""


def _url(url: str) -> str:
    for one in url.split(","):
        if not re.fullmatch(r"https?://[^\s/@]+(/[^\s@]*)?", one.strip()):
            if "@" in one:
                raise refusal(
                    "a secret must not stand in a manifest",
                    "Move the login to spec.schemaRegistry.secretProperties, e.g. basic.auth.user.info: "
                    "{env: REGISTRY_LOGIN}",
                )
            raise refusal(f"{one.strip()!r} is no URL of a registry", "Write e.g. http://registry:8081")
    return url


def _known(name: str) -> str:
    if name in ALLOWED | SECRET:
        return name
    remedy = OWNED.get(name, f"It knows {', '.join(sorted(ALLOWED | SECRET))}")
    raise refusal(f"{name} cannot be set for the registry's client", remedy)


def _plain(name: str) -> str:
    if name in SECRET:
        raise refusal(
            "a secret must not stand in a manifest",
            f"Move it to spec.schemaRegistry.secretProperties, e.g. {name}: {{env: {name.upper().replace('.', '_')}}}",
        )
    return _known(name)


Subject = Annotated[str, Shape(r"[^\x00-\x1f]*[^\x00-\x1f\s][^\x00-\x1f]*", "is no subject", "Give its name", 255)]
MessageName = Annotated[
    str, Shape(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "is no name of a message", "Write e.g. shop.Order", 255)
]


class SchemaRegistrySpec(Section):
    """The schema registry of all sources and sinks whose format is avro or protobuf; Confluent's, or one with its API."""

    url: Annotated[str, AfterValidator(_url)] = Field(
        max_length=1024, description="http(s)://host:port, several separated by commas"
    )
    properties: Mapping[Annotated[str, AfterValidator(_plain)], str] = Field(
        default_factory=dict, description="Of Confluent's client: TLS, proxy, bearer tokens, e.g. ssl.ca.location"
    )
    secret_properties: Mapping[Annotated[str, AfterValidator(_known)], SecretReference] = Field(
        default_factory=dict,
        description="Likewise, each value read from the environment or a file, e.g. basic.auth.user.info (user:password)",
    )
    register_schemas: Flag = Field(
        default=True,
        alias="register",
        description="Whether a sink whose subject has no schema yet registers one, made from its columns",
    )

    def client_properties(self, environ: Mapping[str, str], base: Path = Path()) -> dict[str, str]:
        """What the client is configured with, secrets included: never for a log.

        `environ` : the environment's variables, for `secretProperties` of kind `env`.
        `base` : the folder that relative files start from: the manifest's.

        Raises `SecretError`: a variable or file that a secret is to come from is missing or empty.
        """
        secrets = resolve_all(self.secret_properties, environ, base, "spec.schemaRegistry")
        plain = {name: str(base / value) if name in FILES else value for name, value in self.properties.items()}
        return {"url": self.url, **plain, **secrets}


class RegistrySchema(Section):
    """Which schema values or keys are read or written by; by default the newest of the topic's subject."""

    subject: Subject | None = Field(default=None, description="Default: <topic>-value, or <topic>-key")
    text: str | None = Field(
        default=None, min_length=1, description="The schema itself: JSON for avro, the text of a .proto for protobuf"
    )
    message: MessageName | None = Field(
        default=None, description="Which message of a Protobuf schema, with its package. Default: its first one"
    )
