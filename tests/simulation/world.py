"""One schedule's world: everything it is made of, and its run to the end."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from simulation.barriers import after_turnover
from simulation.clock import Life
from simulation.deviation import Deviation
from simulation.differences import FaultyChecker, last_replica
from simulation.failures import Injector
from simulation.generations import UpgradeChecker, begin_upgrade, successors
from simulation.invariants import Checker
from simulation.kafka import Coordinator, OrderingLog, Partition
from simulation.orderer import Orderer
from simulation.outputs import OUTPUTS
from simulation.process import Process
from simulation.redundancy import Redundancy
from simulation.replica import Replica
from simulation.running import run
from simulation.schedule import Schedule
from simulation.sink import LaneOutput, Sink
from simulation.site import Site
from simulation.slots import Requester
from simulation.standby import StandbyReplica
from simulation.states import Machine
from simulation.store import StoreServer
from simulation.tasks import Task
from simulation.zookeeper import Ensemble
from tandem.coordination.slots import root_of
from tandem.manifest.lanes import lane_name
from tandem.protocol.barriers import is_common
from tandem.protocol.values import Config, EpochRange, Marker, Offsets, TopicPartition

_JOB = "job"
_RETENTION_MS = 35.0


class World:
    """Runs the schedule of a job, or is one of its lanes: then it shares a `site` with the others, and nothing else."""

    def __init__(
        self, schedule: Schedule, deviation: Deviation | None = None, telling: bool = False, site: Site | None = None
    ) -> None:
        self.schedule, self.deviation, self.telling = schedule, deviation or Deviation(), telling
        self.rng = Random(schedule.seed ^ 0x7A9DE3)
        self.site = site = site or Site()
        site.lanes.append(self)
        self.seen, self.story, self.timeline = site.seen, site.story, site.timeline
        self.job = self.called()
        self.broker_down_until = 0.0
        self.states: dict[int, int] = {}
        self.last_turnover: tuple[int, str] | None = None  # the epoch, and whose
        self.new_states: dict[int, int] = {}  # of the generation that follows
        self._tps = {i: TopicPartition("in", i) for i in schedule.partitions or range(schedule.inputs)}
        self.start = Offsets(dict.fromkeys(self._tps.values(), 0))
        self.available = self.start
        self._looks = [self.start]
        self.checker = self._checker()
        self.log = site.named(f"{self.called('log')}.ordering", OrderingLog)
        self.log.worlds.append(self)
        self.commits = site.named(f"{self.called('commits')}.commits", lambda: Partition("commits"))
        self.commits.readers.append(self.checker.on_visible_marker)
        self.outputs = self._outputs()
        self.coordinator = Coordinator(self)
        self.ensemble = self.folder(root_of(self.called("folder")))
        self._proposers: dict[int, set[str]] = {}  # of an epoch, by who believed to lead
        self.store = StoreServer(self)
        self.tasks: list[Task] = []
        self.requester = None if schedule.redundancy is None else Requester(self)
        replicas = self._old = self._replicas()
        self.base: tuple[int, int] | None = None  # the savepoint of an upgrade: its epoch and state
        self.successors = [] if schedule.upgrade is None else successors(self)
        self.ended: Sequence[Process] = ()  # for good
        self.processes: list[Process] = [
            *replicas,
            *self.successors,
            *(Orderer(self, f"orderer-{i}") for i in range(2)),
        ]
        self._by_name = {process.name: process for process in self.processes}
        self.injector = Injector(self)

    def _checker(self) -> Checker:
        upgrade, difference = self.schedule.upgrade, self.schedule.difference
        if upgrade is not None:
            return UpgradeChecker(self, upgrade)
        if difference is not None and difference.goes_wrong:
            return FaultyChecker(self, difference.wrong_from)
        return Checker(self)

    def _replicas(self) -> list[Replica]:
        names = [(f"replica-{i}", ms) for i, ms in enumerate(self.schedule.compute_ms)]
        if self.schedule.redundancy is None:
            kinds = [Replica] * (len(names) - 1) + [last_replica(self.schedule.difference)]
            return [kind(self, name, ms) for kind, (name, ms) in zip(kinds, names, strict=True)]
        shared = Machine() if self.redundancy.one_machine else None
        return [StandbyReplica(self, name, ms, shared or Machine()) for name, ms in names]

    def _outputs(self) -> Sequence[Partition | LaneOutput]:
        if self.schedule.lane is None:
            return [Partition(f"out/{i}", partial(self.checker.on_visible_row, i)) for i in range(OUTPUTS)]
        self.site.sink = sink = self.site.sink or Sink(self.site)
        return [LaneOutput(partition, self) for partition in sink.partitions]

    def run(self) -> None:
        """Run to the end. Raises `InvariantError`."""
        run(self.site)

    def begin(self) -> None:
        """Everything starts, and input will come."""
        if self.schedule.redundancy is not None:
            self._prepare(self.redundancy)
        for process in self.processes:
            if process not in self.successors:
                process.start()
        if self.schedule.upgrade is not None:
            self.timeline.at(self.schedule.upgrade.at_ms, None, begin_upgrade, self, self.schedule.upgrade)
        for at, which, count in self.schedule.arrivals:
            self.timeline.at(at, None, self._arrive, which, count)

    def _prepare(self, redundancy: Redundancy) -> None:
        if redundancy.stranger >= 0:
            self.store.put_stranger(redundancy.stranger)
        if redundancy.cuts_log:
            self.timeline.after(_RETENTION_MS, None, self._cut_log_off)

    def _cut_log_off(self) -> None:
        """Retention of the ordering log: kept at least back to the oldest snapshot that anyone may restore."""
        offsets = [snapshot.log_offset for snapshot in self.store.restorable()]
        if self.store.lasting():
            needed = max(offsets) if self.deviation.cuts_log_short else min(offsets)
            if needed > self.log.beginning:
                self.reached("log cut off")
                self.log.beginning = needed
        self.timeline.after(_RETENTION_MS, None, self._cut_log_off)

    def _arrive(self, which: int, count: int) -> None:
        ends = dict(self.available)
        ends[self._tps[which]] += count
        self.available = Offsets(ends)
        self._looks.append(self.available)
        self.checker.on_input()
        for process in self.processes:
            if isinstance(process, Orderer):
                process.wake()

    # What things are called ------------------------------------------------------------------------------------------

    def called(self, what: str = "") -> str:
        """The job that a thing is named after: this lane, or the whole job if a deviation has lanes share such things."""
        lane = self.schedule.lane
        return _JOB if lane is None or (what and what == self.deviation.lanes_share) else lane_name(_JOB, lane)

    def id_of(self, incarnation: str) -> str:
        """The transactional id of a replica's incarnation."""
        return incarnation if self.schedule.lane is None else f"{self.called('ids')}.{incarnation}"

    def folder(self, path: str) -> Ensemble:
        """What is in a folder of ZooKeeper."""
        return self.site.named(path, lambda: Ensemble(self))

    def ensembles(self) -> Sequence[Ensemble]:
        """All that is in ZooKeeper: of this lane and of the others."""
        return list(dict.fromkeys(lane.ensemble for lane in self.site.lanes))

    # What processes use ----------------------------------------------------------------------------------------------

    def delay(self) -> float:
        """How long one message, one answer or one glance at a log takes: mostly a millisecond, now and then long."""
        random = self.rng.random
        if self.schedule.slow_messages and random() < self.schedule.slow_messages:
            return 5.0 + 95.0 * random()
        return 0.2 + 2.0 * random()

    def look_at_inputs(self) -> Offsets:
        """The ends of the inputs; a broker that lags answers with older ones."""
        if self.rng.random() < self.schedule.stale_inputs:
            return self._looks[-1 - int(self.rng.random() * min(len(self._looks), 4))]
        return self.available

    def wake_all(self) -> None:
        """A log has grown."""
        for process in self.processes:
            process.wake()

    @property
    def redundancy(self) -> Redundancy:
        """Of a schedule that has it."""
        assert self.schedule.redundancy is not None
        return self.schedule.redundancy

    @property
    def redundancy_is_passive(self) -> bool:
        """Whether the job has one active and no standby: while it is dead nobody publishes."""
        return self.schedule.redundancy is not None and len(self.schedule.compute_ms) == 1

    def end_replicas(self) -> None:
        """All replicas but the successors die, and do not start again; what they sent is still on its way."""
        for replica in self._old:
            replica.crash()
        self.ended = self._old

    def actives(self) -> list[StandbyReplica]:
        """The replicas that compute."""
        return [process for process in self.processes if isinstance(process, StandbyReplica) and process.is_active]

    @property
    def has_replica(self) -> bool:
        """Whether any replica is there, if only paused."""
        return any(process.alive for process in self.processes if isinstance(process, Replica))

    def is_owner(self, process: Process) -> bool:
        """Whether it is the replica whose claim of the next epoch counts."""
        claim = self.checker.decisions.owner(self.checker.published)
        return isinstance(process, Replica) and claim is not None and claim.owner == process.me

    @property
    def longest_silence(self) -> float:
        """Of the output, ms."""
        return self.checker.longest_silence

    @property
    def is_whole(self) -> bool:
        """Whether as many replicas are active as there are slots, and all others stand by."""
        redundancy = self.schedule.redundancy
        if redundancy is None:
            return True
        up = [one for one in self.processes if isinstance(one, StandbyReplica) and (one.is_active or one.stands_by)]
        return len(self.actives()) == redundancy.slots and len(up) == redundancy.slots + redundancy.standbys

    def roles(self) -> str:
        """What each replica does."""
        replicas = [process for process in self.processes if isinstance(process, StandbyReplica)]
        parts = {one.name: "active" if one.is_active else "standby" if one.stands_by else "down" for one in replicas}
        return ", ".join(f"{name} {part}" for name, part in parts.items())

    def state_after(self, what: EpochRange, state: int) -> int:
        """The state that an epoch leaves to the next one."""
        return after_turnover(self.schedule, what, state) if what.barrier else state

    def misses_barrier(self, before: EpochRange, what: EpochRange) -> bool:
        """Whether an epoch must be a common barrier, and is not. Who beats ahead of the log may miss one."""
        barriers = self.schedule.barriers
        if barriers is None or not barriers.common or self.schedule.eager:
            return False
        return is_common(before.time_ms, what.time_ms, barriers.interval_ms) and not what.barrier

    def process(self, name: str) -> Process:
        """The process of that name."""
        return self._by_name[name]

    def newest_config(self) -> Config | None:
        """The config that is in force at the end of the log."""
        return self.checker.decisions.config

    def last_marker(self) -> int:
        """The epoch of the last marker that a committed reader finds; -1 if there is none."""
        return max((marker.epoch for marker in self.commits.visible), default=-1)

    def place_after(self, epoch: int) -> int:
        """The place in the commits topic after the marker of `epoch`."""
        return next((i + 1 for i, marker in enumerate(self.commits.visible) if marker.epoch == epoch), 0)

    def marker_of(self, epoch: int) -> Marker:
        """The marker of a published epoch."""
        marker: Marker = self.commits.visible[self.place_after(epoch) - 1]
        return marker

    def pick_state(self, states: Mapping[int, int] | None = None) -> int:
        """The epoch of a state that a replica can start from: never after the last marker, often older."""
        last = self.last_marker()
        known = sorted(epoch for epoch in (self.states if states is None else states) if epoch <= last)
        if not known or self.rng.random() < 0.1:
            return -1
        return known[-1] if self.rng.random() < 0.6 else known[bisect_right(known, self.rng.randint(0, last)) - 1]

    def reached(self, what: str, who: Life | None = None) -> None:
        """A situation or a step was reached: counted, and perhaps a failure waits for it."""
        self.seen[what] += 1
        if who is not None:
            self.injector.reached(what, who)

    def proposed(self, orderer: Orderer, epoch: int) -> None:
        """An orderer proposes a cut, believing to lead or because nobody else did."""
        if self.schedule.heartbeat:
            return
        if not orderer.leading:
            self.reached("proposed because the leader was silent")
            return
        self._proposers.setdefault(epoch, set()).add(orderer.name)
        others = [one for one in self.processes if isinstance(one, Orderer) and one is not orderer and one.leads]
        if any(one.name in self._proposers[epoch] for one in others):
            self.reached("two leaders proposed the same epoch")

    def tell(self, who: Life, *what: object) -> None:
        """A line of the story."""
        if self.telling:
            lane = "" if self.schedule.lane is None else f"{self.job} "
            self.story.append(f"{self.timeline.now:9.2f} {lane}{who.name:10s} " + " ".join(map(str, what)))
