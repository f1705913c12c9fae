"""A job that runs on this machine, under load."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from integration.topic_settings import withheld
from integration.traffic import PARTITIONS, Fed
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.local import LocalJob
from tandem.local.observe import Observer
from tandem.local.scrape import Sample, scrape
from tandem.local.status import JobStatus

START_DEADLINE_S = 300.0
_Value = TypeVar("_Value")

JOB = """
from pyspark.sql import functions as F

def job(events):
    number = F.col("value").cast("string")
    copies = events.select("key", "value")
    counts = events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    return {"copies": copies, "counts": counts}
"""


@dataclass(frozen=True)
class Cluster:
    """A broker and a ZooKeeper for one job."""

    kafka: KafkaBroker
    zookeeper: ZooKeeperServer

    @property
    def connection(self) -> KafkaConnection:
        return KafkaConnection({"bootstrap.servers": self.kafka.bootstrap})


def write_manifest(folder: Path, cluster: Cluster, name: str, code: str = JOB, **spec: object) -> Path:
    """A manifest and its job file in `folder`, and the topics; `spec` overrides top-level fields."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.py").write_text(code)
    sinks = spec.get("sinks", [{"name": s, "topic": f"{name}-{s}"} for s in ("copies", "counts")])
    topics = [NewTopic(f"{name}-in", PARTITIONS), *(NewTopic(s["topic"], 1) for s in sinks if "topic" in s)]  # type: ignore[attr-defined]
    Topics(cluster.connection).ensure(topics)
    body: dict[str, object] = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": cluster.kafka.bootstrap},
        "zookeeper": {"connect": cluster.zookeeper.connect},
        "sources": [{"name": "events", "topics": [f"{name}-in"]}],
        "sinks": sinks,
        "ordering": {"mode": "leader", "minEpochInterval": "400ms"},  # leaves the machine some time for restarts
        "checkpoint": {"directory": str(folder / "checkpoint")},
        **spec,
    }
    manifest = {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": name},
        "spec": body,
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(manifest))
    return path


class Workload(Fed):
    """A job that runs on this machine, fed and read."""

    def __init__(self, cluster: Cluster, manifest: Path, name: str, rate: float = 200.0) -> None:
        super().__init__(cluster.kafka.bootstrap, name, rate)
        self.cluster = cluster
        self.job = LocalJob(manifest, manifest.parent / "run")
        self._observer = Observer.of(self.job)

    def close(self) -> None:
        """Stop everything."""
        self.job.stop()
        super().close()

    def publisher(self) -> str:
        """The replica that published the newest epoch."""
        return self._newest(lambda status: status.publisher)

    def other(self) -> str:
        """A replica that did not."""
        return self.publisher_and_other()[1]

    def publisher_and_other(self) -> tuple[str, str]:
        """The replica that published the newest epoch, and one that did not: the next epoch may be the other way round."""
        publisher = self.publisher()
        return publisher, next(name for name in self.job.names if name.startswith("replica") and name != publisher)

    def published_epoch(self) -> int:
        """The newest published epoch."""
        return self._newest(lambda status: status.published_epoch)

    def _newest(self, of: Callable[[JobStatus], _Value | None]) -> _Value:
        """Of the newest marker; a look at a job gives Kafka a second only, and is to be repeated then."""
        found: list[_Value] = []

        def is_known() -> bool:
            value = of(self._observer.look())
            found[:] = [] if value is None else [value]
            return bool(found)

        self.wait(is_known, 30, "something is published, and Kafka tells it")
        return found[0]

    def sample(self, name: str) -> Sample:
        """The metrics of a running process."""
        info = self.job.announcement(name)
        sample = None if info is None else scrape(info.metrics_port, 10.0)
        assert sample is not None, f"{name} tells no metrics\n{self.story()}"
        return sample

    def phases(self, name: str) -> dict[str, float]:
        """How often a running replica has gone through each phase of an epoch."""
        info = self.job.announcement(name)
        assert info is not None, f"{name} does not run\n{self.story()}"
        with urlopen(f"http://127.0.0.1:{info.metrics_port}/metrics", timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        samples = (sample for family in families for sample in family.samples)
        return {s.labels["phase"]: s.value for s in samples if s.name == "tandem_phase_seconds_count"}

    def logged(self, name: str, event: str) -> list[dict[str, Any]]:
        """The lines of a process's log that are about `event`, of all its runs."""
        lines = self.job.log_file(name).read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if f'"event": "{event}"' in line]

    def markers_withheld(self) -> AbstractContextManager[None]:
        """While the block runs, no epoch can be published: the broker refuses the markers."""
        return withheld(self.cluster.kafka.bootstrap, self.job.manifest.model.topics.commits)

    def leader(self) -> str:
        """The orderer that leads."""
        found: list[str] = []

        def one_leads() -> bool:
            found[:] = [orderer.name for orderer in self._observer.look().orderers if orderer.leading]
            return len(found) == 1

        self.wait(one_leads, 60, "one orderer leads")
        return found[0]

    def wait(self, condition: Callable[[], bool], deadline_s: float, what: str) -> None:
        if not self.job.wait_until(condition, deadline_s):
            raise AssertionError(f"not within {deadline_s:.0f} s: {what}\n{self.story()}")

    def both_at_head(self) -> bool:
        """Whether every replica runs and has reached the head of the log."""
        return all(
            replica.alive and replica.ready and replica.epoch >= 0 and replica.lag_epochs <= 2
            for replica in self._observer.look().replicas
            if not replica.standby
        )

    def roles(self) -> tuple[list[str], list[str]]:
        """The active replicas that are at the head, and those that stand by."""
        replicas = [replica for replica in self._observer.look().replicas if replica.alive]
        active = [r.name for r in replicas if not r.standby and r.ready and r.epoch >= 0 and r.lag_epochs <= 2]
        return active, [replica.name for replica in replicas if replica.standby]

    def when_staffed(
        self, active: int, standby: int, deadline_s: float = START_DEADLINE_S
    ) -> tuple[list[str], list[str]]:
        """Wait until so many replicas are active and at the head, and so many stand by, and output flows.

        Returns their names, as seen then: an active is not at the head at every moment.
        """
        found: tuple[list[str], list[str]] = ([], [])

        def staffed() -> bool:
            nonlocal found
            found = self.roles()
            return (len(found[0]), len(found[1])) == (active, standby)

        self.wait(staffed, deadline_s, f"{active} active replicas have caught up and {standby} standbys")
        self.flows_on(1)
        return found

    def when_whole(self) -> None:
        """Wait until all orderers are up, all replicas are at the head and output flows."""
        self.wait(self._is_ordered, START_DEADLINE_S, "orderers that are up")
        self.wait(self.both_at_head, START_DEADLINE_S, "both replicas at the head")
        self.flows_on(1)

    def _is_ordered(self) -> bool:
        """Whether each orderer is up: a test that ends one relies on the others."""
        return all(self.job.is_up(name) for name in self.job.names if not name.startswith("replica-"))

    def story(self) -> str:
        lines = [f"{event.process} {event.text}" for event in self.job.events()]
        for name in self.job.names:
            path = self.job.log_file(name)
            lines += [f"--- {name}", *(path.read_text(errors="replace").splitlines()[-12:] if path.exists() else [])]
        return "\n".join(line[:600] for line in lines)


@contextmanager
def running(folder: Path, cluster: Cluster, name: str, **spec: object) -> Iterator[Workload]:
    """A job under load with all its replicas at the head; nothing of it runs afterwards. `spec`: as `write_manifest`."""
    workload = Workload(cluster, write_manifest(folder, cluster, name, **spec), name)  # type: ignore[arg-type]
    workload.job.start()
    try:
        workload.when_whole()
        yield workload
    finally:
        workload.close()
