"""One replica's publication, and what it reads, computes and does."""

from __future__ import annotations

from tandem.protocol.actions import Action, Outcome, ProposeClaim, ReadToEnd, Step
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Proposal
from unit.protocol.builders import config, cut

MOST_MS = 100.0


class Replica:
    """A publication of incarnation `a` at time `now`, with three epochs cut; what it computes has digest `d`."""

    def __init__(self, delivery: Delivery = Delivery.EXACTLY_ONCE, generation: int = 0) -> None:
        self.publication = Publication("a", Decisions(), 0, delivery, AdaptiveTimeout(10.0, MOST_MS), generation)
        self.now = 0.0
        self._offset = 0
        self._step: Step = ReadToEnd()
        self.reads(config(0), cut(0, 1), cut(1, 2), cut(2, 3))

    def reads(self, *proposals: Proposal) -> None:
        for proposal in proposals:
            self.publication.on_proposal(proposal, self._offset, self.now)
            self._offset += 1

    def next(self) -> Action | None:
        action = self.publication.next_action(self.now)
        if action is not None and not isinstance(action, ProposeClaim):
            self._step = action
        return action

    def done(self, outcome: Outcome | None = None) -> None:
        """Has carried out what it was asked for."""
        self.publication.done(self._step, outcome)

    def computes(self, *epochs: int) -> None:
        for epoch in epochs:
            self.publication.on_computed(epoch, Computation("d"))

    def owns(self, epoch: int) -> None:
        """Has computed and claimed an epoch."""
        self.computes(epoch)
        assert self.next() == ProposeClaim(Claim(epoch, 0, "a"))
        self.reads(Claim(epoch, 0, "a"))

    def takes_over_from(self, *owners: str) -> None:
        """Has computed epoch 0, which `owners` have claimed in vain, and has its claim accepted."""
        self.computes(0)
        self.reads(*(Claim(0, attempt, owner) for attempt, owner in enumerate(owners)))
        self.now += 4 * MOST_MS + 1
        assert self.next() == ProposeClaim(Claim(0, len(owners), "a"))
        self.reads(Claim(0, len(owners), "a"))
