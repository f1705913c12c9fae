"""What a replica that computes decides: what is computed, claimed, published, taken over, said, and when it ends.

One event per `step`, and what is to be done for it. The runtime (`tandem.replica.loop`) and the simulation carry that out.
"""

from __future__ import annotations

from tandem.core.active_role import ActiveRole
from tandem.core.asking import Asking, UndecidedError
from tandem.core.catch_up import CatchUp, Distance, TooFarBehindError
from tandem.core.effects import (
    Append,
    Begun,
    CatchingUp,
    CaughtUp,
    Compared,
    Compute,
    Effect,
    Exit,
    Expect,
    Marked,
    TookOver,
)
from tandem.core.events import (
    Asked,
    Computed,
    Done,
    Failed,
    LogRecord,
    MarkerRecord,
    Needs,
    ReplicaEvent,
    Seen,
    Stop,
    Tick,
)
from tandem.core.failovers import Failovers
from tandem.core.giving import Giving
from tandem.core.lag import Arrival, Lag
from tandem.core.settings import ReplicaSettings
from tandem.core.state import Counts, ReplicaState
from tandem.protocol.actions import ProposeClaim, Step
from tandem.protocol.decisions import Verdict
from tandem.protocol.publication import DivergedError, MissingMarkerError, Publication, SupersededError
from tandem.protocol.publication_rules import Computation
from tandem.protocol.succession import Succession, SuccessionError
from tandem.protocol.values import Claim, Config, Cut

_SETTINGS = ReplicaSettings()
_ENDS = (DivergedError, MissingMarkerError, SupersededError, SuccessionError, TooFarBehindError, UndecidedError)


class ReplicaCore:
    """One incarnation, from the state that it went on from. Times are ms of one monotonic clock.

    Parameters
    ----------
    publication : decides what to claim and to publish. It must be fed what is in the logs up to that state.
    catch_up : stands at that state.
    began_ms : when it began.
    succession : proposes this replica's config, if its generation has not begun yet.
    failovers : follows who publishes.
    asking : decides about the questions of the job; None: the product's.
    """

    def __init__(
        self,
        publication: Publication,
        catch_up: CatchUp,
        began_ms: float,
        succession: Succession | None = None,
        failovers: Failovers | None = None,
        settings: ReplicaSettings = _SETTINGS,
        asking: Asking | None = None,
    ) -> None:
        self.publication = publication
        self.decisions = publication.decisions
        """What the log has decided, as far as read."""
        self.verdict: Verdict | None = None
        """Of the last record of the log."""
        self.step_under_way: Step | None = None
        self._settings = settings
        self._catch_up = catch_up
        self._lag = Lag(catch_up, began_ms)
        self._distance = Distance.of(self.decisions, catch_up.last_computed)
        self._succession = succession
        self._failovers = failovers or Failovers()
        self._asking = asking or Asking(publication.me)
        self._active_role = ActiveRole(publication, settings.active_role)
        self._counts = Counts()
        self._given = catch_up.last_computed
        self._giving = Giving(settings.giving, self.decisions.epoch_range(self._given))
        self._failing_since: float | None = None
        self._again = False
        self._ended = False
        self._effects: list[Effect] = []

    @property
    def is_pending(self) -> bool:
        """Whether something is computed and not published, or an answer is open: then ticks should come often."""
        return self._catch_up.last_computed >= self.publication.head or self._asking.is_open

    @property
    def is_leaving(self) -> bool:
        """Whether it only finishes what it has begun."""
        return self._active_role.is_leaving

    @property
    def _keeps_up(self) -> bool:
        return self._lag.ready and not self._catch_up.lags

    @property
    def state(self) -> ReplicaState:
        """How it stands; may be asked by any thread."""
        decisions, counts, computed = self.decisions, self._counts, self._catch_up.last_computed
        due = decisions.epoch_range(computed + 1)
        return ReplicaState(
            ready=self._lag.ready,
            keeps_up=self._keeps_up,
            candidate=self._succession is not None,
            epoch=computed,
            head_epoch=decisions.last_epoch,
            published_epoch=self.publication.head - 1,
            lag_epochs=self._distance.epochs,
            lag_records=0 if due is None else decisions.last_ends.records_since(due.starts),
            due_ms=None if due is None else due.time_ms,
            catch_up_s=self._lag.left_s,
            publisher=self._failovers.publisher,
            failover=self._failovers.last,
            claims_won=counts.claims_won,
            claims_lost=counts.claims_lost,
            take_overs=counts.take_overs,
            input_records=counts.input_records,
        )

    def step(self, event: ReplicaEvent, now_ms: float) -> list[Effect]:
        """Take in what happened; returns what is to be done, in this order.

        Raises `ProtocolMisuseError` on what it has not asked for.
        """
        if self._ended:
            return []
        self._effects = []
        compared = self.publication.compared
        try:
            self._take(event, now_ms)
            if self.publication.compared != compared:
                self._effects.append(Compared(self.publication.compared))
            if not self._ended:
                self._go_on(now_ms)
                if self._active_role.goes:
                    self._go(now_ms)
        except _ENDS as error:
            self._end(error)
        return self._effects

    # What happened ---------------------------------------------------------------------------------------------------

    def _take(self, event: ReplicaEvent, now_ms: float) -> None:
        match event:
            case Tick():
                self._look(event, now_ms)
            case LogRecord():
                self._read(event, now_ms)
            case MarkerRecord():
                self._marked(event, now_ms)
            case Computed(epoch, digest, inputs, work_ms):
                self._giving.computed()
                self._catch_up.computed(epoch, self.decisions.last_epoch, now_ms)
                self.publication.on_computed(epoch, Computation(digest, inputs, work_ms, now_ms))
                self._news()
            case Needs():
                self._asking.need(event, now_ms)
            case Asked():
                self._effects += self._asking.asked(event, now_ms)
            case Done(step, outcome):
                self.publication.done(step, outcome)
                self.step_under_way = self._failing_since = None
            case Failed(step, error):
                self._failed(step, error, now_ms)
            case Seen():
                self.publication.ended.see(event.ended, now_ms)
                self._effects += self._active_role.seen(event, self._lag.ready, self._keeps_up, now_ms)
            case Stop():
                self._effects += self._active_role.stop(now_ms)

    def _read(self, record: LogRecord, now_ms: float) -> None:
        proposal = record.proposal
        self.verdict = self.publication.on_proposal(proposal, record.offset, now_ms)
        if self.verdict is not Verdict.ACCEPTED:
            return
        if isinstance(proposal, Claim):
            self._claimed(proposal)
        elif isinstance(proposal, Cut):
            self._failovers.ordered(proposal.epoch, record.timestamp_ms)
            if (epoch := self.decisions.epoch_range(proposal.epoch)) is not None:
                self._counts.input_records += epoch.ends.records_since(epoch.starts)
        elif isinstance(proposal, Config) and proposal.lane < 0:  # no marker will come that says so
            raise SupersededError(f"generation {proposal.generation} has {proposal.lanes} lanes: this one has ended")
        self._news()

    def _news(self) -> None:
        """The log's head has moved on, or this replica has."""
        self._distance = Distance.of(self.decisions, self._catch_up.last_computed)
        self._lag.news(self._distance)

    def _claimed(self, claim: Claim) -> None:
        self._failovers.claimed(claim)
        if claim.owner != self.publication.me:
            self._counts.claims_lost += claim.attempt == 0
            self._effects.append(Expect(claim.owner))
        elif claim.attempt:
            self._counts.take_overs += 1
            self._effects.append(TookOver(claim, self.decisions.claims(claim.epoch)[-2].owner))
        else:
            self._counts.claims_won += 1

    def _marked(self, record: MarkerRecord, now_ms: float) -> None:
        marker = record.marker
        epoch = self.decisions.epoch_range(marker.epoch)
        if not self.publication.on_marker(marker, now_ms):
            return
        self._failovers.published(marker, record.timestamp_ms)
        self._effects.append(Marked(marker, epoch))
        self.forget()

    def forget(self) -> None:
        """What is published and computed is needed no more."""
        self.decisions.forget_before(min(self.publication.head, self._catch_up.last_computed))

    def _failed(self, step: Step, error: Exception, now_ms: float) -> None:
        self._failing_since = now_ms if self._failing_since is None else self._failing_since
        if now_ms - self._failing_since > self._settings.patience_ms:
            self._end(error)
        self._again = step is self.step_under_way

    def _look(self, tick: Tick, now_ms: float) -> None:
        self._asking.has_read_all = tick.has_read_all
        self._catch_up.check(self._distance, tick.has_read_all, now_ms)
        said = self._lag.look(self._distance, tick.has_read_all, now_ms)
        computed = self._catch_up.last_computed
        if isinstance(said, Arrival):
            self._effects.append(CaughtUp(computed, said.epochs, said.elapsed_ms))
        elif said is not None:
            self._effects.append(CatchingUp(computed, said))
        if self._again and self.step_under_way is not None:
            self._again = False
            self._effects.append(self.step_under_way)

    # What to do ------------------------------------------------------------------------------------------------------

    def _go_on(self, now_ms: float) -> None:
        while (action := self.publication.next_action(now_ms)) is not None:
            if isinstance(action, ProposeClaim):
                self._effects.append(Append(action.claim))
            else:
                self.step_under_way = action
                self._effects.append(action)
        # A claim is due also while a step is under way: it only says "ask me".
        if self.step_under_way is not None and (claim := self.publication.next_claim(now_ms)) is not None:
            self._effects.append(Append(claim.claim))
        self._give()
        self._effects += self._asking.next(self.decisions, now_ms)
        if (progress := self._catch_up.report(self._distance, now_ms)) is not None:
            self._effects.append(Append(progress))
        if self._succession is not None:
            self._succeed(self._succession, now_ms)

    @property
    def _most_pending(self) -> int:
        most, of_candidate = self._settings.most_pending_epochs, self._settings.most_pending_of_candidate
        return most if self._succession is None else max(most, of_candidate)

    def _give(self) -> None:
        """The next epochs for the engine, as long as there is room."""
        last = self.publication.head + self._most_pending - 1
        while self._given < last and (epoch := self.decisions.epoch_range(self._given + 1)) is not None:
            given = self._giving.give(epoch)
            if given is None:
                return
            self._given += 1
            self._effects.append(Compute(given))

    def _succeed(self, succession: Succession, now_ms: float) -> None:
        decisions = self.decisions
        config = succession.next_proposal(decisions, self._lag.proved_epoch, now_ms)
        if config is not None:
            self._effects.append(Append(config))
        if succession.is_over(decisions):
            self._effects.append(Begun(self.publication.generation, decisions.last_epoch))
            self._succession = None

    def _go(self, now_ms: float) -> None:
        self._effects += self._active_role.go_on(now_ms)
        if self._active_role.is_over(now_ms):
            self._end(self._active_role.reason)

    def _end(self, error: Exception | None) -> None:
        self._ended = True
        self._effects.append(Exit(error))
