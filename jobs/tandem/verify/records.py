"""Is each input record a row or a dead letter, in a job that makes one row of each?"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tandem.protocol.values import EpochRange, TopicPartition
from tandem.verify.report import Anomaly, Finding


@dataclass(slots=True)
class _Partition:
    """The epochs that took records of a partition: where each ends, ascending."""

    start: int
    epochs: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class RecordCount:
    """Counts the records of each epoch, and compares them with the rows that its marker promises.

    Offsets are no records: transactions leave gaps, and compaction does. So the inputs are read. Of an epoch that compaction
    has taken records from since, its marker says how many there were.

    `derived` : count the epochs whose markers say that the job's plan makes one row of each record; else all of them.
    """

    def __init__(self, derived: bool = False) -> None:
        self._derived = derived
        self._why_not = ""
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._rows: dict[int, int] = {}
        self._records: Counter[int] = Counter()
        self._gone: set[int] = set()
        self._had: dict[int, int] = {}

    def on_range(self, epoch: EpochRange) -> None:
        """The next accepted cut."""
        for tp, end in epoch.ends.items():
            start = epoch.starts.get(tp, 0)
            if end > start:
                place = self._partitions.setdefault(tp, _Partition(start))
                place.epochs.append(epoch.epoch)
                place.ends.append(end)

    def on_marker(self, epoch: int, rows: int, one_row: bool = False, inputs: str = "") -> None:
        """An epoch is published, with so many rows and dead letters. `inputs`: which records it had, see `Marker`."""
        if one_row or not self._derived:
            self._rows.setdefault(epoch, rows)
            if (count := inputs.partition(":")[0]).isdecimal():
                self._had.setdefault(epoch, int(count))

    def give_up(self, why: str) -> None:
        """The inputs cannot be read."""
        self._why_not = why
        self._rows.clear()

    def to_read(self, beginnings: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
        """Which offsets of the inputs are to be counted: from, up to. What retention has deleted is left out."""
        ranges: dict[TopicPartition, tuple[int, int]] = {}
        if not self._rows:
            return ranges
        for tp, place in self._partitions.items():
            beginning = beginnings.get(tp, 0)
            if place.start < beginning:
                self._gone.update(place.epochs[: bisect_right(place.ends, beginning) + 1])
            if max(place.start, beginning) < place.ends[-1]:
                ranges[tp] = (max(place.start, beginning), place.ends[-1])
        return ranges

    def on_record(self, tp: TopicPartition, offset: int) -> None:
        """A record of an input."""
        place = self._partitions[tp]
        index = bisect_right(place.ends, offset)
        if index < len(place.epochs):
            self._records[place.epochs[index]] += 1

    @property
    def records(self) -> int:
        """Of the epochs that are published."""
        return sum(self._records[epoch] for epoch in self._counted())

    def findings(self) -> Iterator[Finding]:
        """Epochs that have fewer, or more, rows and dead letters than records."""
        for epoch in self._counted():
            records, rows = max(self._records[epoch], self._had.get(epoch, 0)), self._rows[epoch]
            text = f"epoch {epoch} took {records} input records, but has {rows} rows and dead letters"
            if rows < records:
                yield Finding(Anomaly.LOST_WRITE, text, records - rows)
            elif rows > records:
                yield Finding(Anomaly.DUPLICATE, text, rows - records)

    def notes(self) -> Iterator[str]:
        """What was counted, and what could not be."""
        if self._why_not:
            yield f"the input records were not counted: {self._why_not}"
        elif self._rows or not self._derived:
            why = "as the job's plan shows" if self._derived else "oneRowPerRecord"
            yield f"{self.records:,} input records were counted: each is to be one row or one dead letter ({why})"
        if thinned := [epoch for epoch in self._counted() if self._records[epoch] < self._had.get(epoch, 0)]:
            yield (
                f"{len(thinned):,} epochs have lost input records since, as by compaction: they were counted by what their "
                "markers say"
            )
        if gone := self._gone & self._rows.keys():
            yield f"{len(gone):,} epochs were not counted: retention has deleted some of their input records"

    def _counted(self) -> list[int]:
        return sorted(self._rows.keys() - self._gone)
