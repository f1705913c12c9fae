"""The servers of `tandem dev`: on ports that are known, with a state that outlives them."""

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tandem.devservers import (
    BrokerJava,
    EmbeddedError,
    KafkaBroker,
    PostgresServer,
    RegistryServer,
    Server,
    ZooKeeperServer,
    is_free,
    postgres_binaries,
    registry_jar,
)
from tandem.devtools.addresses import HOST, KAFKA_PORT, ZOOKEEPER_PORT, Addresses
from tandem.engine.jvm.jars import Jars
from tandem.engine.jvm.java import java_executable


@dataclass(frozen=True, slots=True)
class Place:
    """Where the servers are: their ports (None: not wanted), and the folder of their data and logs."""

    state: Path
    kafka_port: int = KAFKA_PORT
    zookeeper_port: int = ZOOKEEPER_PORT
    registry_port: int | None = None
    postgres_port: int | None = None

    def ports(self) -> dict[str, int]:
        """The ports of the servers that are wanted: option → port."""
        given = {
            "--kafka-port": self.kafka_port,
            "--zookeeper-port": self.zookeeper_port,
            "--registry-port": self.registry_port,
            "--postgres-port": self.postgres_port,
        }
        return {option: port for option, port in given.items() if port is not None}


@dataclass(frozen=True, slots=True)
class DevServers:
    """All that are wanted, running."""

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer
    registry: RegistryServer | None
    postgres: PostgresServer | None

    @property
    def addresses(self) -> Addresses:
        """Where clients find them."""
        return Addresses(
            self.kafka.bootstrap,
            self.zookeeper.connect,
            None if self.registry is None else self.registry.url,
            None if self.postgres is None else self.postgres.address,
        )

    def ended(self) -> str:
        """Says which one has ended by itself, and where its log is; empty: none."""
        servers: tuple[Server | None, ...] = (self.kafka, self.zookeeper, self.registry, self.postgres)
        ended = [server for server in servers if server is not None and not server.running]
        return "; ".join(f"{server.name} has ended; its log is {server.log_file}" for server in ended)


@contextmanager
def running(place: Place, fresh: bool = False) -> Iterator[DevServers]:
    """Start them, and stop them at the end. `fresh` : without what is kept there. Downloads what they need, once.

    Raises `EmbeddedError`: no Java, a port is taken, another one uses the folder, it cannot be written, or a server does not
    start.
    """
    java_executable()
    with ExitStack() as stack:
        try:
            servers = _started(place, fresh, stack)
        except OSError as error:
            raise EmbeddedError(
                f"cannot write into {place.state}: {error}. Give another folder with --state"
            ) from error
        yield servers


def _started(place: Place, fresh: bool, stack: ExitStack) -> DevServers:
    folders = {name: place.state / name for name in ("kafka", "zookeeper", "registry", "postgres")}
    stack.enter_context(_alone(place.state))
    _check_ports(place.ports())
    if fresh:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
    java = BrokerJava(jars=Jars.resolve())
    registry = postgres = None
    if place.registry_port is not None:
        registry_jar()
        registry = RegistryServer(folders["registry"], port=place.registry_port, host=HOST)
    if place.postgres_port is not None:
        postgres_binaries()
        postgres = PostgresServer(folders["postgres"], port=place.postgres_port, host=HOST)
    zookeeper = ZooKeeperServer(folders["zookeeper"], port=place.zookeeper_port, host=HOST)
    kafka = KafkaBroker(folders["kafka"], port=place.kafka_port, host=HOST, java=java)
    for server in (zookeeper, kafka, registry, postgres):
        if server is not None:
            stack.enter_context(server)
    return DevServers(kafka, zookeeper, registry, postgres)


def _check_ports(ports: Mapping[str, int]) -> None:
    options: dict[int, str] = {}
    for option, port in ports.items():
        if port in options:
            raise EmbeddedError(f"{options[port]} and {option} are both {port}: choose another port for one of them")
        options[port] = option
    for option, port in ports.items():
        if not is_free(port, HOST):
            raise EmbeddedError(
                f"port {port} of {HOST} is taken, perhaps by another `tandem dev`: end what listens there, or choose "
                f"another port with {option}, and in the manifest"
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
