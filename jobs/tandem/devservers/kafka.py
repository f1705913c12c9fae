"""A real Kafka broker (KRaft: broker and controller in one) as a child process."""

import base64
import logging
import re
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tandem.devservers.properties import properties
from tandem.devservers.server import Server, accepts, free_ports
from tandem.engine.jvm.jars import Jars
from tandem.engine.jvm.java import java_executable
from tandem.listening import in_brackets, is_everywhere
from tandem.process.child import Command, tail
from tandem.process.errors import EmbeddedError, ServerError
from tandem.waiting import Deadline

MAIN_CLASS = "kafka.Kafka"
FORMAT_CLASS = "kafka.tools.StorageTool"
NODE_ID = 1
_SAFE_WORD = re.compile(r"[A-Za-z0-9._~+@-]+")  # goes between the quotes of a JAAS line


@dataclass(frozen=True)
class BrokerSettings:
    """Settings of one broker; `sasl_port` and `sasl_users` (name → password) belong to a second listener."""

    data_dir: Path
    port: int
    controller_port: int
    host: str = "127.0.0.1"
    advertised: str = "127.0.0.1"
    sasl_port: int | None = None
    sasl_users: Mapping[str, str] = field(default_factory=dict)
    heap: str = "512m"
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if is_everywhere(self.advertised):
            there = self.advertised
            raise EmbeddedError(f"clients cannot connect to {there}: pass advertised=… when host is {there}")
        for word in (*self.sasl_users, *self.sasl_users.values()):
            if not _SAFE_WORD.fullmatch(word):
                raise EmbeddedError(
                    "a SASL user or password may only hold letters, digits and . _ ~ + @ -, and not be empty"
                )

    def properties(self) -> str:
        """The broker's `server.properties`."""
        lines = {**self._listeners(), **self._small_machine(), **self._sasl(), **self.extra}
        return properties(lines)

    def _listeners(self) -> dict[str, object]:
        listeners = {"PLAINTEXT": self.port, **({"SASL": self.sasl_port} if self.sasl_port else {})}
        here = [f"{name}://{in_brackets(self.host)}:{port}" for name, port in listeners.items()]
        there = [f"{name}://{in_brackets(self.advertised)}:{port}" for name, port in listeners.items()]
        return {
            "process.roles": "broker,controller",
            "node.id": NODE_ID,
            "log.dirs": self.data_dir / "data",
            "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": ",".join([*here, f"CONTROLLER://127.0.0.1:{self.controller_port}"]),
            "advertised.listeners": ",".join(there),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
        }

    @staticmethod
    def _small_machine() -> dict[str, object]:
        return {
            "auto.create.topics.enable": "false",
            "default.replication.factor": 1,
            "min.insync.replicas": 1,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4,
            "share.coordinator.state.topic.replication.factor": 1,
            "share.coordinator.state.topic.min.isr": 1,
            "share.coordinator.state.topic.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            "broker.heartbeat.interval.ms": 500,
            "broker.session.timeout.ms": 3000,  # a killed broker may only come back when its old session is over
            "num.network.threads": 2,
            "num.io.threads": 4,
            "background.threads": 2,
            "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,  # the default takes 128 MiB of the heap at start
        }

    def _sasl(self) -> dict[str, object]:
        if self.sasl_port is None:
            return {}
        users = " ".join(f'user_{name}="{password}"' for name, password in self.sasl_users.items())
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl.plain.sasl.jaas.config": f"{module} required {users};",
        }


@dataclass(frozen=True)
class BrokerJava:
    """What a broker's Java runs with: its -Xmx, and Kafka's jars; None: those of the default cache."""

    heap: str = "512m"
    jars: Jars | None = None


class KafkaBroker(Server):
    """A one-broker Kafka cluster whose data survives restarts. Topics are never created by themselves.

    `data_dir` : folder for data, configuration and log; made and formatted if missing.
    `port` : 0 picks a free one, kept over restarts.
    `host` : address to listen on.
    `advertised` : address to which clients connect; `host` by default.
    `sasl_users` : name → password. Opens a second listener, `sasl_bootstrap`, that wants SASL_PLAINTEXT with PLAIN.
    `extra` : more broker properties; they win over the ones set here.
    `java` : heap and jars; jars of the default cache are resolved, if need be, at the first start.

    >>> with KafkaBroker(Path("kafka")) as kafka:  # doctest: +SKIP
    ...     producer = Producer({"bootstrap.servers": kafka.bootstrap})
    """

    name = "kafka"

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        advertised: str | None = None,
        sasl_users: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
        java: BrokerJava | None = None,
    ) -> None:
        java = java or BrokerJava()
        super().__init__(data_dir, host)
        plain, controller, sasl = free_ports(3, host)
        self.settings = BrokerSettings(
            data_dir=self.data_dir,
            port=port or plain,
            controller_port=controller,
            host=host,
            advertised=advertised or host,
            sasl_port=sasl if sasl_users else None,
            sasl_users=dict(sasl_users or {}),
            heap=java.heap,
            extra=dict(extra or {}),
        )
        self._jars = java.jars

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients, without authentication."""
        return f"{in_brackets(self.settings.advertised)}:{self.settings.port}"

    @property
    def sasl_bootstrap(self) -> str:
        """`bootstrap.servers` of the listener that wants SASL_PLAINTEXT with mechanism PLAIN."""
        if self.settings.sasl_port is None:
            raise EmbeddedError("this broker has no SASL listener: pass sasl_users={name: password}")
        return f"{in_brackets(self.settings.advertised)}:{self.settings.sasl_port}"

    def _ports(self) -> tuple[int, ...]:
        ports = (self.settings.port, self.settings.controller_port, self.settings.sasl_port)
        return tuple(port for port in ports if port is not None)

    def _prepare(self, deadline: Deadline) -> Command:
        config = self.data_dir / "server.properties"
        config.write_text(self.settings.properties())
        if not (self.data_dir / "data" / "meta.properties").exists():
            self._format(config, deadline)
        heap = (f"-Xmx{self.settings.heap}",)
        return Command((*self._java(), *heap, *self._java_options(), MAIN_CLASS, str(config)), self.log_file)

    def _java(self) -> tuple[str, ...]:
        if self._jars is None:
            self._jars = Jars.resolve()
        return (str(java_executable()), "-cp", self._jars.kafka_classpath())

    def _format(self, config: Path, deadline: Deadline) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = (
            *self._java(),
            *self._java_options(),
            FORMAT_CLASS,
            "format",
            f"--cluster-id={cluster_id}",
            "-c",
            str(config),
        )
        with self.log_file.open("ab") as log:
            try:
                code = subprocess.call(
                    tool, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=deadline.remaining_s
                )
            except subprocess.TimeoutExpired:
                code = -1
        if code != 0:
            raise ServerError(f"cannot format {self.data_dir} for Kafka (exit code {code}):\n{tail(self.log_file)}")

    def _answers(self) -> bool:
        host, port = self.settings.host, self.settings.port
        if not accepts(port, host):  # spares the client's complaints about refused connections
            return False
        try:
            client = AdminClient({"bootstrap.servers": f"{in_brackets(host)}:{port}"}, logger=_SILENT)
            cluster = client.describe_cluster(request_timeout=1.0).result(timeout=2.0)
        except (KafkaException, TimeoutError):
            return False
        return any(node.id == NODE_ID for node in cluster.nodes)


_SILENT = logging.getLogger(f"{__name__}.probe")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
