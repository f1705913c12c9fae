"""Reads both logs of a job as any committed reader does, and notes when each epoch arrived."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tandem.demo.latency import SeenEpoch
from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import LogTail, Record
from tandem.local.observe import replica_of
from tandem.manifest.models import ReplicatedStreamJob
from tandem.protocol.codec import decode_marker, decode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Marker

_POLL_S = 0.1


class Recorder:
    """A thread that follows both logs of `job` while the block runs. `clock_ms` tells when a marker arrived."""

    def __init__(self, connection: KafkaConnection, job: ReplicatedStreamJob, clock_ms: Callable[[], float]) -> None:
        self._job = job.name
        self._commits = job.topics.commits
        self._tail = LogTail(connection, {job.topics.ordering: 0, self._commits: 0})
        self._clock_ms = clock_ms
        self._decisions = Decisions()
        self._waiting: list[tuple[Marker, float]] = []
        self._epochs: list[SeenEpoch] = []
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join(5)
        self._tail.close()

    def epochs(self) -> list[SeenEpoch]:
        """All published epochs so far, in the order of their arrival. Raises what ended the thread."""
        if self._failure is not None:
            raise self._failure
        return self._epochs.copy()

    @property
    def newest(self) -> SeenEpoch | None:
        """The epoch that arrived last."""
        return self._epochs[-1] if self._epochs else None

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                records = self._tail.poll(_POLL_S)
                now = self._clock_ms()
                for record in records:
                    self._take(record, now)
                self._match()
        except BaseException as error:
            self._failure = error

    def _take(self, record: Record, now_ms: float) -> None:
        if record.topic == self._commits:
            self._waiting.append((decode_marker(record.value), now_ms))
        else:
            self._decisions.apply(decode_proposal(record.value), record.offset)

    def _match(self) -> None:
        """Markers whose cut was read; of two topics, the later record may arrive first."""
        while self._waiting and (cut := self._decisions.epoch_range(self._waiting[0][0].epoch)) is not None:
            marker, arrived_ms = self._waiting.pop(0)
            self._epochs.append(SeenEpoch(cut, arrived_ms, replica_of(self._job, marker.owner)))
