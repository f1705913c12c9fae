"""What an orderer's core is given, and what it wants done, beside what it has in common with a replica's."""

from dataclasses import dataclass
from typing import NamedTuple

from tandem.core.effects import Append
from tandem.core.events import LogRecord, Tick
from tandem.protocol.values import Offsets, TopicIds

# Events, beside `LogRecord` and `Tick` ---------------------------------------------------------------------------------


class Leading(NamedTuple):
    """A round begins: whether this orderer believes that it leads, asked before the log is read on."""

    leads: bool


class InputsSeen(NamedTuple):
    """The answer to `LookAtInputs`: the inputs end at `available`; None: Kafka does not say.

    `waiting` : records behind the last cut, those behind an open transaction included. `are_same` : whether the inputs
    are the topics that the log knows; False: nobody can say now, or was asked. `topic_ids` : of the topics, as last found.
    """

    available: Offsets | None
    waiting: int = 0
    are_same: bool = False
    topic_ids: TopicIds = ()


@dataclass(frozen=True, slots=True)
class RecordsCounted:
    """The answer to `CountRecords`: an epoch of bounded bytes ends at `ends`, as far as was counted.

    `wall_ms` (Unix, ms) and `seed` : for the cut that is made of it.
    """

    ends: Offsets
    wall_ms: int
    seed: int


# Effects, beside `Append` ----------------------------------------------------------------------------------------------


class WatchInputs(NamedTuple):
    """Look from time to time that the inputs are the topics `known`, and that nothing behind `last` is lost."""

    last: Offsets
    known: TopicIds


class LookAtInputs(NamedTuple):
    """Ask where the inputs end, and how much is behind `last`; `to_cut`: also whether they are the topics `known`.

    `follow` : read them from `last` on, so that what comes is seen without asking again.
    """

    last: Offsets
    known: TopicIds
    to_cut: bool
    follow: bool = False


@dataclass(frozen=True, slots=True)
class CountRecords:
    """Count the bytes from `last` to `ends`, or up to `available` where there are fewer records than offsets.

    `epoch` : which input comes first where not all can.
    """

    last: Offsets
    ends: Offsets
    available: Offsets
    epoch: int


@dataclass(frozen=True, slots=True)
class CountOn:
    """No cut is to be made now: count what has come, without waiting."""


OrdererEvent = LogRecord | Tick | Leading | InputsSeen | RecordsCounted
OrdererEffect = Append | WatchInputs | LookAtInputs | CountRecords | CountOn
