"""What a measured workload is: its job, its records, what a row tells, and what has to come out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench.analysis import Faults, Times
from bench.records import Arrivals, decode

TRICKLE = 50


class Sent(NamedTuple):
    """A record as it is sent. `source`: the place of its source among those of the job."""

    key: bytes | None
    value: bytes
    partition: int
    source: int = 0


class Came(NamedTuple):
    """What a row tells: see `records.ARRIVAL`. `created_ns` is 0 where only the feeder knows it.

    `key` : of the row, as a number; where rows have none, the partition of the record that a row comes of. In both cases
    `key` modulo the number of partitions is the partition of its records.
    """

    number: int
    created_ns: int
    key: int


Make = Callable[[int, int], Sent]
"""A record, of its number and its time of creation (Unix, ns). Called for each number in turn."""


def decoded(key: bytes | None, value: bytes | None) -> Came:
    """A row of the jobs of `bench.jobs`."""
    return Came(*decode(key or b"", value or b""))


@dataclass(frozen=True, slots=True)
class Job:
    """What is run.

    `function` : ordinary PySpark of `sources`, which its parameters are called by, and perhaps of `ctx`.
    `columns` : of Kafka's that it reads. `reading`: what a source has in a manifest: `format` and `schema` of JSON.
    `updates` : whether plain Spark's output mode is update.
    `spec` : what a manifest has beside job, engine, sources and sink.
    """

    function: Callable[..., Any]
    sources: tuple[str, ...] = ("events",)
    columns: tuple[str, ...] = ("key", "value")
    reading: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    updates: bool = False
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_beside(self) -> bool:
        """Whether its code is a copy of `bench/jobs.py` beside the manifest, and not a module of the path."""
        return self.function.__module__ == "bench.jobs"

    @property
    def code(self) -> dict[str, Any]:
        """`spec.job` of a manifest."""
        where = {"file": "jobs.py"} if self.is_beside else {"module": self.function.__module__}
        options = {"options": dict(self.options)} if self.options else {}
        return {**where, "function": self.function.__name__, **options}

    def topics(self, first: str) -> list[str]:
        """Of each source its topic. `first`: that of the first one, with which the others' begin."""
        return [first, *(f"{first}-{source}" for source in self.sources[1:])]

    @property
    def conf(self) -> Mapping[str, str]:
        """Settings of Spark that the job needs."""
        found: Mapping[str, str] = self.spec.get("spark", {}).get("conf", {})
        return found


@dataclass(frozen=True, slots=True)
class Workload:
    """One that the bench can feed, read and judge.

    `feed` : of a seed. `row`: of a row's key and value. `faults`: of the arrivals, a feed's seed and how many records it
    sent.
    `resolved` : the arrivals with what rows do not tell, of a seed and of when each record so far was created (Unix, ns, by
    its number); None: rows tell all.
    `copies` : whether every record comes out, once. `trickle`: records/s while a system starts.
    `no_peers`, `no_real_time`, `no_lanes` : why peers, the real-time engine or lanes cannot run it; empty: they can.
    """

    job: Job
    feed: Callable[[int], Make]
    faults: Callable[[Arrivals, int, int], Faults]
    row: Callable[[bytes | None, bytes | None], Came] = decoded
    resolved: Callable[[Arrivals, int, Times], Arrivals] | None = None
    copies: bool = True
    compression: str = "none"
    trickle: int = TRICKLE
    no_peers: str = ""
    no_real_time: str = ""
    no_lanes: str = ""
