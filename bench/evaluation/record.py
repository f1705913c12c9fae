"""What one run leaves behind beside its latencies: all that a report needs, in one JSON document."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from bench.evaluation.plan import RunSpec

_FROZEN = ConfigDict(extra="forbid", frozen=True)


class KillSeen(BaseModel):
    """One SIGKILL: when, of whom, until when it was followed (Unix ns), and s until the killed one ran, computed, and all
    were at the head again; None: not seen."""

    model_config = _FROZEN

    at_ns: int
    victim: str
    until_ns: int
    up_s: float | None = None
    computing_s: float | None = None
    at_head_s: float | None = None


class Usage(BaseModel):
    """Cores and memory (MB, proportional set size) at moments of the run, in s from its window's start.

    `cores`, `memory`: all processes of the system. `parts`: the memory of each of its parts, a replica with its orderer for
    example. `around`: broker, ZooKeeper, feeder, reader. `foreign`: everything else.
    """

    model_config = _FROZEN

    at_s: tuple[float, ...] = ()
    cores: tuple[float, ...] = ()
    around: tuple[float, ...] = ()
    foreign: tuple[float, ...] = ()
    memory: tuple[float, ...] = ()
    parts: dict[str, tuple[float, ...]] = {}


class Wire(BaseModel):
    """Bytes in the window: what the broker's logs grew by, of the input, of the output and of all other topics; and what
    went over the machine's loopback, from all processes."""

    model_config = _FROZEN

    input: int
    output: int
    other: int
    loopback: int


class Delivery(BaseModel):
    """Of the whole run: how many records were sent, and how many rows are missing, came again, or too early.

    `drained`: whether nothing came any more when that was counted; else some of what is missing was only late.
    """

    model_config = _FROZEN

    sent: int
    lost: int
    duplicated: int
    reordered: int
    drained: bool = True

    @property
    def faultless(self) -> bool:
        """Whether every row came once and in order."""
        return not (self.lost or self.duplicated or self.reordered)


class RunRecord(BaseModel):
    """A run that ended well. `start_ns`, `end_ns`: its window, Unix. `took_s`: the whole run."""

    model_config = _FROZEN

    spec: RunSpec
    command: str
    started: str
    took_s: float
    start_ns: int
    end_ns: int
    kills: tuple[KillSeen, ...]
    trouble: str
    """Why there were fewer kills than planned; empty: there were not."""
    delivery: Delivery
    usage: Usage
    wire: Wire
    machine: dict[str, str | int]
    versions: dict[str, str]


class FailedRun(BaseModel):
    """A run that failed, and is tried again the next time."""

    model_config = _FROZEN

    spec: RunSpec
    reason: str


class Plan(BaseModel):
    """All runs that the evaluation shall have, and the command that began it last."""

    model_config = _FROZEN

    command: str
    scale: str
    about: dict[str, str]
    """Scenario → its question."""
    runs: tuple[RunSpec, ...]

    def beside(self, before: Plan) -> Plan:
        """This plan, which is for some scenarios only, with the runs that were planned before."""
        own = {spec.id for spec in self.runs}
        others = tuple(spec for spec in before.runs if spec.id not in own)
        return self.model_copy(update={"about": {**before.about, **self.about}, "runs": (*others, *self.runs)})
