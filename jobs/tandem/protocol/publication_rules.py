"""The rules of publication: small questions that `Publication` asks, each of which a test takes away to see what it guards.

Pure; see `publication` for how they work together.
"""

from enum import Enum
from typing import Final, NamedTuple

from tandem.protocol.actions import Fence, Idle, Phase, ReadToEnd, RenewProducer, Step
from tandem.protocol.decisions import Decisions
from tandem.protocol.ended import Ended
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.transaction_time import LONGEST_S
from tandem.protocol.values import Claim, Marker

# An owner may try one transaction after the other, each with twice the time, until the longest one has failed too.
_LONGEST_PATIENCE_MS = 2_000.0 * LONGEST_S
_MOST_DOUBLINGS = 64  # no number is too large for them

LEAVE_MS: Final = 15.0
"""How long a replica that leaves gives the others for each epoch that it has computed."""


class Delivery(Enum):
    """What the reader of the output may rely on."""

    EXACTLY_ONCE = "exactlyOnce"
    AT_LEAST_ONCE = "atLeastOnce"
    AT_MOST_ONCE = "atMostOnce"


class Computation(NamedTuple):
    """What a replica has computed of one epoch.

    `inputs` : which records of the inputs it was given, see `Marker`; "": not known.
    `work_ms` : how long its publication may take for what it holds. `at_ms` : when it was computed.
    """

    digest: str
    inputs: str = ""
    work_ms: float = 0.0
    at_ms: float = -float("inf")


class PublicationRules:
    """What one incarnation knows, and the rules over that.

    `me` : transactional id of this incarnation; its producer must be initialised before the first call of
    `next_action`.
    `decisions` : the fold of the ordering log; fed through `on_proposal` only.
    `head` : the first epoch whose marker has not been read.
    `bound` : adaptive bound on the time between a claim and its marker; also spaces repeated proposals.
    `generation` : the one whose code this replica runs. Epochs of earlier ones it computes, but does not claim or
    compare.
    """

    def __init__(
        self, me: str, decisions: Decisions, head: int, delivery: Delivery, bound: AdaptiveTimeout, generation: int = 0
    ) -> None:
        self.me = me
        self.decisions = decisions
        self.head = head
        self._delivery = delivery
        self._bound = bound
        self.generation = generation
        self.compared = head - 1
        """The last epoch that this generation has published and this replica has computed, with the same rows; before the
        first one that which it began behind."""
        self._begun = False
        self._retired = False
        self._successor: str | None = None
        self._computed: dict[int, Computation] = {}
        self._published: dict[int, Marker] = {}
        self._proposed: dict[int, tuple[Claim, float]] = {}  # epoch -> the claim proposed last, when
        self._waiting_since = -float("inf")
        self._silent: set[str] = set()  # owners, see `is_silent`
        self.ended = Ended(bound.least_ms)
        """Incarnations whose processes were seen to end."""
        self._fenced_for: set[Claim] = set()  # own claims, see `is_fenced_for`
        self._fencing_for: frozenset[Claim] = (
            frozenset()
        )  # those that join them when the fence under way was read behind
        self.phase: Phase = Idle()
        self._under_way: Step | None = None
        self._committed: int | None = None
        self._unsure: int | None = None

    def to_claim(self) -> list[int]:
        """Epochs that this replica could claim: what it has computed, in order."""
        return sorted(self._computed)

    def is_my_turn(self, epoch: int, now_ms: float) -> bool:
        """Whether to claim `epoch`, as far as generations go: what is left of the one before waits for its own replicas."""
        if self._retired:
            return False
        config, of = self.decisions.config, self.decisions.generation_of(epoch)
        if config is None or not of <= self.generation <= config.generation:
            return False
        return of == self.generation or self._begun or now_ms - self._waiting_since > self._bound.most_ms

    def gives_way(self, epoch: int, now_ms: float) -> bool:
        """Whether to leave `epoch`, for a moment, to another one, because this replica leaves. Liveness only."""
        mine = self._computed.get(epoch)
        return self._successor is not None and mine is not None and now_ms - mine.at_ms < LEAVE_MS

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:
        """Whether a proposal that the log has not shown is given up, and made again."""
        return now_ms - proposed_ms >= self._bound.most_ms

    def is_overdue(self, claim: Claim, now_ms: float) -> bool:
        """Whether the owner of the head has been silent for too long, or nothing is to be expected from it any more."""
        is_gone = self.is_silent(claim.owner) or self.has_ended(claim)
        return is_gone or now_ms - self._waiting_since > self.patience_ms(claim)

    def has_ended(self, claim: Claim) -> bool:
        """Whether the owner's process was seen to end: nobody waits for it. One that has not ended is fenced as ever.

        Who took over gets its time in any case: two that see each other's end, and live, would fence each other for ever.
        And at most once, where what is taken over is lost, each epoch gets its time.
        """
        return not claim.attempt and claim.owner in self.ended and self._delivery is not Delivery.AT_MOST_ONCE

    def is_silent(self, owner: str) -> bool:
        """Whether an owner was overdue, and has claimed and published nothing since: nobody waits for each of its epochs.

        At most once, what is taken over is lost: there each epoch gets its time.
        """
        return owner in self._silent and self._delivery is not Delivery.AT_MOST_ONCE

    def is_of_silent(self, claim: Claim) -> bool:
        """Whether this replica takes over `claim`, which is not the head's, because its owner is silent.

        What a generation has left is not taken as long as another one of its replicas may publish it.
        """
        is_ours = self.decisions.generation_of(claim.epoch) == self.generation or self._begun
        return claim.epoch > self.head and claim.owner != self.me and is_ours and self.is_silent(claim.owner)

    def taken_over(self, epoch: int) -> Claim | None:
        """The claim by which this replica owns `epoch` after another one did; None: it does not."""
        claim = self.claim_of(epoch)
        return claim if claim is not None and claim.owner == self.me and claim.attempt > 0 else None

    def patience_ms(self, claim: Claim) -> float:
        """How long an owner may be silent.

        Who took over has fencing and reading to do before it can publish. So each attempt gets twice the time of the one
        before: else two that are slower than the bound would fence each other for ever. It ends with the longest that a
        transaction may take, not with the bound: that knows nothing of how large the epoch is, but this replica does,
        which has computed it too.
        """
        work_ms = self._computed[claim.epoch].work_ms if claim.epoch in self._computed else 0.0
        doubled = max(self._bound.ms, work_ms) * 2.0 ** min(claim.attempt, _MOST_DOUBLINGS)
        return min(doubled, max(_LONGEST_PATIENCE_MS, self._bound.most_ms))

    def claim_of(self, epoch: int) -> Claim | None:
        """The claim by which `epoch` is published: the log's, whatever was proposed, or counted before."""
        return self.decisions.owner(epoch)

    def proposed(self, epoch: int) -> Claim | None:
        """What this incarnation proposed last for `epoch`, whether or not the log has shown it."""
        return self._proposed[epoch][0] if epoch in self._proposed else None

    def candidates(self) -> tuple[int, ...]:
        """Epochs that may be published next: only the head, because markers are contiguous, and none that is committed.

        Who goes on before it has read its own marker meets brokers that are still ending its last transaction: librdkafka
        asks them again after 20 ms only, where the marker is there within two.
        """
        return () if self._committed == self.head else (self.head,)

    def may_be_out(self, claim: Claim) -> bool:
        """Whether rows may be out already: those of the owner before, or its own, of an attempt whose outcome is unknown."""
        return claim.attempt > 0 or claim.epoch == self._unsure

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        """What must be done between a claim that takes over and its publication, in this order.

        No `RenewProducer` here, even where an earlier owner is this incarnation, fenced meanwhile: these steps are given up
        when the head moves on, and a renewal that is given up before it has read to
        the end would undo that fence (see 3 in `publication`).
        """
        earlier = self.earlier_owners(claim)
        if self._delivery is not Delivery.EXACTLY_ONCE or not earlier or self.is_fenced_for(claim):
            return ()
        return (Fence(tuple(owner for owner in earlier if owner != self.me)), ReadToEnd())

    def earlier_owners(self, claim: Claim) -> tuple[str, ...]:
        """Who owned the epoch before `claim`, each once, the first one first."""
        return tuple(dict.fromkeys(c.owner for c in self.decisions.claims(claim.epoch) if c.attempt < claim.attempt))

    def is_fenced_for(self, claim: Claim) -> bool:
        """Whether all earlier owners were fenced and both topics read since this claim was read: see 2 in `publication`."""
        return claim in self._fenced_for

    def fenced_with(self, owners: tuple[str, ...]) -> frozenset[Claim]:
        """The claims of this incarnation, read by now, for which it is enough that `owners` are fenced from now on."""
        fenced, mine = {*owners, self.me}, filter(None, map(self.taken_over, self._computed))
        return frozenset(claim for claim in mine if fenced.issuperset(self.earlier_owners(claim)))

    def renewal_steps(self) -> tuple[Step, ...]:
        """What must be done after a transaction that was fenced, or whose outcome is unknown, in this order."""
        return (RenewProducer(), ReadToEnd())

    def is_superseded(self, marker: Marker) -> bool:
        """Whether `marker` ends what this replica's generation publishes."""
        return marker.generation > self.generation

    def has_same_inputs(self, inputs: str, marker: Marker) -> bool:
        """Whether `inputs` are the records that the published rows were computed from, as far as they can be compared."""
        return marker.generation != self.generation or not inputs or not marker.inputs or inputs == marker.inputs

    def agrees(self, digest: str, marker: Marker) -> bool:
        """Whether rows with `digest` are the published ones, as far as they can be compared."""
        return marker.generation != self.generation or marker.skipped or digest == marker.digest
