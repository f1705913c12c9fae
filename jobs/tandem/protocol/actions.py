"""What `Publication` asks its runtime to do, and how an attempt to publish may end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tandem.protocol.values import Claim


class Outcome(Enum):
    """How an attempt to publish ended."""

    COMMITTED = "committed"
    FENCED = "fenced"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProposeClaim:
    """Append this claim to the ordering log. The log will say whether it counts."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Fence:
    """Make sure that no transaction of these transactional ids can commit any more; then call `fenced`."""

    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadToEnd:
    """Read both topics to the ends they have *now*, feeding what comes; then call `at_end`."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish the rows of `epoch` and its marker, in one transaction if delivery is exactly once; call `published`.

    `skipped`: only the marker, because the epoch's rows were given up with their owner (at most once).
    """

    epoch: int
    attempt: int
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class RenewProducer:
    """Destroy the transactional producer, make another of the same id, initialise it; then call `renewed`."""


Action = ProposeClaim | Fence | ReadToEnd | Publish | RenewProducer
