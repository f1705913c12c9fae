"""Whatever is read, and whenever: the order of a replica's actions keeps what the argument for correctness needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tandem.protocol.actions import Action, Fence, Outcome, ProposeClaim, Publish, ReadToEnd, RenewProducer
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Proposal
from unit.protocol.builders import config, cut, marker

EPOCHS = 6
ME = "a"


@dataclass
class Run:
    """A publication that is told things in any order, and the actions that it began."""

    publication: Publication = field(
        default_factory=lambda: Publication(ME, Decisions(), 0, Delivery.EXACTLY_ONCE, AdaptiveTimeout(1.0, 5.0))
    )
    now: float = 0.0
    computed: int = -1
    current: Action | None = None
    began: list[Action] = field(default_factory=list)
    proposed: list[Claim] = field(default_factory=list)
    accepted_at: dict[Claim, int] = field(default_factory=dict)
    failed: bool = False
    committed: int | None = None

    def __post_init__(self) -> None:
        log: list[Proposal] = [config(0), *(cut(epoch, epoch + 1) for epoch in range(EPOCHS))]
        for offset, proposal in enumerate(log):
            self.publication.on_proposal(proposal, offset, 0.0)

    def waits(self) -> None:
        self.now += 10.0

    def computes(self) -> None:
        if self.computed < EPOCHS - 1:
            self.computed += 1
            self.publication.on_computed(self.computed, Computation("d"))

    def reads_own_claim(self) -> None:
        if self.proposed:
            self._reads(self.proposed.pop(0))

    def reads_another_claim(self, epoch: int, owner: str) -> None:
        self._reads(Claim(epoch, len(self.publication.decisions.claims(epoch)), owner))

    def reads_a_marker(self) -> None:
        owner = self.publication.decisions.owner(self.publication.head)
        if owner is not None:
            self.publication.on_marker(marker(self.publication.head, owner.owner), self.now)

    def acts(self, outcome: Outcome) -> None:
        """Finish what is under way, or begin what is next."""
        if self.current is not None:
            self._finish(self.current, outcome)
            return
        action = self.publication.next_action(self.now)
        if isinstance(action, ProposeClaim):
            self.proposed.append(action.claim)
        elif action is not None:
            self._check(action)
            self.current = action
            self.began.append(action)

    def _reads(self, claim: Claim) -> None:
        self.publication.on_proposal(claim, 0, self.now)
        if claim.owner == ME and self.publication.decisions.owner(claim.epoch) == claim:
            self.accepted_at.setdefault(claim, len(self.began))

    def _finish(self, action: Action, outcome: Outcome) -> None:
        self.current = None
        if not isinstance(action, Publish):
            self.publication.done(action)
            return
        self.failed = outcome is not Outcome.COMMITTED
        self.committed = self.committed if self.failed else action.epoch
        self.publication.done(action, outcome)

    def _check(self, action: Action) -> None:
        if self.began and isinstance(self.began[-1], RenewProducer):
            assert action == ReadToEnd(), "a renewal is followed by reading to the end"
        if self.began and isinstance(self.began[-1], Publish) and self.failed:
            assert action == RenewProducer(), "a producer whose transaction failed is renewed"
        if isinstance(action, Publish):
            claim = Claim(action.epoch, action.attempt, ME)
            assert self.publication.decisions.owner(action.epoch) == claim, "only the owner publishes"
            is_behind = action.epoch - 1 == self.committed
            assert action.epoch == self.publication.head or is_behind, "the epoch before is published"
            if action.attempt > 0:
                self._check_take_over(claim, self.began[self.accepted_at[claim] :])

    def _check_take_over(self, claim: Claim, since: list[Action]) -> None:
        others = {c.owner for c in self.publication.decisions.claims(claim.epoch)[: claim.attempt]} - {ME}
        fences = [i for i, action in enumerate(since) if isinstance(action, Fence) and others <= set(action.owners)]
        assert fences, "whoever takes over fences every earlier owner after its claim"
        assert ReadToEnd() in since[fences[0] :], "whoever takes over reads to the end after it fenced"


def _walk(seed: int) -> None:
    """Tell a new publication things in a random order."""
    rng, run = Random(seed), Run()
    for _ in range(150):
        match rng.choice(("act", "act", "act", "wait", "compute", "own claim", "other claim", "marker")):
            case "act":
                run.acts(rng.choice(tuple(Outcome)))
            case "wait":
                run.waits()
            case "compute":
                run.computes()
            case "own claim":
                run.reads_own_claim()
            case "other claim" if rng.random() < 0.3:
                run.reads_another_claim(rng.randrange(EPOCHS), rng.choice("bc"))
            case "marker" if rng.random() < 0.3:
                run.reads_a_marker()


def test_actions_come_in_an_order_that_keeps_every_epoch_published_once() -> None:
    for seed in range(2_000):
        try:
            _walk(seed)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
