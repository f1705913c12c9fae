"""Savepoints: snapshots with a name, which stay until somebody deletes them. Values and their files' content; pure.

savepoints/<name>.json              the manifest of a snapshot, and where the inputs stood: written last
deleted-savepoints/<name>-<…>.json  one that was deleted, for readers that still use it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.snapshots.errors import SavepointNameError
from tandem.snapshots.values import SnapshotManifest, checked, decode_checked

SAVEPOINTS: Final = "savepoints"
DELETED: Final = "deleted-savepoints"

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_PARTITION: Final = re.compile(r"state/\d+/(\d+)/")
_STRICT = ConfigDict(strict=True, extra="forbid")


def check_name(name: str) -> str:
    """The name, if it can be one of a savepoint. Raises `SavepointNameError`."""
    if not _NAME.fullmatch(name):
        raise SavepointNameError(
            f"{name!r} cannot name a savepoint: write 1 to 64 letters, digits, dots, dashes and underscores, "
            "with a letter or digit at either end, e.g. before-upgrade-2"
        )
    return name


def path_of(name: str) -> str:
    """Where the savepoint is, relative to the job's folder in the store."""
    return f"{SAVEPOINTS}/{name}.json"


def name_at(path: str) -> str | None:
    """Of which savepoint a path is the file; None: of none. Other programs leave files in folders, too: `.DS_Store`."""
    folder, _, file = path.rpartition("/")
    name = file.removesuffix(".json")
    return name if folder == SAVEPOINTS and file.endswith(".json") and _NAME.fullmatch(name) else None


@dataclass(frozen=True, slots=True, config=_STRICT)
class TopicLayout:
    """A topic and its number of partitions."""

    topic: str
    partitions: Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True, config=_STRICT)
class SourceLayout:
    """A source of the job and what it reads."""

    name: str
    topics: tuple[TopicLayout, ...]


@dataclass(frozen=True, slots=True, config=_STRICT)
class InputEnd:
    """The first record of an input partition that is not in the state."""

    topic: str
    partition: Annotated[int, Field(ge=0)]
    offset: Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, config=_STRICT)
class Inputs:
    """What the job had read when the savepoint's epoch ended; `time_ms` is that epoch's time (Unix, ms)."""

    sources: tuple[SourceLayout, ...]
    ends: tuple[InputEnd, ...]
    time_ms: int

    @staticmethod
    def of(sources: Iterable[tuple[str, Sequence[str]]], cut: Cut) -> Inputs:
        """Of the sources, each as its name and topics, after the epoch that `cut` ends."""
        counts: dict[str, int] = {}
        for topic, partition in cut.ends:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        ends = tuple(InputEnd(tp.topic, tp.partition, offset) for tp, offset in cut.ends.items())
        return Inputs(layout(sources, counts), ends, cut.time_ms)

    @property
    def positions(self) -> Offsets:
        """Where the job reads on."""
        return Offsets({TopicPartition(end.topic, end.partition): end.offset for end in self.ends})


@dataclass(frozen=True, slots=True, config=_STRICT)
class Savepoint:
    """A snapshot with a name. `rescaled_from`: the savepoint whose state it holds in other partitions, if any."""

    name: Annotated[str, AfterValidator(check_name)]
    created_at_ms: Annotated[int, Field(ge=0)]
    inputs: Inputs
    snapshot: SnapshotManifest
    rescaled_from: str = ""

    @property
    def partitions(self) -> int:
        """Of its state: what `spec.spark.parallelism` must be. 0: the job has no state."""
        return state_partitions(self.snapshot)


def layout(sources: Iterable[tuple[str, Sequence[str]]], partitions: Mapping[str, int]) -> tuple[SourceLayout, ...]:
    """The layout of sources, each as its name and topics, given the number of partitions of each topic."""
    return tuple(
        SourceLayout(
            name, tuple(TopicLayout(topic, partitions[topic]) for topic in sorted(topics) if topic in partitions)
        )
        for name, topics in sorted(sources)
    )


def differences(saved: Iterable[SourceLayout], wanted: Iterable[SourceLayout]) -> tuple[str, ...]:
    """In what `wanted` differs from what was `saved`, each in words; nothing if a savepoint fits."""
    before, now = ({source.name: source for source in sources} for sources in (saved, wanted))
    found = []
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            found.append(f"source {name} is gone (it read {_words(before[name])})")
        elif name not in before:
            found.append(f"source {name} is new (it reads {_words(now[name])})")
        else:
            found += _topic_differences(before[name], now[name])
    return tuple(found)


def misfits(savepoint: Savepoint, sources: Iterable[SourceLayout], parallelism: int) -> tuple[str, ...]:
    """Why a job with these sources and `spec.spark.parallelism` cannot go on from a savepoint, each in words."""
    found = differences(savepoint.inputs.sources, sources)
    if savepoint.partitions in (0, parallelism):
        return found
    return (
        *found,
        f"its state has {savepoint.partitions} partitions, but spec.spark.parallelism is {parallelism}: change that, or "
        f"make one that fits: tandem savepoint rescale MANIFEST {savepoint.name} --partitions {parallelism} --to NAME",
    )


def _topic_differences(before: SourceLayout, now: SourceLayout) -> list[str]:
    saved, wanted = ({topic.topic: topic.partitions for topic in source.topics} for source in (before, now))
    found = []
    for topic in sorted(saved.keys() | wanted.keys()):
        if topic not in wanted:
            found.append(f"source {before.name} does not read topic {topic} any more")
        elif topic not in saved:
            found.append(f"source {before.name} reads topic {topic}, which it did not")
        elif saved[topic] != wanted[topic]:
            found.append(f"topic {topic} of source {before.name} has {wanted[topic]} partitions, it had {saved[topic]}")
    return found


def _words(source: SourceLayout) -> str:
    return ", ".join(f"{topic.topic} with {topic.partitions} partitions" for topic in source.topics) or "no topic"


def state_partitions(snapshot: SnapshotManifest) -> int:
    """How many partitions the state in a snapshot has; 0 if there is none."""
    found = (_PARTITION.match(file.path) for file in snapshot.files)
    return max((int(match[1]) + 1 for match in found if match), default=0)


_SAVEPOINT: Final = TypeAdapter(Savepoint)


def encode_savepoint(savepoint: Savepoint) -> bytes:
    """A savepoint as the content of its file."""
    return checked(_SAVEPOINT.dump_json(savepoint, exclude_none=True))


def decode_savepoint(content: bytes) -> Savepoint:
    """The savepoint in a file.

    Raises `UnknownManifestVersionError`: it is of another version of Tandem; `SnapshotManifestError`: it is torn, was
    altered, or is no savepoint.
    """
    return decode_checked(_SAVEPOINT, content, "a savepoint")
