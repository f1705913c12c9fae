"""Where `tandem dev` has its servers, and whether a manifest names them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tandem.devservers import POSTGRES_USER
from tandem.manifest import Manifest, PostgresSink

HOST: Final = "127.0.0.1"
KAFKA_PORT: Final = 9092
ZOOKEEPER_PORT: Final = 2181
REGISTRY_PORT: Final = 8081
POSTGRES_PORT: Final = 5432
PASSWORD_VARIABLE: Final = "PG_PASSWORD"  # noqa: S105
"""Holds PostgreSQL's password, unless the manifest names another one."""
KAFKA: Final = f"{HOST}:{KAFKA_PORT}"
ZOOKEEPER: Final = f"{HOST}:{ZOOKEEPER_PORT}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Of the servers that run: host:port, a URL for the registry; None: it does not run."""

    kafka: str
    zookeeper: str
    registry: str | None = None
    postgres: str | None = None


def postgres_sinks(manifest: Manifest) -> dict[str, PostgresSink]:
    """The sinks in PostgreSQL, by name."""
    return {sink.name: sink.postgres for sink in manifest.spec.sinks if sink.postgres is not None}


def databases(manifest: Manifest, postgres: str) -> tuple[str, ...]:
    """The databases that the job's sinks have in the server at `postgres`."""
    return tuple(sorted({sink.database for sink in postgres_sinks(manifest).values() if _at(sink) == postgres}))


def password_variable(manifest: Manifest | None) -> str:
    """The environment variable from which the job takes PostgreSQL's password."""
    sinks = () if manifest is None else postgres_sinks(manifest).values()
    named = (sink.password.env for sink in sinks if sink.password is not None and sink.password.env is not None)
    return next(named, PASSWORD_VARIABLE)


def named_elsewhere(manifest: Manifest, here: Addresses) -> Iterator[str]:
    """A sentence for each server that the manifest expects at another address than it has `here`."""
    spec = manifest.spec
    if _numeric(spec.kafka.bootstrap_servers) != here.kafka:
        yield f"it names Kafka at {spec.kafka.bootstrap_servers}; this one is bootstrapServers: {here.kafka}"
    if spec.zookeeper is not None and _numeric(spec.zookeeper.connect.partition("/")[0]) != here.zookeeper:
        yield f"it names ZooKeeper at {spec.zookeeper.connect}; this one is connect: {here.zookeeper}"
    registry = spec.schema_registry
    if here.registry is not None and registry is not None and _numeric(registry.url.rstrip("/")) != here.registry:
        yield f"it names the schema registry at {registry.url}; this one is url: {here.registry}"
    if here.postgres is not None:
        for name, sink in postgres_sinks(manifest).items():
            yield from _postgres_elsewhere(name, sink, here.postgres)


def _postgres_elsewhere(name: str, sink: PostgresSink, postgres: str) -> Iterator[str]:
    host, _, port = postgres.rpartition(":")
    if _at(sink) != postgres:
        yield f"sink {name} names PostgreSQL at {sink.host}:{sink.port}; this one is host: {host}, port: {port}"
    elif sink.user != POSTGRES_USER:
        yield f"sink {name} writes as {sink.user}; the user of this PostgreSQL is user: {POSTGRES_USER}"
    elif sink.password is None:
        yield f"sink {name} has no password; this PostgreSQL wants one, as password: {{env: {PASSWORD_VARIABLE}}}"


def _at(sink: PostgresSink) -> str:
    return _numeric(f"{sink.host}:{sink.port}")


def _numeric(address: str) -> str:
    return address.replace("localhost", HOST)
