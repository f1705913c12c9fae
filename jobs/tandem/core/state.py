"""What a core knows of itself: the one source of a process's metrics, status and readiness."""

from dataclasses import dataclass

from tandem.core.failovers import Failover


@dataclass(slots=True)
class Counts:
    """What a replica has counted since it began; see `ReplicaState`."""

    claims_won: int = 0
    claims_lost: int = 0
    take_overs: int = 0
    input_records: int = 0


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """A replica that computes. Epochs are −1 where there are none.

    `ready` : it has reached the log's head, and has neither fallen far behind nor stood still since.
    `keeps_up` : it is ready, and the orderers leave no room for it.
    `candidate` : the log has not accepted its generation yet.
    `epoch`, `head_epoch`, `published_epoch` : the last one in its state, the last that was cut, the last that was
    published.
    `due_ms` : when the oldest epoch was cut that it has not computed, Unix, ms; None: there is none.
    `catch_up_s` : estimated time to the head; None: not known.
    `publisher` : the incarnation that published last; "": nobody.
    `claims_won`, `claims_lost`, `take_overs` : how many epochs it was the first to claim, and the others; that it took
    over.
    `input_records` : of the epochs that were cut.
    """

    ready: bool = False
    keeps_up: bool = False
    candidate: bool = False
    epoch: int = -1
    head_epoch: int = -1
    published_epoch: int = -1
    lag_epochs: int = 0
    lag_records: int = 0
    due_ms: int | None = None
    catch_up_s: float | None = None
    publisher: str = ""
    failover: Failover | None = None
    claims_won: int = 0
    claims_lost: int = 0
    take_overs: int = 0
    input_records: int = 0
