"""The stage of the demo: a Kafka and a ZooKeeper of its own, topics, and the example's manifest with their addresses."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from ruamel.yaml import YAML

from tandem.devservers import BrokerJava, KafkaBroker, ZooKeeperServer
from tandem.engine.jvm.jars import Jars
from tandem.engine.jvm.java import java_executable
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest.models import default_checkpoint_directory

_TOPICS = (NewTopic("flights", 3), NewTopic("weather", 1), NewTopic("delays", 2), NewTopic("alerts", 1))
_EXAMPLE = "tandem.examples.flights"


@dataclass(frozen=True, slots=True)
class Stage:
    """What the job needs. `logs`: of the servers."""

    manifest: Path
    connection: KafkaConnection
    logs: tuple[Path, ...]


@contextmanager
def built(mode: str, say: Callable[[str], None]) -> Iterator[Stage]:
    """Start the servers, make the topics; take everything away at the end. `say` is told what is being waited for.

    Raises `EmbeddedError`, for example if Java is missing.
    """
    java_executable()
    say("Kafka's jars (downloaded once, about 20 s)")
    jars = Jars.resolve()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tandem-demo-", ignore_cleanup_errors=True))
        )
        checkpoint = default_checkpoint_directory(folder.name)
        stack.callback(shutil.rmtree, checkpoint, ignore_errors=True)
        say("ZooKeeper")
        zookeeper = stack.enter_context(ZooKeeperServer(folder / "zookeeper"))
        say("Kafka")
        kafka = stack.enter_context(KafkaBroker(folder / "kafka", java=BrokerJava(jars=jars)))
        connection = KafkaConnection({"bootstrap.servers": kafka.bootstrap, "log_level": "0"})
        Topics(connection).ensure(_TOPICS)
        manifest = _write_manifest(folder / "job", kafka.bootstrap, zookeeper.connect, mode, checkpoint)
        yield Stage(manifest, connection, (zookeeper.log_file, kafka.log_file))


def _write_manifest(folder: Path, bootstrap: str, zookeeper: str, mode: str, checkpoint: Path) -> Path:
    """The example's own; only addresses, the mode and the place of the checkpoint are filled in."""
    yaml = YAML()
    with as_file(files(_EXAMPLE)) as example:
        tree = yaml.load(example / "flights.yaml")
    folder.mkdir()
    spec = tree["spec"]
    spec["kafka"]["bootstrapServers"] = bootstrap
    spec["zookeeper"]["connect"] = zookeeper
    spec["ordering"]["mode"] = mode
    spec["checkpoint"] = {"directory": str(checkpoint)}
    path = folder / "flights.yaml"
    yaml.dump(tree, path)
    return path
