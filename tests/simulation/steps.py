"""The steps of a publication, as the product's `replica.steps` carries them out, on the simulated servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.producer import Initialisation
from tandem.core.events import Done
from tandem.protocol.actions import Fence, Outcome, Publish, ReadToEnd, RenewProducer, Step
from tandem.protocol.values import Claim, Marker

if TYPE_CHECKING:
    from simulation.replica import Replica


class Steps:
    """One replica's. Each step ends with `Done` for its core, sooner or later, if the replica lives so long."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._world = replica.world
        self._renewed_for: int | None = None

    def do(self, step: Step) -> None:
        """Begin to carry out a step."""
        match step:
            case Fence(owners):
                self._world.reached("fence sent", self._replica)
                self._fence(step, owners, self._own_attempt())
            case ReadToEnd():
                self._look_at_ends(step)
            case RenewProducer():
                self._replica.producer.initialise(lambda: self._renewed(step))
            case Publish():
                self._publish(step)

    def _own_attempt(self) -> Claim | None:
        own = [
            claim
            for claim in self._replica.decisions.claims(self._replica.publication.head)
            if claim.owner == self._replica.me
        ]
        return own[-1] if own else None

    def _fence(self, action: Fence, owners: tuple[str, ...], claim: Claim | None) -> None:
        if owners:
            Initialisation(self._replica, owners[0], self._replica.me, lambda _: self._fence(action, owners[1:], claim))
            return
        if claim is not None:
            self._world.checker.on_fenced(claim.epoch, claim.attempt)
        self._replica.post(Done(action))
        self._world.reached("fenced", self._replica)
        self._replica.think()

    def _look_at_ends(self, action: ReadToEnd) -> None:
        """Ask for the two ends, one after the other, in either order; then read up to them."""
        world = self._world
        ends: dict[str, int] = {}

        def log_end() -> int:
            return len(world.log.records)

        def commits_end() -> int:
            return world.commits.end if world.deviation.waits_for_open_transactions else len(world.commits.visible)

        def answer(name: str, end: int) -> None:
            ends[name] = end
            if len(ends) == 2:
                self._read_to(action, ends["log"], ends["commits"])
            else:
                ask("commits" if name == "log" else "log")

        def ask(name: str) -> None:
            self._replica.ask(log_end if name == "log" else commits_end, (), lambda end: answer(name, end))

        ask(world.rng.choice(("log", "commits")))

    def _read_to(self, action: ReadToEnd, log_end: int, commits_end: int) -> None:
        deviation = self._world.deviation
        if deviation.reads_only:
            log_end, commits_end = (log_end, 0) if deviation.reads_only == "log" else (0, commits_end)
        if deviation.waits_for_open_transactions:
            if self._world.commits.stable_end < commits_end:
                self._world.timeline.after(5.0, self._replica, self._read_to, action, log_end, commits_end)
                return
            commits_end = len(self._world.commits.visible)
        self._replica.read_log(log_end)
        self._replica.read_commits(commits_end)
        self._replica.post(Done(action))
        if self._renewed_for is not None:
            claim = self._replica.decisions.owner(self._renewed_for)
            mine = (
                claim is not None
                and claim.owner == self._replica.me
                and self._renewed_for == self._replica.publication.head
            )
            self._world.reached("still the owner after a renewal" if mine else "conceded after a renewal")
            self._renewed_for = None
        self._world.reached("read to end", self._replica)
        self._replica.think()

    def _renewed(self, action: RenewProducer) -> None:
        self._replica.post(Done(action))
        self._world.reached("renewed", self._replica)
        self._replica.think()

    def _publish(self, action: Publish) -> None:
        what = self._replica.decisions.epoch_range(action.epoch)
        assert what is not None
        digest, rows = self._replica.rows[action.epoch]
        count = sum(map(len, rows))
        place = what.log_offset, action.skipped, self._replica.generation, what.config_offset
        marker = Marker(action.epoch, action.attempt, self._replica.me, digest, count, *place)
        outputs = [] if action.skipped else list(zip(self._world.outputs, rows, strict=True))
        self._replica.producer.publish(outputs, marker, lambda outcome: self._published(action, outcome))

    def _published(self, action: Publish, outcome: Outcome) -> None:
        self._renewed_for = None if outcome is Outcome.COMMITTED else action.epoch
        self._replica.on_ended(action, outcome)
        self._replica.post(Done(action, outcome))
        self._world.reached(outcome.value, self._replica)
        self._replica.think()
