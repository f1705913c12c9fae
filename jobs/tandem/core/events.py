"""What a core is given: one event per step."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.protocol.actions import Outcome, Step
from tandem.protocol.values import Answers, Marker, Proposal


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The next record of the ordering log, at `offset`; `timestamp_ms`: the broker's (Unix, ms)."""

    offset: int
    proposal: Proposal
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class MarkerRecord:
    """The next marker of the commits topic; `timestamp_ms`: the broker's (Unix, ms)."""

    marker: Marker
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class Computed:
    """The engine has computed `epoch`; `digest`: of its rows, which the runtime keeps until they are not needed."""

    epoch: int
    digest: str


@dataclass(frozen=True, slots=True)
class Needs:
    """The engine has the records of `epoch`, and needs the answers to these questions about them.

    `has_read_all`: as in `Tick`.
    """

    epoch: int
    questions: tuple[str, ...]
    has_read_all: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """The outside world was asked `question` for `epoch`, as the core wanted, and answered this."""

    epoch: int
    question: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class Done:
    """A step was carried out; `outcome`: of a `Publish`."""

    step: Step
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A step could not be carried out for now, because of `error`."""

    step: Step
    error: Exception


@dataclass(frozen=True, slots=True)
class Leave:
    """Claim nothing any more, publish what was claimed, then end.

    If there is a `successor` (an incarnation, or `ANYBODY`), claim on until that has claimed an epoch: who stops at once
    leaves the epoch that it computes to one that may be slower.
    """

    successor: str | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. Sent again and again; `has_read_all`: as far as known nothing is left to read in the logs."""

    has_read_all: bool = True


ReplicaEvent = LogRecord | MarkerRecord | Computed | Needs | Asked | Done | Failed | Leave | Tick
"""What a `ReplicaCore` is given."""
