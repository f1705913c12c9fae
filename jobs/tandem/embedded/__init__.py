"""A real Kafka broker and a real ZooKeeper as local child processes."""

from tandem.embedded.errors import EmbeddedError, JarsError, JavaMissingError, ServerError
from tandem.embedded.jars import Jars, file_system_jar, spark_classpath
from tandem.embedded.kafka import BrokerJava, BrokerSettings, KafkaBroker
from tandem.embedded.zookeeper import ZooKeeperServer, ZooKeeperSettings

__all__ = [
    "BrokerJava",
    "BrokerSettings",
    "EmbeddedError",
    "Jars",
    "JarsError",
    "JavaMissingError",
    "KafkaBroker",
    "ServerError",
    "ZooKeeperServer",
    "ZooKeeperSettings",
    "file_system_jar",
    "spark_classpath",
]
