"""The filter drops every repeat that at-least-once can make, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.consumer import EpochFilter
from tandem.kafka.headers import RowId


@dataclass
class Attempt:
    """One owner's attempt to write an epoch's rows of a partition; it may stop for a while at any row, or for ever."""

    epoch: int
    left: list[int]
    failed: bool = False


@dataclass
class Partition:
    """An output partition as the protocol lets owners write it, without transactions.

    Every attempt begins with the epoch's first row. A row of it may fail, and the attempt with it, while later rows of it
    still arrive. The next epoch begins when an attempt has had all its rows acknowledged; attempts that were taken over
    may go on at any later time.
    """

    indices: list[list[int]]
    log: list[RowId] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    epoch: int = 0

    @property
    def done(self) -> bool:
        return self.epoch == len(self.indices)

    def begin(self) -> None:
        """Somebody takes over the current epoch, or tries again."""
        self.attempts.append(Attempt(self.epoch, list(self.indices[self.epoch])))
        self._advance()

    def write(self, attempt: Attempt, fails: bool) -> None:
        """The next row of an attempt arrives, or fails."""
        index = attempt.left.pop(0)
        if fails:
            attempt.failed = True
        else:
            self.log.append(RowId(attempt.epoch, index))
        self._advance()

    def _advance(self) -> None:
        while not self.done and any(a.epoch == self.epoch and not a.left and not a.failed for a in self.attempts):
            self.epoch += 1


@st.composite
def written(draw: st.DrawFn, with_failures: bool = True) -> Partition:
    """A partition whose epochs were all published, whatever happened to their owners."""
    rows = draw(st.lists(st.sets(st.integers(0, 9), max_size=5), min_size=1, max_size=4))
    partition = Partition([sorted(indices) for indices in rows])
    for _ in range(draw(st.integers(0, 60))):
        going = [attempt for attempt in partition.attempts if attempt.left]
        if not partition.done and (not going or draw(st.integers(0, 4)) == 0):
            partition.begin()
        elif going:
            partition.write(draw(st.sampled_from(going)), with_failures and draw(st.integers(0, 3)) == 0)
    while not partition.done:  # in the end somebody succeeds
        partition.begin()
        own = partition.attempts[-1]
        while own.left:
            partition.write(own, fails=False)
    for attempt in draw(st.permutations([attempt for attempt in partition.attempts if attempt.left])):
        while attempt.left:  # and everyone who was only paused comes back
            partition.write(attempt, fails=False)
    return partition


def passed(log: list[RowId]) -> list[RowId]:
    repeats = EpochFilter()
    return [row for row in log if repeats.is_first(row)]


@settings(max_examples=200)
@given(written())
def test_every_row_passes_exactly_once(partition: Partition) -> None:
    everything = {RowId(epoch, index) for epoch, indices in enumerate(partition.indices) for index in indices}

    rows = passed(partition.log)

    assert len(rows) == len(set(rows)), "a repeat came through"
    assert set(rows) == everything, "a row was dropped that was no repeat"
    assert rows == list(dict.fromkeys(partition.log)), "it was not the first copy that came through"


@settings(max_examples=100)
@given(written(with_failures=False))
def test_rows_pass_in_order_where_no_batch_fails(partition: Partition) -> None:
    rows = passed(partition.log)

    assert rows == sorted(rows)


@given(written(), st.data())
def test_reading_back_one_epoch_is_memory_enough_after_a_restart(partition: Partition, data: st.DataObject) -> None:
    stopped = data.draw(st.integers(0, len(partition.log)))
    newest = max((row.epoch for row in partition.log[:stopped]), default=0)
    begins = next((at for at, row in enumerate(partition.log[:stopped]) if row.epoch == newest), stopped)
    restarted = EpochFilter()
    for row in partition.log[begins:stopped]:
        restarted.is_first(row)

    after = [row for row in partition.log[stopped:] if restarted.is_first(row)]

    assert passed(partition.log[:stopped]) + after == passed(partition.log)


@given(written())
def test_no_more_than_one_epochs_indices_are_kept(partition: Partition) -> None:
    repeats = EpochFilter()
    for row in partition.log:
        repeats.is_first(row)
        assert repeats.remembered <= max(len(indices) for indices in partition.indices)


def test_a_row_that_fills_a_gap_is_no_repeat() -> None:
    first_try, second_try = [RowId(0, 0), RowId(0, 2)], [RowId(0, 0), RowId(0, 1), RowId(0, 2)]

    assert passed([*first_try, *second_try]) == [RowId(0, 0), RowId(0, 2), RowId(0, 1)]


def test_an_owner_that_wakes_up_in_a_later_epoch_is_dropped() -> None:
    log = [RowId(4, 0), RowId(4, 0), RowId(4, 1), RowId(5, 0), RowId(4, 1), RowId(5, 1)]

    assert passed(log) == [RowId(4, 0), RowId(4, 1), RowId(5, 0), RowId(5, 1)]
