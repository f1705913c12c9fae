"""Flink's configuration, and what its Java runs with. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Detection = Literal["default", "tuned"]

_TUNED = {
    "heartbeat.interval": "1 s",
    "heartbeat.timeout": "3 s",
    "heartbeat.rpc-failure-threshold": 2,
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": 2_147_483_647,
    "restart-strategy.fixed-delay.delay": "0 s",
    "pekko.ask.timeout": "3 s",
}
_MEMORY = {
    "jobmanager.memory.heap.size": "448m",
    "jobmanager.memory.off-heap.size": "64m",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.task.heap.size": "512m",
    "taskmanager.memory.task.off-heap.size": "0m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
    "taskmanager.memory.managed.size": "0m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
}
_EXPORTS = (
    *("java.rmi/sun.rmi.registry", "java.security.jgss/sun.security.krb5"),
    *(f"jdk.compiler/com.sun.tools.javac.{package}" for package in ("api", "file", "parser", "tree", "util")),
)
_OPENS = (
    *("lang", "net", "io", "nio", "lang.reflect", "text", "time"),
    *("util", "util.concurrent", "util.concurrent.atomic", "util.concurrent.locks"),
)
JAVA_OPTIONS = (
    *(f"--add-exports={package}=ALL-UNNAMED" for package in _EXPORTS),
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENS),
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
)
"""What Flink's own `config.yaml` has for Java 17."""
JOBMANAGER_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx448m", "-XX:MaxMetaspaceSize=256m")
TASKMANAGER_OPTIONS = (
    "-XX:+UseG1GC",
    "-Xmx640m",
    "-Xms640m",
    "-XX:MaxDirectMemorySize=192m",
    "-XX:MaxMetaspaceSize=256m",
)
LOG4J2 = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} %m%n
"""


@dataclass(frozen=True, slots=True)
class FlinkSettings:
    """How soon a dead TaskManager is noticed, how often a checkpoint is taken (ms), where all listen, where files go."""

    detection: Detection
    checkpoint_ms: int
    rpc_port: int
    rest_port: int
    checkpoints: Path
    scratch: Path

    def config(self) -> str:
        """Flink's `config.yaml`."""
        here = "127.0.0.1"
        lines: dict[str, object] = {
            "jobmanager.rpc.address": here,
            "jobmanager.rpc.port": self.rpc_port,
            "jobmanager.bind-host": here,
            "rest.address": here,
            "rest.bind-address": here,
            "rest.port": self.rest_port,
            "rest.bind-port": self.rest_port,
            "taskmanager.host": here,
            "taskmanager.bind-host": here,
            "taskmanager.numberOfTaskSlots": 1,
            "taskmanager.cpu.cores": 1.0,
            "parallelism.default": 1,
            "io.tmp.dirs": self.scratch,
            "execution.checkpointing.interval": f"{self.checkpoint_ms} ms",
            "execution.checkpointing.storage": "filesystem",
            "execution.checkpointing.dir": self.checkpoints.absolute().as_uri(),
            **_MEMORY,
            **(_TUNED if self.detection == "tuned" else {}),
        }
        return "".join(f"{key}: {value}\n" for key, value in lines.items())
