"""Asking a job's replicas for a switchover or a drain, through ZooKeeper alone, and watching it happen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from confluent_kafka import KafkaException
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from tandem.coordination.slots import FOLDERS, REQUEST, look, root_of
from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS, Nodes
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TandemKafkaError
from tandem.kafka.history import watermarks
from tandem.kafka.tail import LogTail
from tandem.protocol.codec import CodecError, decode_marker
from tandem.protocol.switchover import (
    HandoverRequest,
    Stage,
    SwitchoverRefusedError,
    View,
    encode,
    replica_name,
    stage_of,
)
from tandem.waiting import Deadline, wait_until

CONNECT_S = 5.0
_POLL_S = 0.05
_ANSWER_S = 1.0
_FIRST_EPOCH_S = 10.0
_OVER = (Stage.DONE, Stage.SUCCESSOR_GONE, Stage.LEAVER_GONE)


@dataclass(frozen=True, slots=True)
class Published:
    """An epoch's marker was seen at `at_s` (monotonic), by the replica `by`."""

    at_s: float
    epoch: int
    by: str


@dataclass(frozen=True, slots=True)
class Switched:
    """How a request ended: its last stage, None if it took too long, and which epochs were published since `began_s`."""

    request: HandoverRequest
    stage: Stage | None
    began_s: float
    elapsed_s: float
    published: tuple[Published, ...] = ()

    @property
    def longest_gap_s(self) -> float | None:
        """The longest time without an epoch, up to the last that was seen; None if none was."""
        times = [self.began_s, *(marker.at_s for marker in self.published)]
        return max((later - earlier for earlier, later in pairwise(times)), default=None)

    @property
    def first_by_successor(self) -> int | None:
        """The first epoch that the successor published."""
        successor = replica_name(self.request.successor)
        return next((marker.epoch for marker in self.published if marker.by == successor), None)

    @property
    def last_by_leaver(self) -> int | None:
        """The last epoch that the replica that left published, as far as was seen."""
        return max((marker.epoch for marker in self.published if marker.by == self.request.leaves), default=None)


class Requester:
    """A session in ZooKeeper that may hold the job's one request; the request is void when the session ends."""

    def __init__(self, client: KazooClient, job: str) -> None:
        self._nodes = Nodes(client, root_of(job))
        self._job = job

    @classmethod
    @contextmanager
    def connected(cls, options: Mapping[str, Any], job: str) -> Iterator[Requester]:
        """A connected session. Raises `SwitchoverRefusedError` if ZooKeeper does not answer."""
        client = KazooClient(**options)
        try:
            client.start(CONNECT_S)
            yield cls(client, job)
        except (KazooTimeoutError, *ZOOKEEPER_ERRORS) as error:
            raise SwitchoverRefusedError(
                f"ZooKeeper at {options['hosts']} does not answer ({error!r}): a switchover goes through it, so nothing "
                "was changed or it is void now; tandem status shows how the job stands"
            ) from error
        finally:
            client.stop()
            client.close()

    def look(self) -> View:
        """How the job's replicas stand. Raises `SwitchoverRefusedError` if there are none."""
        view = look(self._nodes)
        if not view.roles:
            raise SwitchoverRefusedError(f"no replica of {self._job} is up, as far as ZooKeeper knows")
        return view

    def request(self, request: HandoverRequest) -> None:
        """Ask for it. Raises `SwitchoverRefusedError` if somebody was quicker."""
        self._nodes.ensure(*FOLDERS)
        if not self._nodes.create(REQUEST, encode(request)):
            raise SwitchoverRefusedError("another switchover has just begun; wait until that is done")

    def follow(
        self, request: HandoverRequest, before: View, timeout_s: float, seen: Callable[[Stage], None]
    ) -> Stage | None:
        """Wait until `request` is carried out or cannot be; None after `timeout_s`. The request is withdrawn then.

        `before` : how the replicas stood when it was requested; `seen` is called again and again with the stage.
        """
        leaving = before.present(request.leaves)
        stage: Stage | None = None

        def is_over() -> bool:
            nonlocal stage
            stage = stage_of(look(self._nodes), request, leaving)
            seen(stage)
            return stage in _OVER

        try:
            return stage if wait_until(is_over, Deadline(timeout_s), _POLL_S) else None
        finally:
            with suppress(NoNodeError):
                self._nodes.remove(REQUEST)


@dataclass
class MarkerWatch:
    """Reads a job's commits topic from now on: who publishes, and how long nobody does. Kafka being away is no error."""

    connection: KafkaConnection
    commits_topic: str
    published: list[Published] = field(default_factory=list)
    _tail: LogTail | None = None

    def __enter__(self) -> MarkerWatch:
        with suppress(KafkaException, TandemKafkaError):
            _, end = watermarks(self.connection, self.commits_topic, _ANSWER_S)
            self._tail = LogTail(self.connection, {self.commits_topic: end})
        return self

    def __exit__(self, *_: object) -> None:
        if self._tail is not None:
            self._tail.close()

    def poll(self) -> None:
        """Take in what has come; waits a few milliseconds at most."""
        if self._tail is None:
            return
        with suppress(KafkaException, TandemKafkaError):
            for record in self._tail.poll(0.005):
                with suppress(CodecError):
                    marker = decode_marker(record.value)
                    self.published.append(Published(time.monotonic(), marker.epoch, replica_name(marker.owner)))


def switch(
    requester: Requester,
    request: HandoverRequest,
    before: View,
    watch: MarkerWatch,
    timeout_s: float,
    seen: Callable[[Stage], None],
) -> Switched:
    """Carry out a request: see `Requester`. Raises `SwitchoverRefusedError`.

    When it is done, stays for the first epoch that another than the replica that left publishes, since the longest time
    without an epoch ends only there; `_FIRST_EPOCH_S` at most, for a job without input.
    """
    began = time.monotonic()

    def look_on(stage: Stage) -> None:
        watch.poll()
        seen(stage)

    def goes_on() -> bool:
        watch.poll()
        return any(marker.by != request.leaves for marker in watch.published)

    requester.request(request)
    stage = requester.follow(request, before, timeout_s, look_on)
    elapsed_s = time.monotonic() - began
    if stage is Stage.DONE:
        wait_until(goes_on, Deadline(_FIRST_EPOCH_S), _POLL_S)
    return Switched(request, stage, began, elapsed_s, tuple(watch.published))
