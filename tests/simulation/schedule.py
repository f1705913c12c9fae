"""What a seed stands for: sizes, delays and failures of one run."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tandem.protocol.publication_rules import Delivery

if TYPE_CHECKING:
    from simulation.barriers import Barriers
    from simulation.differences import Difference
    from simulation.generations import Upgrade
    from simulation.lane_change import LaneChanges
    from simulation.lanes import Lanes
    from simulation.redundancy import Redundancy

REPLICA_STEPS = (
    "computed",
    "claim sent",
    "claim won",
    "took over",
    "reclaimed",
    "rows sent",
    "marker sent",
    "commit sent",
    "committed",
    "fence sent",
    "fenced",
    "read to end",
    "renewed",
)
ORDERER_STEPS = ("cut sent", "cut appended", "elected")
_DELIVERIES = (Delivery.EXACTLY_ONCE,) * 10 + (Delivery.AT_LEAST_ONCE, Delivery.AT_MOST_ONCE)


@dataclass(frozen=True, slots=True)
class Failure:
    """`kind` hits `target` at `at_ms`, or hits whoever takes the step `step` for the `nth` time, for `duration_ms`."""

    kind: str
    duration_ms: float
    target: str = ""
    at_ms: float = 0.0
    step: str = ""
    nth: int = 0

    def __str__(self) -> str:
        when = f"when '{self.step}' happens for the {self.nth}. time" if self.step else f"at {self.at_ms:.0f}"
        return f"{self.kind} {self.target} {when} for {self.duration_ms:.0f} ms"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Everything that is drawn before a run; what is drawn during it comes from the same seed. Times in ms."""

    seed: int
    delivery: Delivery
    heartbeat: bool
    eager: bool  # a generator beats on without waiting to read its own beat
    replicas: int
    inputs: int
    arrivals: tuple[tuple[float, int, int], ...]  # when, which input, how many records
    max_records: int
    alone: bool  # one failure at a time: a bound holds for the output's silence
    failures: tuple[Failure, ...]
    slow_messages: float  # share of the messages that take long
    repeated: float  # share of the appends that are sent twice
    unknown: float  # share of the commits whose answer gets lost
    stale_inputs: float  # share of the looks at the inputs that are answered from the past
    short_glances: float  # share of the looks at a log that do not get to its end
    compute_ms: tuple[float, ...]  # mean time that an epoch takes, of each replica
    fence_ms: float  # how long an open transaction delays who initialises its id
    least_bound_ms: float
    most_bound_ms: float
    forgets: bool
    asks: bool  # the job asks the outside world, which never answers the same twice
    transaction_timeout_ms: float
    commit_timeout_ms: float = 80.0
    session_timeout_ms: float = 200.0
    lost: float = 0.0  # share of the appends that never arrive
    redundancy: Redundancy | None = None
    upgrade: Upgrade | None = None
    difference: Difference | None = None
    barriers: Barriers | None = None
    lanes: Lanes | None = None
    lane: int | None = None  # which of its job it is
    partitions: tuple[int, ...] = ()  # of the input, that a lane has
    lane_changes: LaneChanges | None = None

    @classmethod
    def of(cls, seed: int) -> Schedule:
        """The schedule of a seed: one of five has standbys, snapshots, or both, one of ten a new generation.

        One of ten runs the real-time engine, one of ten has lanes. Of one of 25 the replicas do not compute the same.
        """
        if seed % 25 == 7:
            return cls.differing(seed)
        if seed % 10 == 3:
            return cls.replacing(seed) if seed % 40 == 23 else cls.upgrading(seed)
        if seed % 10 == 9:
            return cls.real_time(seed)
        if seed % 10 == 5:
            return cls.with_lanes(seed)
        return cls.redundant(seed) if seed % 5 == 1 else cls.plain(seed)

    @classmethod
    def upgrading(cls, seed: int) -> Schedule:
        """The schedule of a seed in which a new generation follows."""
        from simulation.generations import upgrading

        return upgrading(cls.plain(seed))

    @classmethod
    def replacing(cls, seed: int) -> Schedule:
        """The schedule of a seed in which a new generation follows when all of the old one is dead."""
        from simulation.generations import replacing

        return replacing(cls.plain(seed))

    @classmethod
    def differing(cls, seed: int) -> Schedule:
        """The schedule of a seed in which replicas do not compute the same."""
        from simulation.differences import differing

        return differing(cls.plain(seed))

    @classmethod
    def redundant(cls, seed: int) -> Schedule:
        """The schedule of a seed with standbys, snapshots, or both."""
        from simulation.redundancy import redundant

        return redundant(cls.plain(seed))

    @classmethod
    def real_time(cls, seed: int) -> Schedule:
        """The schedule of a seed with barriers: two of four with standbys, snapshots, or both, one with a new generation."""
        from simulation.barriers import real_time

        if seed % 20 == 19:
            return real_time(cls.redundant(seed))
        return real_time(cls.upgrading(seed) if seed % 40 == 29 else cls.plain(seed))

    @classmethod
    def with_lanes(cls, seed: int) -> Schedule:
        """The schedule of a seed with lanes: of three of ten they have standbys, snapshots, or both, or another engine."""
        from simulation.lanes import laned

        which = seed // 10 % 10
        if which in (0, 1):
            return laned(cls.redundant(seed))
        return laned(cls.real_time(seed) if which == 2 else cls.plain(seed))

    @classmethod
    def changing_lanes(cls, seed: int) -> Schedule:
        """The schedule of a seed with lanes whose number changes."""
        from simulation.lane_change import changing

        return changing(cls.plain(seed))

    @classmethod
    def plain(cls, seed: int) -> Schedule:
        """The schedule of a seed without standbys or snapshots."""
        rng = Random(seed)
        alone = rng.random() < 0.25
        heartbeat = rng.random() < 0.5
        replicas = rng.choice((2, 2, 3))
        inputs = rng.choice((1, 2, 3))
        span = rng.uniform(150, 450)
        arrivals = tuple(
            sorted((rng.uniform(0, span), rng.randrange(inputs), rng.randint(1, 3)) for _ in range(rng.randint(6, 14)))
        )
        calm = alone or rng.random() < 0.2
        failures = rng.choice((1, 2)) if alone else rng.choice((0, 1, 2, 3, 3, 4, 5))
        quick = rng.uniform(4, 20)
        return cls(
            seed=seed,
            delivery=rng.choice(_DELIVERIES),
            heartbeat=heartbeat,
            eager=heartbeat and rng.random() < 0.7,
            replicas=replicas,
            inputs=inputs,
            arrivals=arrivals,
            max_records=rng.choice((2, 4, 1_000)),
            alone=alone,
            failures=plot_of(rng) + tuple(failure_of(rng, replicas, span) for _ in range(failures)),
            slow_messages=0.0 if calm else rng.choice((0.0, 0.02, 0.08)),
            repeated=rng.choice((0.0, 0.2)),
            unknown=0.0 if calm else rng.choice((0.0, 0.05, 0.2)),
            stale_inputs=rng.choice((0.0, 0.3, 0.6)),
            short_glances=0.0 if calm else rng.choice((0.0, 0.1, 0.6)),
            compute_ms=tuple(quick * rng.choice((1.0, 1.0, 1.2, 3.0)) for _ in range(replicas)),
            fence_ms=rng.choice((5.0, 15.0, 60.0)),
            least_bound_ms=rng.choice((10.0, 30.0, 60.0)),
            most_bound_ms=rng.choice((80.0, 150.0)),
            forgets=rng.random() < 0.5,
            asks=seed % 3 == 0,
            transaction_timeout_ms=rng.choice((150.0, 2_000.0)),
            session_timeout_ms=rng.choice((200.0, 200.0, 1_500.0)),
            lost=0.0 if calm else rng.choice((0.0, 0.0, 0.1)),
        )

    def __str__(self) -> str:
        mode = "heartbeat" if self.heartbeat else "leader"
        text = f"seed {self.seed}: {self.delivery.value}, {mode} mode, {self.replicas} replicas"
        text += f" ({self.redundancy})" if self.redundancy else ""
        if self.upgrade:
            text += f", {'replaced' if self.upgrade.dead_ms else 'upgraded'} at {self.upgrade.at_ms:.0f}"
        text += f", {self.difference}" if self.difference else ""
        text += f", {self.barriers}" if self.barriers else ""
        text += ", asking" if self.asks else ""
        text += f", {self.lanes}" if self.lanes else ""
        text += f"\n  {self.lane_changes}" if self.lane_changes else ""
        return text + (", one failure at a time" if self.alone else "") + "".join(f"\n  {f}" for f in self.failures)


def plot_of(rng: Random) -> tuple[Failure, ...]:
    """Now and then: an owner stops inside its transaction, and perhaps whoever takes over, or takes it back, stops too."""
    dice = rng.random()
    if dice < 0.7:
        return ()
    if dice < 0.8:
        return (Failure("pause", rng.uniform(50, 500), step="reclaimed", nth=rng.choice((1, 1, 2, 4))),)
    stop = Failure("pause", rng.uniform(20, 400), step=rng.choice(("rows sent", "marker sent")), nth=rng.randint(1, 8))
    if rng.random() < 0.3:
        return (stop,)
    return stop, Failure(rng.choice(("crash", "pause")), rng.uniform(5, 300), step="took over", nth=1)


def failure_of(rng: Random, replicas: int, span: float) -> Failure:
    """Some failure, of a replica or of an orderer."""
    on_replica = rng.random() < 0.7
    duration = rng.choice((rng.uniform(5, 60), rng.uniform(60, 500)))
    if rng.random() < 0.6:
        kind = rng.choice(("crash", "pause", "pause", "isolate"))
        step = rng.choice(REPLICA_STEPS if on_replica else ORDERER_STEPS)
        return Failure(kind, duration, step=step, nth=rng.choice((1, 1, 2, 3, 5, 8)))
    if on_replica:
        kind = rng.choice(("crash", "pause", "pause", "isolate"))
        return Failure(kind, duration, target=f"replica-{rng.randrange(replicas)}", at_ms=rng.uniform(5, span))
    kind = rng.choice(("crash", "pause", "isolate", "suspend", "zookeeper outage", "broker outage", "full stop"))
    return Failure(kind, duration, target=f"orderer-{rng.randrange(2)}", at_ms=rng.uniform(5, span))
