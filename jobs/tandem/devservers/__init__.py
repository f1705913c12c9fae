"""A real Kafka, ZooKeeper, schema registry and PostgreSQL as local child processes."""

from tandem.devservers.kafka import BrokerJava, BrokerSettings, KafkaBroker
from tandem.devservers.postgres import POSTGRES_USER, PostgresServer, postgres_binaries
from tandem.devservers.registry import RegistryServer, registry_jar
from tandem.devservers.server import Server, is_free
from tandem.devservers.zookeeper import ZooKeeperServer, ZooKeeperSettings
from tandem.process.errors import EmbeddedError, ServerError

__all__ = [
    "POSTGRES_USER",
    "BrokerJava",
    "BrokerSettings",
    "EmbeddedError",
    "KafkaBroker",
    "PostgresServer",
    "RegistryServer",
    "Server",
    "ServerError",
    "ZooKeeperServer",
    "ZooKeeperSettings",
    "is_free",
    "postgres_binaries",
    "registry_jar",
]
