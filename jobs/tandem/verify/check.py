"""The checker: takes a job's logs and outputs record by record, and says what is wrong with them.

Records of one partition come in their order; between partitions any order gives the same report. Only epochs under way are
kept: one is forgotten when its marker and all rows that the marker promises were seen.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tandem.consumer.filter import EpochFilter
from tandem.kafka.headers import RowId
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Marker, Proposal, TopicPartition
from tandem.verify.inputs import Coverage, InputBounds
from tandem.verify.numbers import Runs
from tandem.verify.records import RecordCount
from tandem.verify.report import Anomaly, Finding, Report, Tally, Unseen

_DIGESTS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What retention has left: whether each log begins with its first record, and the outputs that do not."""

    ordering_whole: bool = True
    commits_whole: bool = True
    cut_off: frozenset[TopicPartition] = frozenset()


@dataclass(slots=True)
class _Epoch:
    seen: Runs = field(default_factory=Runs)
    marker: Marker | None = None

    @property
    def missing(self) -> int:
        """How many rows that the marker promises were not seen."""
        if self.marker is None or self.marker.skipped:
            return 0
        return max(0, self.marker.rows - len(self.seen))


class Checker:
    """Checks one job's output. Feed it with the `on_…` methods, then ask for a `report`, as often as wanted.

    `delivery` : what the reader was promised. With at least once, rows go through the consumer's filter first, so what
    is checked is what its reader sees.
    `dead_letter` : the topic of the dead letters.
    `counts` : whether each input record is to be one row or one dead letter; None: in the epochs whose markers say so.
    """

    def __init__(
        self, delivery: Delivery, kept: Kept = Kept(), dead_letter: str = "", counts: bool | None = False
    ) -> None:
        self._delivery = delivery
        self._dead_letter = dead_letter
        self._letters = 0
        self.records = RecordCount(counts is None) if counts is not False and kept.ordering_whole else None
        """Counts input records, if the job allows that."""
        self._kept = kept
        self._tally = Tally()
        on_range = self.records.on_range if self.records is not None else lambda _: None
        self._coverage = Coverage(self._tally, kept.ordering_whole, on_range)
        self._open: dict[int, _Epoch] = {}
        self._complete = Runs()
        self._published = Runs()
        self._digests: dict[int, str] = {}
        self._filters: dict[TopicPartition, EpochFilter] = defaultdict(EpochFilter)
        self._last: dict[TopicPartition, RowId] = {}
        self._first_epochs: dict[TopicPartition, int] = {}
        self._whole_from = 0
        self._skipped = Runs()
        self._late: dict[int, Finding] = {}
        self._rows = self._dropped = self._repeated_markers = 0
        self._foreign: dict[str, int] = defaultdict(int)

    # What was read ---------------------------------------------------------------------------------------------------

    def on_proposal(self, proposal: Proposal, offset: int) -> None:
        """The next record of the ordering topic."""
        self._coverage.on_proposal(proposal, offset)

    def on_marker(self, marker: Marker, offset: int, one_row: bool = False) -> None:
        """The next record of the commits topic; `one_row`: it says that each record of its epoch is a row or a letter."""
        last = self._published.last
        if not self._published.add(marker.epoch):
            self._marker_again(marker, offset)
            return
        if last is not None and marker.epoch < last:
            text = f"the marker of epoch {marker.epoch} stands after that of epoch {last} (offset {offset})"
            self._tally.add(Finding(Anomaly.ORDER_INVERSION, text))
        self._digests[marker.epoch] = marker.digest
        self._digests.pop(marker.epoch - _DIGESTS_KEPT, None)
        self._coverage.on_marker(marker.epoch, marker.log_offset)
        if marker.skipped:
            self._given_up(marker)
        elif self.records is not None:
            self.records.on_marker(marker.epoch, marker.rows, one_row, marker.inputs)
        if marker.epoch >= self._whole_from:
            epoch = self._open.setdefault(marker.epoch, _Epoch())
            epoch.marker = marker
            self._retire(marker.epoch, epoch)

    def on_row(self, place: TopicPartition, row: RowId, offset: int) -> None:
        """The next row of an output partition."""
        if self._delivery is Delivery.AT_LEAST_ONCE and not self._filters[place].is_first(row):
            self._dropped += 1
            return
        last = self._last.get(place)
        if last is None:
            self._first_row(place, row)
        elif row < last:
            text = f"{_at(place, offset)}: {_name(row)} stands after {_name(last)}"
            self._inverted(row, last, Finding(Anomaly.ORDER_INVERSION, text))
        self._last[place] = row
        self._letters += place.topic == self._dead_letter
        if row.epoch in self._complete:
            self._twice(place, row, offset)
        elif row.epoch >= self._whole_from:
            epoch = self._open.setdefault(row.epoch, _Epoch())
            if not epoch.seen.add(row.index):
                self._twice(place, row, offset)
            else:
                self._retire(row.epoch, epoch)

    def on_foreign(self, topic: str) -> None:
        """A record that this job did not write."""
        self._foreign[topic] += 1

    # What it means ---------------------------------------------------------------------------------------------------

    @property
    def waits_for_rows(self) -> bool:
        """Whether rows are missing of a published epoch: their transaction may become visible a little later."""
        return any(epoch.missing for epoch in self._open.values())

    @property
    def under_way(self) -> int:
        """How many epochs are kept in memory."""
        return len(self._open) + self._coverage.under_way

    def report(self, inputs: InputBounds | None = None) -> Report:
        """What is known now; `inputs` None: they were not looked at."""
        bounds = inputs or InputBounds()
        tally, published = self._tally.copy(), self._published
        last = -1 if published.last is None else published.last
        tally.add_all(self._lost())
        tally.add_all(self._late_although_published())
        tally.add_all(self._coverage.judge(bounds))
        tally.add_all(() if self.records is None else self.records.findings())
        counts = tally.counts
        return Report(
            delivery=self._delivery,
            epochs=len(published),
            first_epoch=published.first,
            last_epoch=published.last,
            rows=self._rows + sum(len(epoch.seen) for epoch in self._open.values() if epoch.marker is not None),
            lost=counts[Anomaly.LOST_WRITE],
            duplicated=counts[Anomaly.DUPLICATE],
            reordered=counts[Anomaly.ORDER_INVERSION],
            diverged=counts[Anomaly.DIVERGENCE],
            dropped=self._dropped,
            skipped=len(self._skipped),
            unseen=Unseen(
                input_records=self._coverage.records_left(bounds),
                epochs=max(0, self._coverage.last_epoch - last),
                rows=sum(len(epoch.seen) for number, epoch in self._open.items() if number > last),
            ),
            input_offsets=self._coverage.offsets_taken,
            dead_letters=self._letters,
            findings=tally.findings,
            notes=tuple(self._notes()),
        )

    def _lost(self) -> Iterator[Finding]:
        first = 0 if self._kept.commits_whole else self._published.first or 0
        for gap in self._published.gaps(first):
            if gap.stop in self._coverage.moved_to:
                continue  # epochs of other lanes, or of none
            epochs = f"epoch {gap.start} has" if len(gap) == 1 else f"epochs {gap.start} to {gap.stop - 1} have"
            yield Finding(Anomaly.LOST_WRITE, f"{epochs} no marker, but later epochs are published", len(gap))
        for number, epoch in sorted(self._open.items()):
            if epoch.marker is not None and epoch.missing and number > self._cut_off_to():
                absent = ", ".join(map(str, epoch.seen.absent_below(epoch.marker.rows, 5)))
                text = f"epoch {number} has {len(epoch.seen)} of {epoch.marker.rows} rows"
                yield Finding(Anomaly.LOST_WRITE, f"{text}; the first indices not seen: {absent}", epoch.missing)

    def _notes(self) -> Iterator[str]:
        yield "digests were not recomputed: they cover the engine's table, which the topics do not hold as it was"
        if not self._kept.ordering_whole:
            yield "the ordering topic does not begin with its first record: whether epochs cover the inputs is not known"
        if not self._kept.commits_whole:
            yield f"the commits topic begins with epoch {self._published.first}: earlier epochs were not looked at"
        if self.records is not None:
            yield from self.records.notes()
        if self._kept.cut_off:
            topics = ", ".join(sorted({place.topic for place in self._kept.cut_off}))
            epoch = self._cut_off_to() + 1
            yield f"retention has deleted rows of {topics}: rows that are missing only count from epoch {epoch} on"
        if self._repeated_markers:
            yield f"{self._repeated_markers} markers were repeated, as {self._delivery.value} allows"
        for topic, count in sorted(self._foreign.items()):
            yield f"{count} records of {topic} are not this job's: not looked at"

    def _given_up(self, marker: Marker) -> None:
        self._skipped.add(marker.epoch)
        if self._delivery is not Delivery.AT_MOST_ONCE:
            text = f"the rows of epoch {marker.epoch} were given up, by {marker.owner}"
            self._tally.add(Finding(Anomaly.LOST_WRITE, text))

    def _marker_again(self, marker: Marker, offset: int) -> None:
        first = self._digests.get(marker.epoch, marker.digest)
        if first != marker.digest:
            text = (
                f"epoch {marker.epoch} has the digest {first}, and {marker.digest} by {marker.owner} (offset {offset})"
            )
            self._tally.add(Finding(Anomaly.DIVERGENCE, text))
        if self._delivery is Delivery.EXACTLY_ONCE:
            text = f"epoch {marker.epoch} has another marker, by {marker.owner} (offset {offset})"
            self._tally.add(Finding(Anomaly.DUPLICATE, text))
        else:
            self._repeated_markers += 1

    def _twice(self, place: TopicPartition, row: RowId, offset: int) -> None:
        text = f"{_at(place, offset)}: {_name(row)} once more, or more rows than its marker says"
        self._tally.add(Finding(Anomaly.DUPLICATE, text))

    def _inverted(self, row: RowId, last: RowId, finding: Finding) -> None:
        if self._delivery is not Delivery.AT_MOST_ONCE or row.epoch == last.epoch:
            self._tally.add(finding)
        else:
            known = self._late.setdefault(row.epoch, replace(finding, count=0))
            self._late[row.epoch] = replace(known, count=known.count + 1)

    def _late_although_published(self) -> Iterator[Finding]:
        """At most once, rows may come behind those of later epochs, but only if their epoch's marker gives them up."""
        for number, finding in sorted(self._late.items()):
            if number in self._published and number not in self._skipped:
                yield finding

    def _first_row(self, place: TopicPartition, row: RowId) -> None:
        if place in self._kept.cut_off:
            self._first_epochs[place] = row.epoch
            if len(self._first_epochs) == len(self._kept.cut_off):
                # Of the first row's own epoch, earlier rows may be gone too.
                self._whole_from = 1 + max(self._first_epochs.values())
                for number in [number for number in self._open if number < self._whole_from]:
                    del self._open[number]

    def _cut_off_to(self) -> int:
        """The last epoch of which retention may have deleted rows."""
        if len(self._first_epochs) < len(self._kept.cut_off):
            return max([*self._open, self._published.last or 0])
        return self._whole_from - 1

    def _retire(self, number: int, epoch: _Epoch) -> None:
        if epoch.marker is None or epoch.marker.skipped or epoch.missing:
            return
        excess = len(epoch.seen) - epoch.marker.rows
        if excess:
            text = f"epoch {number} has {len(epoch.seen)} rows, its marker says {epoch.marker.rows}"
            self._tally.add(Finding(Anomaly.DUPLICATE, text, excess))
        self._rows += epoch.marker.rows
        self._complete.add(number)
        del self._open[number]


def _at(place: TopicPartition, offset: int) -> str:
    return f"{place.topic}/{place.partition} offset {offset}"


def _name(row: RowId) -> str:
    return f"row {row.index} of epoch {row.epoch}"
