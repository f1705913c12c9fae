"""A real ZooKeeper server as a child process, from the jars that PySpark brings."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tandem.devservers.properties import properties
from tandem.devservers.server import Server, free_ports
from tandem.engine.jvm.java import java_executable
from tandem.engine.jvm.pyspark_files import LOGGING, pyspark_jars
from tandem.listening import in_brackets
from tandem.process.child import Command
from tandem.waiting import Deadline

MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JARS = (
    "zookeeper-3*",
    "zookeeper-jute-*",
    "netty-*",
    "metrics-core-*",
    "snappy-java-*",
    "commons-io-*",
    "commons-cli-*",
)


@dataclass(frozen=True)
class ZooKeeperSettings:
    """Settings of one standalone server.

    Sessions may last from 2 to 20 ticks: with the tick of 500 ms, from 1 s to 10 s.
    """

    data_dir: Path
    port: int
    host: str = "127.0.0.1"
    tick_ms: int = 500
    heap: str = "64m"
    extra: Mapping[str, str] = field(default_factory=dict)

    def properties(self) -> str:
        """The server's configuration file."""
        lines = {
            "dataDir": self.data_dir / "data",
            "clientPort": self.port,
            "clientPortAddress": self.host,
            "tickTime": self.tick_ms,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "ruok,srvr,mntr,cons",
            "preAllocSize": 1024,  # KiB of log allocated ahead; the default is 64 MiB
            "autopurge.purgeInterval": 1,
            "autopurge.snapRetainCount": 3,
            **self.extra,
        }
        return properties(lines)


class ZooKeeperServer(Server):
    """A standalone ZooKeeper whose data survives restarts.

    `data_dir` : folder for data, configuration and log; made if missing.
    `port` : 0 picks a free one, kept over restarts.
    `host` : address to listen on.
    `tick_ms` : ZooKeeper's unit of time; sessions last from 2 to 20 of them.
    `heap` : Java's -Xmx.
    `extra` : more lines of the configuration; they win over the ones set here.

    >>> with ZooKeeperServer(Path("zk")) as zookeeper:  # doctest: +SKIP
    ...     client = KazooClient(zookeeper.connect)
    """

    name = "zookeeper"

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        tick_ms: int = 500,
        heap: str = "64m",
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(data_dir, host)
        port = port or free_ports(1, host)[0]
        self.settings = ZooKeeperSettings(self.data_dir, port, host, tick_ms, heap, dict(extra or {}))

    @property
    def connect(self) -> str:
        """`host:port` for clients."""
        return f"{in_brackets(self.settings.host)}:{self.settings.port}"

    def _ports(self) -> tuple[int, ...]:
        return (self.settings.port,)

    def _prepare(self, deadline: Deadline) -> Command:  # noqa: ARG002
        config = self.data_dir / "zoo.cfg"
        config.write_text(self.settings.properties())
        classpath = os.pathsep.join(map(str, pyspark_jars(*LOGGING, *JARS)))
        java = (str(java_executable()), f"-Xmx{self.settings.heap}", "-XX:+UseSerialGC", *self._java_options())
        quiet = "-Dzookeeper.jmx.log4j.disable=true"
        return Command((*java, quiet, "-cp", classpath, MAIN_CLASS, str(config)), self.log_file)

    def _answers(self) -> bool:
        """Whether it serves sessions. It answers `ruok` before that, and drops clients that connect in between, or never
        answers them: a NullPointerException keeps it from closing the connection."""
        try:
            with socket.create_connection((self.settings.host, self.settings.port), timeout=1) as connection:
                connection.sendall(b"srvr")
                with connection.makefile("rb") as answer:
                    return b"\nMode: " in answer.read()
        except OSError:
            return False
