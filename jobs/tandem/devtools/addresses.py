"""Where `tandem dev` has its servers, and whether a manifest names them."""

from collections.abc import Iterator
from typing import Final

from tandem.manifest import Manifest

HOST: Final = "127.0.0.1"
KAFKA_PORT: Final = 9092
ZOOKEEPER_PORT: Final = 2181
KAFKA: Final = f"{HOST}:{KAFKA_PORT}"
ZOOKEEPER: Final = f"{HOST}:{ZOOKEEPER_PORT}"


def named_elsewhere(manifest: Manifest, kafka: str, zookeeper: str) -> Iterator[str]:
    """A sentence for each server that the manifest expects at another address than `kafka` and `zookeeper` (host:port)."""
    spec = manifest.spec
    if _numeric(spec.kafka.bootstrap_servers) != kafka:
        yield f"it names Kafka at {spec.kafka.bootstrap_servers}; this one is bootstrapServers: {kafka}"
    if spec.zookeeper is not None and _numeric(spec.zookeeper.connect.partition("/")[0]) != zookeeper:
        yield f"it names ZooKeeper at {spec.zookeeper.connect}; this one is connect: {zookeeper}"


def _numeric(address: str) -> str:
    return address.replace("localhost", HOST)
