"""The Kafka and the ZooKeeper of `tandem dev`: on ports that are known, with a state that outlives them."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tandem.devservers import BrokerJava, EmbeddedError, KafkaBroker, ZooKeeperServer, is_free
from tandem.devtools.addresses import HOST, KAFKA_PORT, ZOOKEEPER_PORT
from tandem.engine.jvm.jars import Jars
from tandem.engine.jvm.java import java_executable


@dataclass(frozen=True, slots=True)
class Place:
    """Where the servers are: their ports, and the folder of their data and logs."""

    state: Path
    kafka_port: int = KAFKA_PORT
    zookeeper_port: int = ZOOKEEPER_PORT


@dataclass(frozen=True, slots=True)
class DevServers:
    """Both, running."""

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer

    def ended(self) -> str:
        """Says which one has ended by itself, and where its log is; empty: none."""
        ended = [server for server in (self.kafka, self.zookeeper) if not server.running]
        return "; ".join(f"{server.name} has ended; its log is {server.log_file}" for server in ended)


@contextmanager
def running(place: Place, fresh: bool = False) -> Iterator[DevServers]:
    """Start both, and stop them at the end. `fresh` : without what is kept there. Downloads Kafka's jars if need be.

    Raises `EmbeddedError`: no Java, a port is taken, another one uses the folder, or a server does not start.
    """
    java_executable()
    with ExitStack() as stack:
        stack.enter_context(_alone(place.state))
        _check_port(place.kafka_port, "--kafka-port")
        _check_port(place.zookeeper_port, "--zookeeper-port")
        folders = place.state / "kafka", place.state / "zookeeper"
        if fresh:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
        java = BrokerJava(jars=Jars.resolve())
        zookeeper = stack.enter_context(ZooKeeperServer(folders[1], port=place.zookeeper_port, host=HOST))
        kafka = stack.enter_context(KafkaBroker(folders[0], port=place.kafka_port, host=HOST, java=java))
        yield DevServers(kafka, zookeeper)


def _check_port(port: int, option: str) -> None:
    if not is_free(port, HOST):
        raise EmbeddedError(
            f"port {port} of {HOST} is taken, perhaps by another `tandem dev`: end what listens there, or choose another "
            f"port with {option}, and in the manifest"
        )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two servers must not write the same files, whatever their ports. The folder is no business of a repository."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EmbeddedError(
                f"another `tandem dev` keeps its state in {folder}: end it, or choose another folder with --state"
            ) from error
        yield
