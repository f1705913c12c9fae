"""A change of the number of lanes: which lanes go on from which, from where, and with which epoch. Pure.

Lane l of N reads the partitions p with p mod N = l, so keys whose hash modulo the number of partitions, a multiple of N, is
such a p. All lanes stop at one boundary and all go on from it: with one generation, and one epoch that has nothing in it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import gcd

from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Claim, Config, Cut, Marker, Offsets, TopicIds, TopicPartition


def came_from(lane: int, lanes: int, before: int) -> tuple[int, ...]:
    """The lanes, of `before`, that have read what lane `lane` of `lanes` is to read.

    >>> came_from(3, 4, before=2), came_from(1, 2, before=4), came_from(1, 3, before=2)
    ((1,), (1, 3), (0, 1))
    """
    common = gcd(lanes, before)
    return tuple(old for old in range(before) if old % common == lane % common)


def only_merges(lanes: int, before: int) -> bool:
    """Whether every lane before becomes part of one lane as a whole: nothing has to be divided.

    >>> only_merges(2, before=4), only_merges(1, before=3), only_merges(4, before=2), only_merges(2, before=3)
    (True, True, False, False)
    """
    return before % lanes == 0


def positions(lane: int, lanes: int, ends: Iterable[Offsets], partitions: Mapping[str, int] | None = None) -> Offsets:
    """Where lane `lane` of `lanes` reads on; `ends`: where the lanes before have stopped.

    `partitions` : how many each topic has. One that no lane before has cut begins at 0, as one that is added to a job that
    runs, see `cutting.next_ends`; what retention has deleted of it is lost input, not skipped.

    >>> positions(1, 2, [Offsets({TopicPartition("in", 1): 7})], {"in": 4})
    Offsets(in/1:7, in/3:0)
    """
    counts = {} if partitions is None else partitions
    added = {TopicPartition(topic, one): 0 for topic, count in counts.items() for one in range(lane, count, lanes)}
    stopped = {tp: offset for one in ends for tp, offset in one.items() if tp.partition % lanes == lane}
    return Offsets(added | stopped)


@dataclass(frozen=True, slots=True)
class Boundary:
    """What all lanes of a job go on with: the generation, and the epoch that has nothing in it."""

    generation: int
    epoch: int

    @classmethod
    def behind(cls, logs: Iterable[Decisions]) -> "Boundary":
        """Behind all that was decided in any of the logs, of lanes that end and of those that once were."""
        known = list(logs)
        generations = [log.config.generation for log in known if log.config is not None]
        return cls(1 + max(generations, default=-1), 1 + max((log.last_epoch for log in known), default=-1))


@dataclass(frozen=True, slots=True)
class MovedLane:
    """How the log of a lane goes on: lane `lane` of `lanes`, with that identity, from `start` on, and with that state.

    `lane` None: there is no such lane any more, and its log ends. `savepoint` : of its state, "": there is none.
    """

    lane: int | None
    lanes: int
    digest: str
    start: Offsets
    topic_ids: TopicIds = ()
    savepoint: str = ""
    barriers: bool = False

    def config(self, boundary: Boundary, proposer: str) -> Config:
        """The first record of the new generation in the lane's log."""
        return Config(
            boundary.generation,
            self.digest,
            self.start,
            proposer,
            base=boundary.epoch,
            savepoint=self.savepoint,
            topic_ids=self.topic_ids,
            barriers=self.barriers,
            lane=-1 if self.lane is None else self.lane,
            lanes=self.lanes,
            moved=True,
        )

    def cut(self, boundary: Boundary, proposer: str, time_ms: int) -> Cut:
        """The cut of the boundary's epoch."""
        return Cut(boundary.epoch, self.start, time_ms, 0, proposer, barrier=self.barriers)


def marker(boundary: Boundary, owner: str, config_offset: int, cut_offset: int) -> Marker:
    """That the boundary's epoch, without a row, is published: where a newcomer begins to read the lane's log."""
    return Marker(
        boundary.epoch,
        attempt=0,
        owner=owner,
        digest="",
        rows=0,
        log_offset=cut_offset,
        generation=boundary.generation,
        config_offset=config_offset,
    )


def unpublished_owners(log: Decisions, published: int) -> frozenset[str]:
    """Who may still publish an epoch after `published`, as far as the log knows."""
    return frozenset(claim.owner for epoch in range(published + 1, log.last_epoch + 1) for claim in log.claims(epoch))


def taking_over(log: Decisions, published: int, writer: str) -> tuple[Claim, ...]:
    """The claims by which `writer`, who changes the number of lanes, becomes the owner of what is claimed after `published`.

    They are in the log before the owners are fenced. One that renews its producer could commit again, and concedes only to
    a claim: see 3 in `protocol.publication`.
    """
    return tuple(
        Claim(epoch, owner.attempt + 1, writer, 0 if log.config is None else log.config.generation)
        for epoch in range(published + 1, log.last_epoch + 1)
        if (owner := log.owner(epoch)) is not None and owner.owner != writer
    )


def is_taken_over(log: Decisions, published: int, writer: str, fenced: Collection[str]) -> bool:
    """Whether nobody but `writer` may publish an epoch after `published`; `fenced`: after the claims of `taking_over`."""
    return not taking_over(log, published, writer) and unpublished_owners(log, published) <= {writer, *fenced}


@dataclass(frozen=True, slots=True)
class LogRead:
    """What stands in the log of a lane that has run.

    What it decided, its config, the last published epoch (−1: none), where the inputs stand after that.

    `end` : the offset of the next record of its ordering topic, from before it was read.
    """

    decisions: Decisions
    config: Config
    published: int
    ends: Offsets
    end: int

    @property
    def time_ms(self) -> int:
        """The time of the last published epoch, Unix, ms; 0: there is none."""
        last = self.decisions.epoch_range(self.published)
        return 0 if last is None else last.time_ms


def ends_of(log: Decisions, published: int) -> Offsets:
    """Where the lane of the log stands after the last published epoch. What was cut after it is cut again."""
    last = log.epoch_range(published)
    return last.ends if last is not None else Offsets() if log.config is None else log.config.start


def differing(counts: Mapping[str, int], lanes: int) -> list[str]:
    """The topics, of these numbers of partitions, that cannot be divided among so many lanes."""
    return sorted(topic for topic, count in counts.items() if count % lanes)
