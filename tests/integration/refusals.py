"""A job that a test spoils, and what its processes say when they refuse to run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.process.ending import End
from tandem.process.info import ExitCode

COPY = "def job(events):\n    return events.select('key', 'value')\n"


class Refusals:
    """A job whose topics are all there, in a folder of its own, to be spoilt by a test."""

    def __init__(self, folder: Path, bootstrap: str, name: str) -> None:
        self.folder, self.name = folder, name
        self.bootstrap = bootstrap
        self.connection = KafkaConnection({"bootstrap.servers": bootstrap})
        self.topics = Topics(self.connection)
        self.topics.ensure([NewTopic(f"{name}.in"), NewTopic(f"{name}.out", 2)])

    def feed(self, *values: str) -> None:
        """Append records to the input."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True})
        for value in values:
            producer.produce(f"{self.name}.in", value)
        assert producer.flush(60) == 0

    def manifest(self, code: str = COPY, **spec: Any) -> Path:
        """The job's manifest; `spec` overrides its fields."""
        (self.folder / "job.py").write_text(code)
        body = {
            "job": {"file": "job.py"},
            "replicas": 1,
            "kafka": {"bootstrapServers": self.bootstrap},
            "sources": [{"name": "events", "topics": [f"{self.name}.in"]}],
            "sinks": [{"name": "out", "topic": f"{self.name}.out"}],
            "ordering": {"mode": "heartbeat", "generators": 1},
            "checkpoint": {"directory": str(self.folder / "checkpoint")},
            **spec,
        }
        metadata = {"name": self.name}
        manifest = {
            "apiVersion": "tandem.dev/v1alpha1",
            "kind": "ReplicatedStreamJob",
            "metadata": metadata,
            "spec": body,
        }
        path = self.folder / "job.yaml"
        path.write_text(json.dumps(manifest))
        return path

    def refused(
        self, program: str, manifest: Path, meanwhile: Callable[[], None] = lambda: None, **environ: str
    ) -> End:
        """Run the program until it refuses; why it did. Its reason is one line of text. `meanwhile`: what is done to it."""
        log = self.folder / f"{program}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", f"tandem.{program}", str(manifest), "--run-directory", str(self.folder / "run")],
                env={**os.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
            try:
                meanwhile()
                code = process.wait(180)
            finally:
                process.kill()
        assert code == ExitCode.REFUSED, log.read_text()
        end = End.read(self.folder / "run", f"{program}-0")
        assert end is not None, log.read_text()
        assert end.pid == process.pid
        assert end.reason
        assert "\n" not in end.reason
        return end
