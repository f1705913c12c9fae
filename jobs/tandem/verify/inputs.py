"""Do the epochs cover the inputs: every record in exactly one published epoch?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.values import Config, Cut, EpochRange, Offsets, Proposal, TopicPartition
from tandem.verify.numbers import Runs
from tandem.verify.report import Anomaly, Finding, Tally


@dataclass(frozen=True, slots=True)
class InputBounds:
    """Where the inputs begin and end now; `from_start` names the topics that the job reads from their first record."""

    beginnings: Offsets = field(default_factory=Offsets)
    ends: Offsets = field(default_factory=Offsets)
    from_start: frozenset[str] = frozenset()


class Coverage:
    """Follows the cuts of the ordering log, and which of them each marker says it has published.

    Markers and proposals may come in any order relative to each other. A cut is forgotten when its epoch is settled.

    `whole` : whether the ordering log is there from its beginning; without that, only its last position is known.
    `on_range` : called with each accepted cut, if the log is whole.
    """

    def __init__(
        self, tally: Tally, whole: bool = True, on_range: Callable[[EpochRange], None] = lambda _: None
    ) -> None:
        self._tally = tally
        self._on_range = on_range
        self._whole = whole
        self._log = Decisions()
        self.moved_to: set[int] = set()
        """The first epochs behind changes of the number of lanes: those before each are of the lanes before."""
        self._before = 0
        self._start = Offsets()
        self._position = Offsets()
        self._last_epoch = -1
        self._decided: dict[int, tuple[int, Offsets]] = {}
        self._refused: dict[int, dict[int, Offsets]] = {}
        self._named: dict[int, int] = {}
        self._settled = Runs()

    @property
    def last_epoch(self) -> int:
        """The last epoch that was cut; −1: none."""
        return self._last_epoch

    @property
    def under_way(self) -> int:
        """How many epochs are kept in memory."""
        return len({*self._decided, *self._refused, *self._named})

    def on_proposal(self, proposal: Proposal, offset: int) -> None:
        """The next record of the ordering log."""
        if isinstance(proposal, Config):
            first = self._log.config is None
            accepted = self._log.apply(proposal, offset) is Verdict.ACCEPTED
            if accepted and proposal.moved:
                self._move(proposal)
            elif accepted and first:
                self._start = self._position = proposal.start
        elif isinstance(proposal, Cut) and not self._whole:
            if proposal.epoch > self._last_epoch:
                self._last_epoch, self._position = proposal.epoch, proposal.ends
        elif isinstance(proposal, Cut):
            self._cut(proposal, offset)

    def _move(self, config: Config) -> None:
        """The lane's partitions are others from now on. What they hold up to `config.start`, the job's lanes before took."""
        self._before += self.offsets_taken
        self._start = self._position = config.start
        self._last_epoch = config.base - 1
        self.moved_to.add(config.base)

    def on_marker(self, epoch: int, log_offset: int) -> None:
        """`epoch` is published, as the cut at `log_offset` says."""
        if self._whole:
            self._named[epoch] = log_offset
            self._settle(epoch)

    def _cut(self, cut: Cut, offset: int) -> None:
        if self._log.apply(cut, offset) is Verdict.ACCEPTED:
            accepted = self._log.epoch_range(cut.epoch)
            if accepted is not None:
                self._tally.add_all(_overlaps(accepted))
                self._on_range(accepted)
            self._log.forget_before(cut.epoch)
            self._decided[cut.epoch] = (offset, cut.ends)
            self._last_epoch, self._position = cut.epoch, cut.ends
        elif cut.epoch not in self._settled:
            self._refused.setdefault(cut.epoch, {})[offset] = cut.ends
        self._settle(cut.epoch)

    def _settle(self, epoch: int) -> None:
        """Compare what was published with what was decided, once both were read."""
        named, decided = self._named.get(epoch), self._decided.get(epoch)
        if named is None or decided is None:
            return
        if named != decided[0]:
            published = self._refused.get(epoch, {}).get(named)
            if published is None:
                return
            self._tally.add_all(_differences(epoch, named, published, decided[1]))
        del self._named[epoch], self._decided[epoch]
        self._refused.pop(epoch, None)
        self._settled.add(epoch)

    def judge(self, bounds: InputBounds) -> Iterator[Finding]:
        """What is wrong now that logs and inputs were read to their ends."""
        for epoch, offset in sorted(self._named.items()):
            text = f"epoch {epoch} is published, but its cut is not at offset {offset} of the log, as its marker says"
            yield Finding(Anomaly.LOST_WRITE, text)
        if self._last_epoch >= 0:
            for tp in bounds.ends:
                yield from self._lost_input(tp, bounds)

    def _lost_input(self, tp: TopicPartition, bounds: InputBounds) -> Iterator[Finding]:
        name = f"input {tp.topic}/{tp.partition}"
        beginning, end = bounds.beginnings.get(tp, 0), bounds.ends[tp]
        start, position = self._start.get(tp, 0), self._position.get(tp, 0)
        if tp.topic in bounds.from_start and self._whole and not self.moved_to and beginning < start:
            text = f"{name}: records {beginning} to {start - 1} stand before the start of the first epoch"
            yield Finding(Anomaly.LOST_WRITE, text, start - beginning)
        if beginning > position:
            text = f"{name}: records {position} to {beginning - 1} were deleted before an epoch took them"
            yield Finding(Anomaly.LOST_WRITE, text, beginning - position)
        if end < position:
            text = (
                f"{name} ends at {end}, but epochs were cut up to {position}: the topic was made again, and is not read"
            )
            yield Finding(Anomaly.LOST_WRITE, text, max(1, end - beginning))

    @property
    def offsets_taken(self) -> int:
        """How many offsets of the inputs are in epochs; as many records, where no transaction or compaction leaves gaps."""
        taken = sum(position - self._start.get(tp, 0) for tp, position in self._position.items())
        return self._before + taken if self._whole else 0

    def records_left(self, bounds: InputBounds) -> int:
        """How many offsets of the inputs no epoch has taken yet."""
        left = 0
        for tp, end in bounds.ends.items():
            left += max(0, end - max(self._position.get(tp, 0), bounds.beginnings.get(tp, 0)))
        return left


def _overlaps(accepted: EpochRange) -> Iterator[Finding]:
    """The ranges of consecutive epochs must tile the inputs: never trust the rule that is being verified."""
    for tp, start in accepted.starts.items():
        end = accepted.ends.get(tp)
        name = f"input {tp.topic}/{tp.partition}"
        if end is None:
            yield Finding(Anomaly.LOST_WRITE, f"{name} is forgotten by the cut of epoch {accepted.epoch}")
        elif end < start:
            text = f"{name}: the epochs up to {accepted.epoch} overlap in records {end} to {start - 1}"
            yield Finding(Anomaly.DUPLICATE, text, start - end)


def _differences(epoch: int, offset: int, published: Offsets, decided: Offsets) -> Iterator[Finding]:
    """An epoch that was published from a refused cut took other records than its neighbours count on."""
    for tp in sorted({*published, *decided}):
        mine, right = published.get(tp, 0), decided.get(tp, 0)
        text = f"epoch {epoch} is published from the refused cut at offset {offset}: input {tp.topic}/{tp.partition} up to "
        if mine < right:
            yield Finding(Anomaly.LOST_WRITE, f"{text}{mine}, not to {right}", right - mine)
        elif mine > right:
            yield Finding(Anomaly.DUPLICATE, f"{text}{mine}, not to {right}", mine - right)
