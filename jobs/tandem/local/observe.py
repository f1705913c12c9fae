"""PeriodicCheck at a running job from outside: its processes' metrics, and the newest epoch marker."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TandemKafkaError
from tandem.kafka.history import markers_back_to
from tandem.local.reported import last_failover, orderer_status, replica_status, source_statuses
from tandem.local.rundir import ProcessState, RunDirectory
from tandem.local.scrape import Sample, scrape
from tandem.local.status import JobStatus, ReplicaStatus
from tandem.local.supervisor import LocalJob
from tandem.manifest import Manifest
from tandem.process.info import ProcessInfo
from tandem.protocol.values import Marker

_KAFKA_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class _Look:
    """What was scraped at `at` (monotonic, s): process id → metrics."""

    at: float
    samples: Mapping[int, Sample]


class Observer:
    """PeriodicCheck again and again; rates and quantiles are over the last `window_s` seconds. Not thread-safe.

    `processes` : tells which processes the job has and how they stand.
    """

    def __init__(
        self,
        manifest: Manifest,
        directory: RunDirectory,
        processes: Callable[[], Sequence[ProcessState]],
        window_s: float = 10.0,
    ) -> None:
        self._manifest = manifest
        self._directory = directory
        self._processes = processes
        self._window_s = window_s
        self._looks: deque[_Look] = deque()
        # Kafka being away is shown as trouble; librdkafka's own lines would tear the screen.
        self._connection = KafkaConnection(manifest.kafka_properties(os.environ)).silent

    @staticmethod
    def of(job: LocalJob, window_s: float = 10.0) -> Observer:
        """The observer of a job that this process runs."""
        return Observer(job.manifest, job.directory, job.processes, window_s)

    def look(self) -> JobStatus:
        """How the job stands now; takes about a second at most, also when Kafka or a process does not answer."""
        states = self._processes()
        infos = self._announced(states)
        self._remember(_Look(time.monotonic(), _scrape_all(states, infos)))
        markers, trouble = self._last_markers()
        owners = Counter(marker.owner for marker in markers)
        newest = max(markers, key=lambda marker: marker.epoch, default=None)
        elects = self._manifest.spec.ordering.mode == "leader"
        latest = self._looks[-1].samples
        return JobStatus(
            job=self._manifest.name,
            at=time.time(),
            replicas=tuple(
                self._replica(state, infos.get(state.name), owners) for state in states if state.kind == "replica"
            ),
            orderers=tuple(
                orderer_status(state, latest.get(state.pid), elects) for state in states if state.kind != "replica"
            ),
            publisher=None if newest is None else replica_of(self._manifest.name, newest.owner),
            published_epoch=None if newest is None else newest.epoch,
            trouble=trouble,
            sources=source_statuses(latest.values()),
            mode=self._manifest.spec.ordering.mode,
            delivery=self._manifest.spec.delivery,
            failover=last_failover(latest.values()),
        )

    def _replica(self, state: ProcessState, info: ProcessInfo | None, owners: Counter[str]) -> ReplicaStatus:
        now = self._looks[-1]
        first = next((look for look in self._looks if state.pid in look.samples), now)
        earlier = None if first is now else first.samples[state.pid]
        incarnation = "" if info is None else info.incarnation
        sample = now.samples.get(state.pid)
        if self._each_for_itself:
            share = float(sample is not None and sample.count("tandem_epochs_published_total") > 0)
        else:
            share = owners[incarnation] / max(1, owners.total())
        port = None if info is None else info.metrics_port
        return replica_status(state, incarnation, sample, earlier if sample else None, now.at - first.at, share, port)

    @property
    def _each_for_itself(self) -> bool:
        return self._manifest.spec.ordering.mode == "none"

    def _announced(self, states: Sequence[ProcessState]) -> dict[str, ProcessInfo]:
        """What the present runs wrote; the files of killed ones stay behind."""
        pids = {state.name: state.pid for state in states if state.running}
        return {name: info for name, info in self._directory.announced().items() if pids.get(name) == info.pid}

    def _remember(self, look: _Look) -> None:
        self._looks.append(look)
        while look.at - self._looks[0].at > self._window_s:
            self._looks.popleft()

    def _last_markers(self) -> tuple[list[Marker], str]:
        if self._each_for_itself:  # every replica publishes all, into a log of its own
            return [], ""
        topic = self._manifest.model.topics.commits
        try:
            return [marker for _, marker in markers_back_to(self._connection, topic, None, _KAFKA_TIMEOUT_S)], ""
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            absent = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
            return [], "" if reason.code() in absent else f"Kafka: {reason.str()}"
        except TandemKafkaError as error:
            return [], f"Kafka: {error}"


def replica_of(job: str, incarnation: str) -> str:
    """The name of the replica to which an incarnation belongs: `flights.replica-0.1a2b3c4d` → `replica-0`."""
    return incarnation.removeprefix(f"{job}.").rpartition(".")[0]


def _scrape_all(states: Sequence[ProcessState], infos: Mapping[str, ProcessInfo]) -> dict[int, Sample]:
    asked = [infos[state.name] for state in states if state.state == "running" and state.name in infos]
    if not asked:
        return {}
    with ThreadPoolExecutor(len(asked), "scrape") as pool:
        samples = pool.map(lambda info: scrape(info.metrics_port), asked)
        return {info.pid: sample for info, sample in zip(asked, samples, strict=True) if sample is not None}
