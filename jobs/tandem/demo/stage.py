"""The stage of the demo: a Kafka and a ZooKeeper of its own, topics, and the examples' manifests with their addresses."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from ruamel.yaml import YAML

from tandem.demo.acts import ACTS, Act
from tandem.devservers import BrokerJava, KafkaBroker, ZooKeeperServer
from tandem.engine.jvm.jars import Jars
from tandem.engine.jvm.java import java_executable
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import Topics
from tandem.manifest.models import default_checkpoint_directory


@dataclass(frozen=True, slots=True)
class Servers:
    """What all acts share. `logs`: of the servers."""

    folder: Path
    bootstrap: str
    zookeeper: str
    connection: KafkaConnection
    logs: tuple[Path, ...]

    def set_for(self, act: Act, mode: str) -> Path:
        """Make the act's topics; returns its manifest."""
        Topics(self.connection).ensure(act.topics)
        return _write_manifest(self, act, mode)

    def checkpoint(self, act: Act) -> Path:
        """Where the act's replicas keep state."""
        return default_checkpoint_directory(f"{self.folder.name}-{act.name}")


@contextmanager
def running(say: Callable[[str], None]) -> Iterator[Servers]:
    """Start the servers; take everything away at the end. `say` : called with what is being waited for.

    Raises `EmbeddedError`, for example if Java is missing.
    """
    java_executable()
    say("Kafka's jars (downloaded once, about 20 s)")
    jars = Jars.resolve()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tandem-demo-", ignore_cleanup_errors=True))
        )
        say("ZooKeeper")
        zookeeper = stack.enter_context(ZooKeeperServer(folder / "zookeeper"))
        say("Kafka")
        kafka = stack.enter_context(KafkaBroker(folder / "kafka", java=BrokerJava(jars=jars)))
        connection = KafkaConnection({"bootstrap.servers": kafka.bootstrap}).silent
        logs = (zookeeper.log_file, kafka.log_file)
        servers = Servers(folder, kafka.bootstrap, zookeeper.connect, connection, logs)
        for act in ACTS.values():
            stack.callback(shutil.rmtree, servers.checkpoint(act), ignore_errors=True)
        yield servers


def _write_manifest(servers: Servers, act: Act, mode: str) -> Path:
    """The example's own; only addresses, the mode and the place of the checkpoint are filled in."""
    yaml = YAML()
    with as_file(files(f"tandem.examples.{act.name}")) as example:
        tree = yaml.load(example / f"{act.name}.yaml")
    spec = tree["spec"]
    spec["kafka"]["bootstrapServers"] = servers.bootstrap
    spec["zookeeper"]["connect"] = servers.zookeeper
    spec["ordering"]["mode"] = mode
    spec["checkpoint"] = {"directory": str(servers.checkpoint(act))}
    path = servers.folder / act.name / f"{act.name}.yaml"
    path.parent.mkdir()
    yaml.dump(tree, path)
    return path
