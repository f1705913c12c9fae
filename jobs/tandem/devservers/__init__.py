"""A real Kafka broker and a real ZooKeeper as local child processes."""

from tandem.devservers.kafka import BrokerJava, BrokerSettings, KafkaBroker
from tandem.devservers.server import is_free
from tandem.devservers.zookeeper import ZooKeeperServer, ZooKeeperSettings
from tandem.process.errors import EmbeddedError, ServerError

__all__ = [
    "BrokerJava",
    "BrokerSettings",
    "EmbeddedError",
    "KafkaBroker",
    "ServerError",
    "ZooKeeperServer",
    "ZooKeeperSettings",
    "is_free",
]
