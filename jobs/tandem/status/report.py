"""What a process of a job tells about itself: the JSON that it serves as /status, and the operator reads.

The operator has no credentials of Kafka or ZooKeeper: what it knows of a job's replicas, it knows from these reports.
"""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tandem.core.failovers import Failover

State = Literal["starting", "standby", "active"]


@dataclass(frozen=True)
class TopicDrift:
    """How one of Tandem's own topics differs from what it should be, and what to do about it, in words.

    `setting` : Kafka's name of what differs; `partitions`; "": the topic is missing.
    """

    topic: str
    setting: str
    difference: str
    remedy: str


@dataclass(frozen=True)
class ReplicaReport:
    """A replica. Epochs are −1 where there are none; incarnations name `slots`, `roles`, `publisher` and `failover`.

    `slots`, `roles` and `request` : what it last read in ZooKeeper; `coordinated`: whether ZooKeeper answers it now.
    `catch_up_s` : estimated time to the log's head, s; None: not known. `claims_won`, `claims_lost`, `take_overs`: how many
    epochs this incarnation was the first to claim, others were, it took over. `input_records`: of the epochs that were cut.
    `has_to_prove` : of a standby, whether something was published that it could prove its state with, or it has no state.
    `fault` : of a standby, what the job's code raised when it computed epochs to prove its state; "": nothing.
    `waits_for` : what its start or its output has been waiting for, if that takes most of a minute, in words;
    `waits_beside`: the same of what nobody waits for to get the output, e.g. a snapshot.
    `engine` : which one computes, and why if that was a choice, e.g. `realTime: …`; "": it is not known yet.
    `trouble` : what Kafka does not take from it at the moment, why, and what to do; "": nothing.
    `scattered` : which sources are not partitioned as the manifest says, and what to do; "": none is known to be.
    `drift` : what it found when it last looked at the job's topics, None: it has not looked yet.
    """

    replica: str
    incarnation: str
    state: State
    ready: bool = False
    epoch: int = -1
    head_epoch: int = -1
    published_epoch: int = -1
    followed_epoch: int = -1
    verified_epoch: int = -1
    has_to_prove: bool = True
    fault: str = ""
    lag_epochs: int = 0
    lag_records: int = 0
    lag_seconds: float = 0.0
    catch_up_s: float | None = None
    claims_won: int = 0
    claims_lost: int = 0
    take_overs: int = 0
    input_records: int = 0
    diverged: bool = False
    engine: str = ""
    generation: int = 0
    config_hash: str = ""
    candidate: bool = False
    publisher: str = ""
    failover: Failover | None = None
    coordinated: bool = False
    slots: Mapping[int, str] = Field(default_factory=dict)
    roles: Mapping[str, str] = Field(default_factory=dict)
    request: str = ""
    drift: tuple[TopicDrift, ...] | None = None
    waits_for: str = ""
    waits_beside: str = ""
    trouble: str = ""
    scattered: str = ""

    @property
    def unfitness(self) -> str:
        """Why a standby could replace nobody, and what to do, in words; "": nothing is known to be in the way."""
        if not self.fault:
            return ""
        return (
            f"the job's code raises on {self.replica} where the others compute, so it could replace none of them: "
            f"{self.fault}. See what is missing there: a file, a package, a variable, a server that the code asks"
        )


@dataclass(frozen=True)
class HeldInput:
    """An open transaction of a producer holds back an input: the last stable offset of the partition has been `offset` for
    `seconds`, and `records` offsets stand behind it."""

    topic: str
    partition: int
    offset: int
    records: int
    seconds: float

    @property
    def words(self) -> str:
        """What happened, and what to do."""
        where = f"{self.topic}/{self.partition}"
        # In steps, so that a status that quotes it is not written every few seconds.
        time = f"{self.seconds // 10 * 10:.0f} s" if self.seconds < 60 else f"{self.seconds // 60:.0f} min"
        tool = f"`kafka-transactions.sh describe-producers --topic {self.topic} --partition {self.partition}`"
        return (
            f"{where}: a producer's transaction has been open at offset {self.offset} for {time} or longer, and "
            f"{10 ** (len(str(self.records)) - 1)} or more offsets from there on cannot be read before it ends. "
            f"{tool} names the producer: let it "
            "commit, or abort the transaction (`kafka-transactions.sh abort`)"
        )


@dataclass(frozen=True)
class OrdererReport:
    """An orderer or a heartbeat generator. `epoch`: the last one that was cut, −1: none.

    `lag_records` : of the inputs, up to the end of the log. `held` : those that an open transaction holds back.
    `trouble`, `waits_for`, `waits_beside` : as of a replica.
    """

    orderer: str
    leading: bool = False
    epoch: int = -1
    lag_records: int = 0
    held: tuple[HeldInput, ...] = ()
    trouble: str = ""
    waits_for: str = ""
    waits_beside: str = ""


Report = ReplicaReport | OrdererReport
_REPORT: Final[TypeAdapter[Report]] = TypeAdapter(Report)


def encode(report: Report) -> bytes:
    """The report as JSON."""
    return _REPORT.dump_json(report)


def decode(content: bytes) -> Report:
    """The report in `content`. Raises `ValueError` if it is none."""
    try:
        return _REPORT.validate_json(content)
    except ValidationError as error:
        details = error.errors()[0]
        raise ValueError(f"no report of a process: {'.'.join(map(str, details['loc']))}: {details['msg']}") from error
