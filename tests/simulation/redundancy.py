"""What one of five seeds adds: standbys, slots, a snapshot store, machines that are lost, and their failures."""

from dataclasses import dataclass, replace
from random import Random

from simulation.schedule import REPLICA_STEPS, Failure, Schedule, failure_of

STANDBY_STEPS = (
    "slot sent",
    "successor_holder sent",
    "relieved",
    "promoted",
    "restoring",
    "went on",
    "claim won",
    "reclaimed",
    "took over",
)
STORE_STEPS = (
    "object sent",
    "manifest sent",
    "note sent",
    "snapshot begun",
    "retired",
    "removal sent",
    "objects listed",
    "read",
)


@dataclass(frozen=True, slots=True)
class Redundancy:
    """How a job is made whole again. Times in ms; those of the product are some twenty times as long."""

    slots: int
    standbys: int
    store: bool
    one_machine: bool  # all replicas see each other's checkpoints
    far_epochs: int  # state on this machine that is farther behind is not used without asking the store
    snapshot_ms: int
    collect_ms: int
    grace_ms: int
    retained: int
    retained_ms: int
    tears: float  # share of the interrupted uploads that leave half a file
    stranger: int  # the store holds a snapshot of another config, of this epoch; -1: it does not
    cuts_log: bool  # the ordering log is kept no farther back than the oldest snapshot needs
    least_silence_ms: float
    most_silence_ms: float
    detects: bool = False  # standbys watch the other replicas' connections

    def __str__(self) -> str:
        parts = [f"{self.slots} active", f"{self.standbys} standby", "a snapshot store" if self.store else "no store"]
        return ", ".join(
            parts
            + ["one machine"] * self.one_machine
            + ["a log that is cut off"] * self.cuts_log
            + ["watched peers"] * self.detects
        )


def redundant(plain: Schedule) -> Schedule:
    """The schedule with standbys, a store, or both."""
    rng = Random(plain.seed ^ 0x51AB)
    slots, standbys = rng.choice(((1, 1), (1, 1), (1, 2), (2, 1), (2, 1), (2, 2), (1, 0), (2, 0)))
    store = not standbys or rng.random() < 0.8
    cuts_log = store and rng.random() < 0.3
    calm = plain.alone
    settings = Redundancy(
        slots=slots,
        standbys=standbys,
        store=store,
        one_machine=rng.random() < 0.3,
        far_epochs=rng.choice((0, 3, 100)),
        snapshot_ms=rng.choice((15, 30, 60)),
        collect_ms=rng.choice((20, 40)),
        grace_ms=rng.choice((100, 160)),
        retained=rng.choice((1, 2, 4)),
        retained_ms=rng.choice((0, 30, 100)),
        tears=0.0 if calm else rng.choice((0.0, 0.5, 1.0)),
        stranger=rng.randrange(12) if store and not cuts_log and rng.random() < 0.3 else -1,
        cuts_log=cuts_log,
        least_silence_ms=rng.choice((60.0, 120.0)),
        most_silence_ms=600.0,
        detects=standbys > 0 and Random(plain.seed ^ 0xDE7EC7).random() < 0.5,
    )
    span = rng.uniform(200, 600)
    arrivals = sorted((rng.uniform(0, span), rng.randrange(plain.inputs), rng.randint(1, 3)) for _ in range(16))
    quick = min(plain.compute_ms)
    failures = failures_of(rng, settings, span, plain.alone)
    return replace(
        plain,
        replicas=slots + standbys,
        arrivals=tuple(arrivals),
        compute_ms=tuple(quick * rng.choice((1.0, 1.0, 1.2, 2.0)) for _ in range(slots + standbys)),
        failures=failures,
        session_timeout_ms=200.0,
        redundancy=settings,
    )


def failures_of(rng: Random, settings: Redundancy, span: float, alone: bool) -> tuple[Failure, ...]:
    """What fails in a job with standbys, snapshots, or both."""
    plot = _plot(rng, settings, span, alone)
    some = rng.choice((1, 2)) if alone else rng.choice((0, 1, 2, 3))
    return plot + tuple(_failure(rng, settings, span) for _ in range(some))


def _plot(rng: Random, settings: Redundancy, span: float, alone: bool) -> tuple[Failure, ...]:
    """Now and then all actives die at once: with ZooKeeper gone, after damage to the store, or a promoted one as well."""
    dice = rng.random()
    at, duration = rng.uniform(60, span), rng.uniform(50, 700)
    if dice > 0.85 and settings.store and not settings.cuts_log and not alone:
        damage = tuple(Failure("damage", 0.0, at_ms=at - rng.uniform(0, 20)) for _ in range(3))
        return (*damage, Failure("all actives", duration, at_ms=at))
    if dice < 0.25:
        return (Failure(rng.choice(("all actives", "all actives, no zookeeper")), duration, at_ms=at),)
    if dice < 0.35:
        again = Failure("crash", rng.uniform(50, 400), step=rng.choice(("promoted", "restoring", "went on")), nth=1)
        return Failure("all actives", duration, at_ms=at), again
    if dice < 0.45 and settings.store:
        step = rng.choice(("object sent", "manifest sent", "removal sent", "retired"))
        return (Failure("pause", rng.uniform(40, 500), step=step, nth=rng.randint(1, 12)),)
    return ()


def _failure(rng: Random, settings: Redundancy, span: float) -> Failure:
    replicas = settings.slots + settings.standbys
    if rng.random() < 0.4:
        return failure_of(rng, replicas, span)
    duration = rng.choice((rng.uniform(5, 60), rng.uniform(60, 500)))
    if settings.standbys and rng.random() < 0.4:
        if rng.random() < 0.6:
            return Failure("switchover", 0.0, at_ms=rng.uniform(60, span))
        return Failure("stop", duration, target=f"replica-{rng.randrange(replicas)}", at_ms=rng.uniform(60, span))
    if rng.random() < 0.4:
        damage = () if settings.cuts_log else ("damage", "damage")
        kind = rng.choice(("store outage", *damage) if settings.store else ("zookeeper outage",))
        return Failure(kind, duration, at_ms=rng.uniform(20, span))
    kind = rng.choice(("crash", "pause", "machine lost"))
    if rng.random() < 0.3:
        return Failure(kind, duration, target=f"replica-{rng.randrange(replicas)}", at_ms=rng.uniform(5, span))
    step = rng.choice((STORE_STEPS if settings.store else ()) + STANDBY_STEPS + REPLICA_STEPS[:3])
    return Failure(kind, duration, step=step, nth=rng.choice((1, 1, 2, 3, 5, 8)))
