"""How a job stands, as values: what `tandem status` prints and the live screen shows."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """A replica, active or `standby`. Numbers are 0, epochs −1, while it tells none.

    `answers`: whether it said how it stands; None: it cannot be asked, since it has only just begun, or does not run, or
    its metrics are off (`serves_metrics`). `active`: it computes, or would if there were epochs. `ready`: it is at the head.
    `followed_epoch`: where the state that a standby follows stands; `verified_epoch`: the newest epoch computed from
    such state as it was published. `share`: how much of the newest epochs (64 or more, if there are as many) it published, 0
    to 1, since its last start. `lag_*`: behind the log's head. `rows_per_s`, `p50_ms`, `p99_ms`: over the observer's window;
    after a single look there is no rate, and the quantiles are over the process's life. None without data. `catch_up_s`:
    estimated time to the log's head while it is not there, None while nobody can tell. `waits`: what its start, its output
    or what it does beside has been waiting for, if that takes most of a minute. `trouble`: what Kafka does not take.
    `late_rows`: how many came too late for a watermark since its start; `mostly_late`: most of the last ones did.
    `calls_fail`: most of its last calls of `ctx.ask` or `ctx.determinant` did.
    `scattered`: which sources are not partitioned as the manifest says.
    `engine`: which one computes, and why if that was a choice; "": it is not known yet.
    """

    name: str
    state: str
    pid: int
    alive: bool
    restarts: int
    reason: str
    incarnation: str = ""
    answers: bool | None = None
    serves_metrics: bool = True
    active: bool = False
    standby: bool = False
    ready: bool = False
    share: float = 0.0
    epoch: int = -1
    published_epoch: int = -1
    followed_epoch: int = -1
    verified_epoch: int = -1
    lag_epochs: int = 0
    lag_records: int = 0
    lag_s: float = 0.0
    catch_up_s: float | None = None
    claims_won: int = 0
    take_overs: int = 0
    rows_published: int = 0
    dead_letters: int = 0
    late_rows: int = 0
    mostly_late: bool = False
    calls_fail: bool = False
    engine: str = ""
    diverged: bool = False
    trouble: str = ""
    scattered: str = ""
    rows_per_s: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    waits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldBack:
    """An open transaction of a producer has held back an input at `offset` for `seconds`: nothing behind it can be read."""

    topic: str
    partition: int
    offset: int
    seconds: float

    @property
    def words(self) -> str:
        """In one line."""
        where = f"{self.topic}/{self.partition}"
        return f"{where} waits: a transaction has been open at offset {self.offset} for {self.seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class OrdererStatus:
    """An orderer or a heartbeat generator.

    `input_lag_records`: input that is in no epoch yet, when it last looked; None of one that leaves looking to the leader.
    `held_back` : the inputs that an open transaction holds back. `waits`, `trouble` : as of a replica.
    """

    name: str
    state: str
    pid: int
    alive: bool
    restarts: int
    reason: str
    leading: bool = False
    epoch: int = -1
    cuts_proposed: int = 0
    cuts_won: int = 0
    input_lag_records: int | None = None
    held_back: tuple[HeldBack, ...] = ()
    trouble: str = ""
    waits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What became of a source's records since a replica began: so many, so many of them dead letters.

    `unread`: most of the last ones are. Of the replica that took in the most.
    """

    name: str
    records: int
    dead_letters: int
    unread: bool


@dataclass(frozen=True, slots=True)
class FailoverStatus:
    """The replica `after` took over the publication from `before`, with `epoch`, `at` (Unix time, s)."""

    epoch: int
    before: str
    after: str
    gap_ms: int
    at: float


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job at one moment (`at`: Unix time, s). `publisher`: the replica that owns the newest marker, `published_epoch` its
    epoch; None before the first. `trouble`: why something could not be found out. `failover`: the newest known."""

    job: str
    at: float
    replicas: tuple[ReplicaStatus, ...]
    orderers: tuple[OrdererStatus, ...]
    publisher: str | None = None
    published_epoch: int | None = None
    trouble: str = ""
    sources: tuple[SourceStatus, ...] = ()
    mode: str = ""
    delivery: str = ""
    failover: FailoverStatus | None = None

    def replica(self, name: str) -> ReplicaStatus:
        """The status of one replica. Raises `StopIteration` if there is none of that name."""
        return next(replica for replica in self.replicas if replica.name == name)

    @property
    def held_back(self) -> tuple[HeldBack, ...]:
        """The inputs that an open transaction holds back, as the orderer sees it that has seen it for longest."""
        seen = {(one.topic, one.partition): one for one in sorted(self._held(), key=lambda one: one.seconds)}
        return tuple(seen[tp] for tp in sorted(seen))

    def _held(self) -> Iterator[HeldBack]:
        return (one for orderer in self.orderers for one in orderer.held_back)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What an operator should know first: a job without redundancy, and what does not get on."""
        gone = [replica for replica in self.replicas if replica.state == "given up"]
        left = len(self.replicas) - len(gone)
        found = []
        if gone and left:
            names = ", ".join(replica.name for replica in gone)
            without = "WITHOUT REDUNDANCY" if left == 1 else "WITH LESS REDUNDANCY"
            found.append(f"{without}: {left} of {len(self.replicas)} replicas left, {names} is given up")
        processes: tuple[ReplicaStatus | OrdererStatus, ...] = (*self.replicas, *self.orderers)
        found += [f"{process.name} waits for {what}" for process in processes for what in process.waits]
        return tuple(found)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What Kafka does not take from the processes, each with whom it concerns."""
        processes: tuple[ReplicaStatus | OrdererStatus, ...] = (*self.replicas, *self.orderers)
        said = dict.fromkeys(process.trouble for process in processes if process.trouble)
        return tuple(f"{', '.join(p.name for p in processes if p.trouble == words)}: {words}" for words in said)

    @property
    def scattered(self) -> tuple[str, ...]:
        """Which sources are not partitioned as the manifest says, and what to do."""
        return tuple(dict.fromkeys(replica.scattered for replica in self.replicas if replica.scattered))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that the replicas run, each with its reason if it was a choice: one, unless a generation begins."""
        return tuple(dict.fromkeys(replica.engine for replica in self.replicas if replica.engine))

    @property
    def leader(self) -> str | None:
        """The orderer that believes to lead; None if none does, or if the job has no leader."""
        return next((orderer.name for orderer in self.orderers if orderer.leading), None)
