"""What a core is given: one event per step.

Those that come with each record are named tuples: a frozen dataclass takes twice as long to make.
"""

from dataclasses import dataclass
from typing import NamedTuple

from tandem.protocol.actions import Outcome, Step
from tandem.protocol.switchover import Holder
from tandem.protocol.values import Answers, Marker, Proposal


class LogRecord(NamedTuple):
    """The next record of the ordering log, at `offset`; `timestamp_ms`: the broker's (Unix, ms)."""

    offset: int
    proposal: Proposal
    timestamp_ms: int = 0


class MarkerRecord(NamedTuple):
    """The next marker of the commits topic; `timestamp_ms`: the broker's (Unix, ms)."""

    marker: Marker
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class Computed:
    """The engine has computed `epoch`; `digest`: of its rows, which the runtime keeps until they are not needed.

    `inputs`, `work_ms` : as in `Computation`.
    """

    epoch: int
    digest: str
    inputs: str = ""
    work_ms: float = 0.0


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


class Seen(NamedTuple):
    """What this replica knows of the others now; sent again and again.

    Parameters
    ----------
    slot : the one that it holds; None: none.
    replaces_ended, is_summoned : it is to compute in the place of an active that has ended; a switchover names it.
    must_end : it was drained.
    has_proved : the state that it follows was found to be right.
    is_surplus : others hold all slots, and nobody has asked for one more replica.
    successor_holder : who took this replica's slot, as a switchover asked.
    can_hand_over : there is somebody who could take over its slot.
    ended : the incarnations whose processes are seen to have ended.
    """

    slot: int | None = None
    replaces_ended: bool = False
    is_summoned: bool = False
    must_end: bool = False
    has_proved: bool = False
    is_surplus: bool = False
    successor_holder: Holder | None = None
    can_hand_over: bool = False
    ended: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stop:
    """Go, but hand over to a standby if there is one; sent once or more."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed. Sent again and again; `has_read_all`: as far as known nothing is left to read in the logs."""

    has_read_all: bool = True


ReplicaEvent = LogRecord | MarkerRecord | Computed | Needs | Asked | Done | Failed | Seen | Stop | Tick
"""What a `ReplicaCore` is given."""
