"""How to reach Kafka, and the topics that Tandem itself needs there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from tandem.manifest.kafka_properties import FILES, plain_property, secret_property
from tandem.manifest.secrets import SecretReference, resolve_all
from tandem.manifest.values import BootstrapServers, Count, Section, Topic


class TopicNames(Section):
    """The topics that Tandem writes for itself; those left out are named after the job."""

    ordering: Topic | None = Field(
        default=None, description="Proposals: cuts, claims, determinants. Default: <job>.ordering"
    )
    commits: Topic | None = Field(default=None, description="One marker per published epoch. Default: <job>.commits")
    dead_letter: Topic | None = Field(
        default=None, description="Records that cannot be used. Default: <job>.dead-letter"
    )
    checkpoints: Topic | None = Field(
        default=None, description="The state's changes, for standbys. Default: <job>.checkpoints"
    )


class KafkaSpec(Section):
    """The Kafka cluster of all sources and sinks."""

    bootstrap_servers: BootstrapServers = Field(description="host:port, several separated by commas")
    properties: Mapping[Annotated[str, AfterValidator(plain_property)], str] = Field(
        default_factory=dict, description="Passed to librdkafka: connection, security, buffers, logging"
    )
    secret_properties: Mapping[Annotated[str, AfterValidator(secret_property)], SecretReference] = Field(
        default_factory=dict, description="Passed to librdkafka, each value read from the environment or a file"
    )
    topics: TopicNames = TopicNames()
    replication_factor: Count = Field(default=1, ge=1, le=32_767, description="Of the topics that Tandem creates")

    def client_properties(self, environ: Mapping[str, str], base: Path = Path()) -> dict[str, str]:
        """What every client of this cluster is configured with, secrets included: for librdkafka only, never for a log.

        `environ` : the environment's variables, for `secretProperties` of kind `env`.
        `base` : the folder that relative secret files start from: the manifest's.

        Raises `SecretError`: a variable or file that a secret is to come from is missing or empty.
        """
        secrets = resolve_all(self.secret_properties, environ, base, "spec.kafka")
        servers = ",".join(server.strip() for server in self.bootstrap_servers.split(","))
        plain = {name: _path(value, base) if name in FILES else value for name, value in self.properties.items()}
        return {"bootstrap.servers": servers, **plain, **secrets}


def _path(value: str, base: Path) -> str:
    """A path from the manifest's folder if there is such a file; else as it is, e.g. librdkafka's `probe`."""
    return str(base / value) if (base / value).exists() else value
