"""What must hold after every step; the failure-free output is computed beside the run from the cuts decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.outputs import OUTPUTS, PROGRAMS, QUESTION, Row, compute
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Answers, Claim, Config, Cut, Determinant, EpochRange, Marker, Proposal

if TYPE_CHECKING:
    from simulation.world import World


class InvariantError(AssertionError):
    """An invariant does not hold. `unsafe`: the output is wrong; else it merely does not come."""

    def __init__(self, what: str, unsafe: bool = True) -> None:
        super().__init__(what)
        self.unsafe = unsafe


class Checker:
    """Knows everything, and is told of every step that could break an invariant."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._exactly_once = world.schedule.delivery is Delivery.EXACTLY_ONCE
        self.decisions = Decisions()
        self.ranges: list[EpochRange] = []
        self.published = 0  # epochs whose marker is visible
        self._verdicts: list[Verdict] = []
        self._program: int | None = None  # that of the job's first config
        self._told: set[tuple[int, Answers]] = set()
        self._states: list[int] = []
        self._digests: list[str] = []
        self.rows: list[list[list[Row]]] = []  # of each epoch, of each output
        self.expected: list[list[Row]] = [[] for _ in range(OUTPUTS)]
        self._shown = [0] * OUTPUTS
        self._seen: set[tuple[int, int]] = set()
        self._skipped: set[int] = set()
        self._last_shown = [-1] * OUTPUTS  # epochs, at most once
        self._committed: dict[int, Marker] = {}
        self._fenced: dict[int, int] = {}  # epoch -> attempts before this one are fenced
        self._pending_since: float | None = None
        self._excused_until = 0.0
        self.longest_silence = 0.0

    # The log ---------------------------------------------------------------------------------------------------------

    def on_appended(self, offset: int, proposal: Proposal) -> None:
        """A record of the ordering log. Ranges tile the inputs: nothing is read twice, nothing is left out."""
        verdict = self.decisions.apply(proposal, offset)
        self._verdicts.append(verdict)
        if verdict is Verdict.ACCEPTED:
            if isinstance(proposal, Cut):
                self._cut(proposal, offset)
            if isinstance(proposal, Config) and self._program is None:
                self._program = PROGRAMS.index(proposal.digest)
            if isinstance(proposal, Cut | Determinant):
                self._expect()
            elif isinstance(proposal, Claim) and proposal.attempt >= 2:
                self._world.reached("take-over of a take-over")
        elif verdict is not Verdict.ADVICE:
            first = isinstance(proposal, Determinant) and self.decisions.answered_by(proposal.epoch, proposal.name)
            if isinstance(proposal, Determinant) and first != proposal.proposer:
                self._world.reached("another answer was first")
            self._world.reached(f"refused: {verdict.value}")

    def _cut(self, cut: Cut, offset: int) -> None:
        what = self.decisions.epoch_range(cut.epoch)
        before = self.ranges[-1].ends if self.ranges else self._world.start
        if cut.epoch != len(self.ranges):
            raise InvariantError(f"epoch {cut.epoch} was cut after epoch {len(self.ranges) - 1}")
        if what is None or what.log_offset != offset:
            raise InvariantError(f"epoch {cut.epoch} is not where it was decided")
        if dict(what.starts) != dict(before):
            raise InvariantError(f"epoch {cut.epoch} starts at {what.starts}, not at {before}")
        for tp, start in before.items():
            if what.ends.get(tp, -1) < start:
                raise InvariantError(f"epoch {cut.epoch} takes records of {tp} back")
        if self.ranges and cut.time_ms < self.ranges[-1].time_ms and not self._world.schedule.eager:
            raise InvariantError(f"the time of epoch {cut.epoch} is before that of epoch {cut.epoch - 1}")
        if self.ranges and self._world.misses_barrier(self.ranges[-1], what):
            raise InvariantError(f"epoch {cut.epoch} is the first of its period, and no barrier", unsafe=False)
        self.ranges.append(what)

    def _expect(self) -> None:
        """Compute the epochs that are decided: cut, and answered if the job asks anything."""
        while len(self._digests) < len(self.ranges):
            what = self.ranges[len(self._digests)]
            answers = self.decisions.answer(what.epoch, QUESTION) if self._world.schedule.asks else ()
            if answers is None:
                return
            if answers and (what.epoch, answers) not in self._told:
                raise InvariantError(f"the log answers {answers} for epoch {what.epoch}, which nobody was told")
            state, rows = self.compute(self._states[-1] if self._states else 0, what, answers)
            self._states.append(self._world.state_after(what, state))
            self._digests.append(f"{state:x}")
            self.rows.append(rows)
            self.on_decided(rows)

    def compute(self, before: int, what: EpochRange, answers: Answers) -> tuple[int, list[list[Row]]]:
        """The state after an epoch, and its rows, from the state before."""
        assert self._program is not None
        return compute(before, what, answers, self._program)

    def on_decided(self, rows: list[list[Row]]) -> None:
        """What the next epoch will show is known."""
        self.expect(rows)

    def expect(self, rows: list[list[Row]]) -> None:
        """These are the next rows of the outputs."""
        for expected, some in zip(self.expected, rows, strict=True):
            expected.extend(some)

    def on_told(self, epoch: int, answers: Answers) -> None:
        """The outside world has answered a replica that asked it for `epoch`."""
        self._told.add((epoch, answers))

    def on_verdict(self, who: str, offset: int, verdict: Verdict, decisions: Decisions, forgets: bool) -> None:
        """A process applied a record: it must have decided what everybody decides there; unless it `forgets` claims."""
        proposal, expected = self._world.log.records[offset], self._verdicts[offset]
        if isinstance(proposal, Claim | Determinant):
            if proposal.epoch < self.published:
                return  # of no use to anyone, and who started later need not know
            if forgets and verdict is Verdict.REPEATED and decisions.epoch_range(proposal.epoch) is None:
                return  # an orderer needs it no more, and a standby begins again when it is promoted
        if verdict is not expected:
            raise InvariantError(f"{who} says {verdict.value} to {proposal} at {offset}: not {expected.value}")
        if isinstance(proposal, Cut) and verdict is Verdict.ACCEPTED:
            mine = decisions.epoch_range(proposal.epoch)
            if mine != self.ranges[proposal.epoch]:
                raise InvariantError(f"{who} reads {mine}: not {self.ranges[proposal.epoch]}")

    # State -----------------------------------------------------------------------------------------------------------

    def on_restored(self, who: str, epoch: int, log_offset: int, state: int) -> None:
        """A replica starts from the state after `epoch`: a published one, and it is the failure-free one."""
        if epoch > self._world.last_marker():
            raise InvariantError(f"{who} restored epoch {epoch}, the last marker is {self._world.last_marker()}")
        if epoch >= 0 and state != self._states[epoch]:
            raise InvariantError(f"{who} restored a state of epoch {epoch} that is not the failure-free one")
        if epoch >= 0 and log_offset != self.ranges[epoch].log_offset:
            raise InvariantError(f"{who} would go on after epoch {epoch} at offset {log_offset}, where it is not")

    # The output ------------------------------------------------------------------------------------------------------

    def on_fenced(self, epoch: int, attempt: int) -> None:
        """Whoever owned an earlier attempt to publish `epoch` has been fenced."""
        self._fenced[epoch] = max(attempt, self._fenced.get(epoch, 0))

    def on_committed(self, marker: Marker) -> None:
        """A transaction's commit is decided: no other publishes that epoch, and its owner was not fenced for it."""
        first = self._committed.setdefault(marker.epoch, marker)
        if first is not marker:
            raise InvariantError(f"epoch {marker.epoch} is published twice: {first}, and then {marker}")
        fenced = self._fenced.get(marker.epoch, 0)
        if marker.attempt < fenced:
            raise InvariantError(f"{marker} became visible although attempts before {fenced} are fenced")

    def on_visible_marker(self, marker: Marker) -> None:
        """A committed reader of the commits topic is shown a marker."""
        news = marker.epoch == self.published
        if self._exactly_once and not news:
            raise InvariantError(f"expected the marker of epoch {self.published}, found {marker}")
        if marker.epoch >= len(self.ranges):
            raise InvariantError(f"{marker} is of an epoch that is not cut")
        if news:
            if marker.log_offset != self.ranges[marker.epoch].log_offset:
                raise InvariantError(f"{marker} names another cut")
            if marker.epoch >= len(self._digests):
                raise InvariantError(f"{marker} is of an epoch whose question the log does not answer")
            if not marker.skipped and marker.digest != self.digest_of(marker):
                raise InvariantError(f"{marker} has another digest")
            if not self._exactly_once:
                self._check_whole(marker)
            self.published += 1
            self._published()
        elif marker.epoch > self.published:
            raise InvariantError(f"expected the marker of epoch {self.published}, found {marker}")

    def digest_of(self, marker: Marker) -> str:
        """What the marker of a decided epoch must say."""
        return self._digests[marker.epoch]

    def _check_whole(self, marker: Marker) -> None:
        """Without transactions: the marker stands after all rows of its epoch, or gives them up."""
        if marker.skipped:
            self._skipped.add(marker.epoch)
            return
        missing = [row for rows in self.rows[marker.epoch] for row in rows if row[:2] not in self._seen]
        if missing:
            raise InvariantError(f"{marker} is there, and not {missing}")

    def on_visible_row(self, output: int, row: Row) -> None:
        """A committed reader of an output partition is shown a row: it is the next one of the failure-free output."""
        if not self._exactly_once:
            repeated = row[:2] in self._seen
            self._seen.add(row[:2])
            if self._world.schedule.delivery is Delivery.AT_MOST_ONCE:
                if repeated:
                    raise InvariantError(f"{row} was published twice, at most once was promised")
                self._check_order(output, row)
                return
            if repeated:
                self._world.reached("a duplicate that at-least-once allows")
                return
        at, expected = self._shown[output], self.expected[output]
        self._shown[output] = at + 1
        if at >= len(expected) or row != expected[at]:
            raise InvariantError(f"output {output}: found {row} at {at}: not {expected[at : at + 1]}")

    def _check_order(self, output: int, row: Row) -> None:
        """At most once: it is a row of the failure-free output, in its order; only what was given up may come late."""
        rows = self.rows[row.epoch][output] if row.epoch < len(self.rows) else []
        if row not in rows or any(later[:2] in self._seen for later in rows[rows.index(row) + 1 :]):
            raise InvariantError(f"output {output}: found {row}, the rows of its epoch are {rows}")
        if row.epoch < self._last_shown[output]:
            if row.epoch not in self._skipped:
                raise InvariantError(f"output {output}: found {row} after rows of epoch {self._last_shown[output]}")
            self._world.reached("rows that were given up came late")
        self._last_shown[output] = max(self._last_shown[output], row.epoch)

    def at_the_end(self) -> None:
        """Everything has been published: nothing of the failure-free output is missing."""
        if self._world.schedule.delivery is not Delivery.AT_MOST_ONCE:
            for output, expected in enumerate(self.expected):
                if self._shown[output] != len(expected):
                    hidden = self._world.outputs[output].stable_end < self._world.outputs[output].end
                    why = "hidden by an open transaction" if hidden else "lost"
                    raise InvariantError(f"output {output}: {expected[self._shown[output] :]} is {why}", not hidden)

    # Liveness --------------------------------------------------------------------------------------------------------

    @property
    def all_published(self) -> bool:
        """Whether every input that there is has been published."""
        return 0 < self.published == len(self.ranges) and self.ranges[-1].ends == self._world.available

    def on_input(self) -> None:
        """An input has grown."""
        if self._pending_since is None:
            self._pending_since = self._world.timeline.now

    def excuse(self, until: float) -> None:
        """Silence until then is nobody's fault: the broker is down, or everything was stopped."""
        self._excused_until = max(self._excused_until, until)

    def _published(self) -> None:
        now = self._world.timeline.now
        self._world.site.on_published(self._world)
        if self._pending_since is not None:
            silent_since = max(self._pending_since, self._excused_until)
            self.longest_silence = max(self.longest_silence, now - silent_since)
        self._pending_since = None if self.all_published else now


class ChoosingChecker(Checker):
    """Knows more than one output that may be right; which one an epoch shows, its marker says."""

    def on_decided(self, rows: list[list[Row]]) -> None:
        """Its marker is awaited."""

    def on_committed(self, marker: Marker) -> None:
        """From now on it is known what the epoch shows."""
        super().on_committed(marker)
        self.expect(self.rows_of(marker))

    def rows_of(self, marker: Marker) -> list[list[Row]]:
        """What the epoch of a marker shows."""
        raise NotImplementedError
