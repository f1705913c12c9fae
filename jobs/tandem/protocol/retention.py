"""Whether the brokers keep what a restart may have to read again. Pure.

A restart reads the inputs on from the oldest state that anyone may restore. What retention has deleted by then is lost
input, which stops the job; so a margin that becomes thin is reported while it can still be fixed.
"""

from dataclasses import dataclass

from tandem.protocol.values import TopicPartition

THIN = 0.2
"""A margin is thin that is less than this share of the limit."""
_LEAST_MS = 3_600_000
_ROOM = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """What the brokers keep of each partition of a topic: ms, bytes; None: all. `compacted`: older records of a key go."""

    retention_ms: int | None = None
    retention_bytes: int | None = None
    compacted: bool = False

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever deleted."""
        return self.retention_ms is None and self.retention_bytes is None and not self.compacted


@dataclass(frozen=True, slots=True)
class Need:
    """The records of a partition that may be read again: from `start` on. Those that there are: from `beginning` to `end`.

    `written_ms` : when the record at `start` was written (Unix, ms); None if that is still to come.
    `record_bytes` : the mean size of the records from there on, uncompressed; None if none was read.
    """

    place: TopicPartition
    start: int
    beginning: int
    end: int
    written_ms: int | None = None
    record_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Margin:
    """What is left before something is deleted that may be read again; None: no limit.

    `problem` is empty while it is enough. `settings` : what the topic should be set to.
    """

    place: TopicPartition
    seconds: float | None = None
    records: int | None = None
    problem: str = ""
    settings: str = ""


def margin_of(limits: Limits, need: Need, now_ms: int) -> Margin:
    """The margin of one partition, and what to do if it is thin."""
    age_ms = 0 if need.written_ms is None else max(0, now_ms - need.written_ms)
    seconds = None if limits.retention_ms is None else (limits.retention_ms - age_ms) / 1000
    room = _room(limits, need)
    records = None if room is None else room - (need.end - need.start)
    name = f"{need.place.topic}/{need.place.partition}"
    reads_on = f"a restart from the oldest state that may be restored reads on from record {need.start}"
    longer = f"retention.ms={max(_LEAST_MS, _ROOM * age_ms)}"

    def found(problem: str, settings: str) -> Margin:
        return Margin(need.place, seconds, records, f"{name}: {problem}", settings)

    if need.beginning > need.start:
        return found(f"{reads_on}, but the records before {need.beginning} are deleted already", longer)
    if limits.compacted:
        return found(
            f"cleanup.policy has compact, but {reads_on}, and must find what was there", "cleanup.policy=delete"
        )
    if limits.retention_ms is not None and seconds is not None and seconds < THIN * limits.retention_ms / 1000:
        left = f"in {seconds:.0f} s it may be deleted" if seconds > 0 else "it may be deleted at any moment"
        return found(
            f"retention.ms is {limits.retention_ms}, but {reads_on}, written {age_ms / 1000:.0f} s ago; {left}", longer
        )
    if room is not None and records is not None and records < THIN * room:
        bytes_needed = round((need.end - need.start) * (need.record_bytes or 0))
        problem = (
            f"retention.bytes is {limits.retention_bytes}, but {reads_on}, about {bytes_needed} bytes before the end"
        )
        return found(problem, f"retention.bytes={_ROOM * bytes_needed}")
    return Margin(need.place, seconds, records)


def _room(limits: Limits, need: Need) -> int | None:
    """How many records of the usual size retention leaves in the partition."""
    if limits.retention_bytes is None or not need.record_bytes:
        return None
    return int(limits.retention_bytes / need.record_bytes)
