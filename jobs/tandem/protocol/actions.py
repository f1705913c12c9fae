"""What `Publication` asks its runtime to do, how an attempt to publish may end, and what is under way."""

from dataclasses import dataclass
from enum import Enum

from tandem.protocol.values import Claim


class Outcome(Enum):
    """How an attempt to publish ended. `NOTHING_SENT`: before any row was, except into tables that take an epoch once."""

    COMMITTED = "committed"
    FENCED = "fenced"
    UNKNOWN = "unknown"
    NOTHING_SENT = "nothing sent"


@dataclass(frozen=True, slots=True)
class ProposeClaim:
    """Append this claim to the ordering log. The log will say whether it counts."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Fence:
    """Make sure that no transaction of these transactional ids can commit any more."""

    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadToEnd:
    """Read both topics to the ends they have *now*, feeding what comes."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish the rows of `epoch` and its marker, in one transaction if delivery is exactly once.

    `skipped`: only the marker, because the epoch's rows were given up with their owner (at most once).
    """

    epoch: int
    attempt: int
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class RenewProducer:
    """Destroy the transactional producer, make another of the same id, initialise it."""


Step = Fence | ReadToEnd | Publish | RenewProducer
"""What the runtime carries out one at a time, and reports as done."""

Action = ProposeClaim | Step
"""All that the runtime is asked for. A claim is only appended: the log reports what became of it."""


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is under way."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class TakingOver:
    """On the way to publishing under `claim`. It is given up, between two steps, if another claim counts by then."""

    claim: Claim
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Renewing:
    """After a transaction that was fenced, or whose outcome is unknown. Never given up."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Publishing:
    """The rows or the marker of the claimed epoch are on their way."""

    claim: Claim
    steps: tuple[Step, ...]


Phase = Idle | TakingOver | Renewing | Publishing
"""Where a publication stands. `steps`: what is left to do in this order; the first of them may be under way."""
