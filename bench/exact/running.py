"""A workload's job on this machine: fed as its records are due, its replicas killed, and waited for."""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.exact.checks import Place, of_lane
from bench.exact.reading import Log
from bench.metrics import scrape
from bench.progress import is_at_head, must_wait
from bench.workloads.base import Record
from bench.workloads.sending import Sender
from tandem.local import LocalJob, NotRunningError

_START_S = 300.0
_PUBLISHED_S = 300.0
_TICK_S = 0.01

Say = Callable[[str], None]


@dataclass
class Run:
    """A job that has been started, and what it is fed with.

    `lanes` : a job of this machine for each. `sources`: source → its topic. `speed`: how much faster than they are due
    records are sent.
    """

    lanes: Sequence[LocalJob]
    senders: dict[str, Sender]
    sources: dict[str, str]
    records: Sequence[Record]
    chance: random.Random
    say: Say
    speed: float = 1.0
    killed: list[str] = field(default_factory=list)

    def go(self, kills: int) -> None:
        """Feed everything in equal parts, and kill a replica in the midst of each but the first.

        Raises `RuntimeError` where that takes too long, and what the job raises.
        """
        ordered = sorted(self.records, key=lambda record: record.timestamp_ms)
        for part in range(kills + 1):
            start, end = (len(ordered) * number // (kills + 1) for number in (part, part + 1))
            self._feed(ordered[start:end], kill=part > 0)
            self._wait_for_head(f"{self.killed[-1]} came back" if part else "the replicas started")

    def finish(self, logs: Sequence[Log]) -> None:
        """Wait until all records are published; `logs`: of each lane. Raises as `go`."""
        for sender in self.senders.values():
            sender.finish()
        ends = Counter[Place]((record.source, record.partition) for record in self.records)
        topics = {topic: source for source, topic in self.sources.items()}

        def is_published() -> bool:
            for log in logs:
                log.read()
            return all(log.has_published(of_lane(ends, lane, len(logs)), topics) for lane, log in enumerate(logs))

        must_wait(self, is_published, _PUBLISHED_S, "all records are published")

    def check(self) -> None:
        """Raises what the job raises, if it has ended."""
        for job in self.lanes:
            job.check()

    def _feed(self, records: Sequence[Record], kill: bool) -> None:
        """Send records as they are due, and kill at a random moment of the middle half."""
        times = [(record.timestamp_ms - records[0].timestamp_ms) / (1_000 * self.speed) for record in records]
        kill_at = self.chance.uniform(0.25, 0.75) * times[-1] if kill else float("inf")
        began, sent = time.monotonic(), 0

        def is_sent() -> bool:
            nonlocal sent, kill_at
            passed = time.monotonic() - began
            due = max(sent, bisect_left(times, passed))
            for source, sender in self.senders.items():
                sender.send_records([record for record in records[sent:due] if record.source == source])
            sent = due
            if passed >= kill_at or (sent == len(records) and kill_at < float("inf")):
                kill_at = float("inf")
                self._kill()
            return sent == len(records)

        must_wait(self, is_sent, 10 * times[-1] + _START_S, "all records are sent", _TICK_S)

    def _kill(self) -> None:
        """SIGKILL of a random replica of a random lane, its JVM and workers, and in half of the cases of its orderer."""
        job = self.chance.choice(self.lanes)
        replica = self.chance.choice(_replicas(job))
        number = replica.rpartition("-")[2]
        beside = [name for name in job.names if name.endswith(f"-{number}") and name != replica]
        names = [replica, *(beside if self.chance.random() < 0.5 else [])]
        for name in names:
            try:
                job.kill(name)
            except NotRunningError:
                self.say(f"{name} did not run")
        self.killed.append(" and ".join(names) + (f" of {job.name}" if len(self.lanes) > 1 else ""))
        self.say(f"SIGKILL of {self.killed[-1]}")

    def _wait_for_head(self, what: str) -> None:
        began = time.monotonic()
        must_wait(self, self._at_head, _START_S, what)
        self.say(f"{what}, after {time.monotonic() - began:.0f} s")

    def _at_head(self) -> bool:
        infos = [job.announcement(name) for job in self.lanes for name in _replicas(job)]
        samples = [scrape(info.metrics_port) if info is not None and info.metrics_port else None for info in infos]
        return all(sample is not None and is_at_head(sample) for sample in samples)


def _replicas(job: LocalJob) -> list[str]:
    return [name for name in job.names if name.startswith("replica")]
