"""What a core wants done: values that the runtime, or the simulation, carries out in their order."""

from dataclasses import dataclass

from tandem.core.lag import Estimate
from tandem.protocol.actions import Step
from tandem.protocol.switchover import Role
from tandem.protocol.values import Answers, Claim, EpochRange, Marker, Proposal


@dataclass(frozen=True, slots=True)
class Append:
    """Append this to the ordering log, without waiting: the log itself says what became of it."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Compute:
    """Have the engine compute this epoch after those that it was given before. It answers with `Computed`."""

    epoch: EpochRange


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the outside world this question for `epoch`. It is reported with `Asked`, unless an `Answer` comes before."""

    epoch: int
    question: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answers with which the engine has to compute `epoch`."""

    epoch: int
    question: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class Expect:
    """`owner` has claimed an epoch: it may have to be fenced soon, so connect what that needs."""

    owner: str


@dataclass(frozen=True, slots=True)
class Marked:
    """The next marker was read: the rows of its epoch are needed no more. `epoch`: what it had read, as far as known."""

    marker: Marker
    epoch: EpochRange | None


@dataclass(frozen=True, slots=True)
class Compared:
    """What is published up to `epoch` is what this replica has computed: others may go on from its state of then."""

    epoch: int


@dataclass(frozen=True, slots=True)
class TookOver:
    """This incarnation owns an epoch in the place of `before`."""

    claim: Claim
    before: str


@dataclass(frozen=True, slots=True)
class Begun:
    """The log has accepted this replica's generation; its first epoch is the one after `after`."""

    generation: int
    after: int


@dataclass(frozen=True, slots=True)
class CatchingUp:
    """Said every few seconds while the replica is behind."""

    epoch: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The replica is at the head after `epochs` epochs, in `elapsed_ms`."""

    epoch: int
    epochs: int
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class TellRole:
    """Tell the others what this replica does."""

    role: Role


@dataclass(frozen=True, slots=True)
class SeekSuccessor:
    """Ask a standby, if there is one, to take over this replica's slot."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """One that was asked to stop leaves after `elapsed_ms`. `to`: who has taken over; None: nobody has."""

    to: str | None
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Exit:
    """The core has ended, and takes no event any more. `error`: why; None: it was asked to stop, and owes nothing."""

    error: Exception | None = None


Report = TookOver | Begun | CatchingUp | CaughtUp | HandedOver
"""Nothing is to be done, but to say so."""

Effect = Append | Compute | Ask | Answer | Expect | Marked | Compared | TellRole | SeekSuccessor | Report | Exit | Step
"""What a `ReplicaCore` wants done. A `Step` is reported as `Done` or `Failed`; there is one at a time."""
