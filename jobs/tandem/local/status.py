"""How a job stands, as values: what `tandem status` prints and the live screen shows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tandem.local.rundir import ProcessState
from tandem.local.scrape import Sample
from tandem.process.ending import EndKind
from tandem.protocol.switchover import replica_name
from tandem.status.report import OrdererReport, ReplicaReport


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


def replica_status(
    state: ProcessState,
    incarnation: str = "",
    sample: Sample | None = None,
    earlier: Sample | None = None,
    elapsed_s: float = 0.0,
    share: float = 0.0,
    port: int | None = None,
) -> ReplicaStatus:
    """A replica's status from its report, and from its metrics now and, for what happened lately, `elapsed_s` ago.

    `port`: where it serves its metrics, 0: nowhere; None: it has not said yet.
    """
    now = sample or Sample()
    report = now.report if isinstance(now.report, ReplicaReport) else ReplicaReport(state.name, incarnation, "starting")
    latency = now.latency if earlier is None else now.latency.since(earlier.latency)
    rate = None
    if earlier is not None and elapsed_s > 0:
        rate = (now.count(_ROWS) - earlier.count(_ROWS)) / elapsed_s
    return ReplicaStatus(
        **_process(state),
        incarnation=incarnation,
        answers=(sample is not None) if port else None,
        serves_metrics=port != 0,
        active=report.state == "active",
        standby=report.state == "standby",
        ready=report.ready and report.state == "active",
        share=share,
        epoch=report.epoch,
        published_epoch=report.published_epoch,
        followed_epoch=report.followed_epoch,
        verified_epoch=report.verified_epoch,
        lag_epochs=report.lag_epochs,
        lag_records=report.lag_records,
        lag_s=report.lag_seconds,
        catch_up_s=report.catch_up_s or None,
        claims_won=report.claims_won,
        take_overs=report.take_overs,
        rows_published=now.count(_ROWS),
        dead_letters=now.count("tandem_dead_letters_total"),
        late_rows=now.count("tandem_late_rows_total"),
        mostly_late=bool(now.count("tandem_rows_mostly_late")),
        calls_fail=bool(now.count("tandem_calls_mostly_fail")),
        engine=report.engine,
        trouble=now.trouble,
        scattered=report.scattered,
        waits=now.waits,
        diverged=report.diverged or state.end == EndKind.DIVERGED,
        rows_per_s=rate,
        p50_ms=_ms(latency.quantile(0.5)),
        p99_ms=_ms(latency.quantile(0.99)),
    )


def source_statuses(samples: Iterable[Sample]) -> tuple[SourceStatus, ...]:
    """All sources, as the processes with these metrics took them in."""
    most: dict[str, SourceStatus] = {}
    for sample in samples:
        for name, its in sample.sources.items():
            if name not in most or its.records > most[name].records:
                most[name] = SourceStatus(name, int(its.records), int(its.letters), bool(its.unread))
    return tuple(most[name] for name in sorted(most))


def last_failover(samples: Iterable[Sample]) -> FailoverStatus | None:
    """The newest failover that the processes with these reports know of."""
    reports = [sample.report for sample in samples]
    seen = [one.failover for one in reports if isinstance(one, ReplicaReport) and one.failover is not None]
    if not seen:
        return None
    last = max(seen, key=lambda failover: failover.epoch)
    before, after = replica_name(last.from_), replica_name(last.to)
    return FailoverStatus(last.epoch, before, after, last.gap_ms, last.at_ms / 1000)


def orderer_status(state: ProcessState, sample: Sample | None = None, elects: bool = True) -> OrdererStatus:
    """An orderer's status from its report and its metrics. Where nobody is elected (`elects` false) nobody leads either."""
    now = sample or Sample()
    report = now.report if isinstance(now.report, OrdererReport) else OrdererReport(state.name)
    return OrdererStatus(
        **_process(state),
        leading=elects and report.leading,
        epoch=report.epoch,
        cuts_proposed=now.count("tandem_cuts_proposed_total"),
        trouble=now.trouble,
        waits=now.waits,
        cuts_won=now.count("tandem_cuts_won_total"),
        input_lag_records=report.lag_records if report.leading else None,
        held_back=tuple(HeldBack(one.topic, one.partition, one.offset, one.seconds) for one in report.held),
    )


_ROWS = "tandem_rows_published_total"


def _process(state: ProcessState) -> dict[str, Any]:
    return {
        "name": state.name,
        "state": state.state,
        "pid": state.pid,
        "alive": state.running,
        "restarts": state.restarts,
        "reason": state.reason,
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
