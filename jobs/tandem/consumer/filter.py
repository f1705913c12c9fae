"""Which rows of one output partition are repeated."""

from collections import defaultdict

from tandem.kafka.headers import RowId


class EpochFilter:
    """Tells the first copy of each row of one output partition from its repeats. Fed with all rows in their order.

    What the rule rests on: an owner publishes epoch n + 1 only after it read the marker of n, and that marker is written
    only after every row of n was acknowledged to somebody. So when the first row of a later epoch stands in a partition,
    at least one copy of every row of the earlier epochs stands before it. Therefore

    - a row of an earlier epoch than the newest one seen is a repeat, by an owner that was taken over, or a retry;
    - inside the newest epoch, owners may interleave, and a failed batch may leave a gap that a retry fills later: only
      an index that was seen is a repeat. A highest index would not do, it would drop what fills a gap.

    State: one epoch number, and the indices seen in that epoch: never more than the partition's rows of one epoch.

    >>> repeats = EpochFilter()
    >>> [repeats.is_first(RowId(*id)) for id in [(0, 0), (0, 2), (0, 0), (0, 2), (1, 1), (0, 2)]]
    [True, True, False, False, True, False]
    """

    __slots__ = ("_epoch", "_seen")

    def __init__(self) -> None:
        self._epoch = -1
        self._seen: set[int] = set()

    def is_first(self, row: RowId) -> bool:
        """Whether this is the first copy of `row`; from now on it is known."""
        if row.epoch < self._epoch:
            return False
        if row.epoch > self._epoch:
            self._epoch, self._seen = row.epoch, set()
        if row.index in self._seen:
            return False
        self._seen.add(row.index)
        return True

    @property
    def remembered(self) -> int:
        """How many indices are kept."""
        return len(self._seen)


class JobFilters:
    """An `EpochFilter` for each job that writes a partition: every job counts its own epochs from 0."""

    def __init__(self) -> None:
        self._filters: defaultdict[str | None, EpochFilter] = defaultdict(EpochFilter)

    def is_first(self, job: str | None, row: RowId) -> bool:
        """As `EpochFilter.is_first`, for a row of `job`; None: of a job that did not say."""
        return self._filters[job].is_first(row)
