"""Values that the protocol decides about: positions, proposals and epoch markers."""

from __future__ import annotations

import hashlib
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one input topic."""

    topic: str
    partition: int


class Offsets(Mapping[TopicPartition, int]):
    """Immutable map from input partition to offset: of each input, the first record that is *not* included.

    Iterates in the order of topic, then partition, so that everything derived from it is the same in every replica.
    """

    __slots__ = ("_offsets",)

    def __init__(self, offsets: Mapping[TopicPartition, int] | Iterable[tuple[TopicPartition, int]] = ()) -> None:
        pairs = offsets.items() if isinstance(offsets, Mapping) else offsets
        self._offsets: dict[TopicPartition, int] = dict(sorted(pairs))

    def __getitem__(self, tp: TopicPartition) -> int:
        return self._offsets[tp]

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def items(self) -> ItemsView[TopicPartition, int]:
        return self._offsets.items()

    def __hash__(self) -> int:
        return hash(tuple(self._offsets.items()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{topic}/{partition}:{offset}" for (topic, partition), offset in self._offsets.items())
        return f"Offsets({inside})"

    def records_since(self, earlier: Offsets) -> int:
        """How many offsets lie between `earlier` and here (an input unknown to `earlier` counts from 0)."""
        before = earlier._offsets
        return sum([offset - before.get(tp, 0) for tp, offset in self._offsets.items()])


TopicIds = tuple[tuple[str, str], ...]
"""Input topics with Kafka's id of each, by name: a topic that was deleted and created again has another id."""


@dataclass(frozen=True, slots=True)
class Config:
    """The job's identity, the first record of a generation.

    `digest` covers code, options, schemas and versions; a replica with another one refuses to run. `start` is where the
    job begins to read; the epochs of generation g + 1 go on where those of g ended.

    Generation g + 1 publishes the epochs that are cut after its config. Its state is that of the savepoint `savepoint`,
    taken at the epoch `base`: it computes the epochs since then once more, with its own code, and drops their rows.

    `topic_ids` says which topics its positions are of; empty in logs that were written before topics were distinguished.

    `barriers` asks the orderers for common barriers among its epochs: only who has made the plan knows that it needs them.

    `moved` begins a lane again, because the number of lanes is another one: what it reads was read by other lanes before. It
    goes on at `start`, with the epoch `base`, in which there is nothing. `lane` and `lanes` then say which partitions p are
    its own: those with p mod `lanes` = `lane`. No lane (−1): the log has ended; `lanes` 0: it never was another number.
    """

    generation: int
    digest: str
    start: Offsets
    proposer: str
    base: int = -1
    savepoint: str = ""
    topic_ids: TopicIds = ()
    barriers: bool = False
    lane: int = 0
    lanes: int = 0
    moved: bool = False

    @property
    def lineage(self) -> str:
        """What state must have come from to be exchanged: two states of one lineage at the same epoch are equal.

        The topics are part of it: a job of the same name and code on another cluster, or on one that was set up again, has
        other records in its epochs.
        """
        if not self.topic_ids:
            return self.descent
        ids = repr(sorted(self.topic_ids)).encode()
        return f"{self.descent}@{hashlib.blake2b(ids, digest_size=8).hexdigest()}"

    @property
    def lineages(self) -> tuple[str, ...]:
        """`lineage`, and what it was in states that were written before the topics were part of it."""
        return (self.lineage, self.descent)

    @property
    def descent(self) -> str:
        """Which generation of which code, wherever it runs."""
        if self.generation == 0:
            return self.digest
        return f"{self.generation}:{self.base}:{self.savepoint}:{self.digest}"


@dataclass(frozen=True, slots=True)
class Cut:
    """Epoch `epoch` ends before the positions `ends`. `time_ms` (Unix, ms) is its time and `seed` its random seed.

    `topic_ids` is as in `Config`, and empty where the config in force has them. `barrier`: every replica that runs the
    real-time engine commits its state behind this epoch, see `protocol.barriers`.
    """

    epoch: int
    ends: Offsets
    time_ms: int
    seed: int
    proposer: str
    topic_ids: TopicIds = ()
    barrier: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """Incarnation `owner` publishes `epoch`, attempt `attempt` (0 is the first). `owner` is its transactional id.

    `generation` is the one whose code computed the epoch's rows.
    """

    epoch: int
    attempt: int
    owner: str
    generation: int = 0


@dataclass(frozen=True, slots=True)
class LagReport:
    """Advice, never a decision: `replica` has computed `epoch` and needs `epoch_ms` for one. The pace leaves it room.

    0 ms: it has caught up, and needs no room any more.
    """

    replica: str
    epoch: int
    epoch_ms: float


Answers = tuple[str | None, ...]
"""To one question of one epoch: one for each record that was asked about, or one in all; None: nobody answered."""


@dataclass(frozen=True, slots=True)
class Determinant:
    """What the world answered to question `name` of `epoch`: once for each record that was asked about, or once in all.

    None is an answer as well: nobody answered in time. Long answers come in `parts`, of which this is number `part`, from
    0 on. `proposer` is an incarnation: it proposes the same answer to a question, however often it sends it.
    """

    epoch: int
    name: str
    part: int
    parts: int
    answers: Answers
    proposer: str

    def __post_init__(self) -> None:
        if not 0 <= self.part < self.parts:
            raise ValueError(f"part {self.part} of {self.parts}")


Proposal = Config | Cut | Claim | Determinant | LagReport


@dataclass(frozen=True, slots=True)
class EpochRange:
    """What an epoch reads: of every input the records from `starts` (included) to `ends` (excluded).

    `log_offset` is where its cut stands in the ordering topic: what continues after this epoch reads on from there.
    `config_offset` is where the config stands that was in force there. `barrier`: the real-time engine commits its state
    behind it; the micro-batch engine does so behind every epoch, and does not ask.
    """

    epoch: int
    starts: Offsets
    ends: Offsets
    time_ms: int
    seed: int
    log_offset: int
    config_offset: int = 0
    barrier: bool = False


@dataclass(frozen=True, slots=True)
class Marker:
    """The last record of an epoch's transaction: the epoch is published, by whom, and what it contained.

    `rows` counts the rows of all Kafka sinks; `digest` is that of `content.digest`. `skipped` says that the rows of an
    at-most-once epoch were given up with their owner. `log_offset` is that of the epoch's cut in the ordering topic,
    `config_offset` that of the config in force there, so that a newcomer finds its place in the log from the last marker
    alone. `generation` is the one whose code computed the rows. `inputs` says which records of the inputs these were
    computed from: how many, and a hash of their offsets where some are missing; empty in markers of earlier versions.
    """

    epoch: int
    attempt: int
    owner: str
    digest: str
    rows: int
    log_offset: int
    skipped: bool = False
    generation: int = 0
    config_offset: int = 0
    inputs: str = ""
