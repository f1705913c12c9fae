"""The last stage of an incarnation: it computes, publishes, and ends when it is asked to, or when a part of it fails."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from tandem.checkpoint.position import EnginePosition
from tandem.coordination.slots import Slots
from tandem.core.active_role import ActiveRoleSettings
from tandem.core.catch_up import CatchUp
from tandem.core.events import Stop
from tandem.core.failovers import Failovers
from tandem.core.replica import ReplicaCore
from tandem.core.settings import ReplicaSettings
from tandem.engine.facts import functions_in
from tandem.intake.fetcher import EpochFetcher
from tandem.jobapi.errors import EpochError
from tandem.kafka.fencing import Fencer
from tandem.logs import get_logger
from tandem.protocol.barriers import place_of
from tandem.protocol.publication import ChangedInputError, DivergedError, Publication
from tandem.protocol.succession import Succession
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.replica.divergence import RaisedAloneError, difference_of, likely_cause, lost_since
from tandem.replica.epoch_writer import Author, EpochWriter
from tandem.replica.failure import FirstFailure, classified
from tandem.replica.handed import HandedEpochs
from tandem.replica.kafka_clients import Place
from tandem.replica.loop import Loop, Ports
from tandem.replica.markers import Markers
from tandem.replica.prepared import Prepared
from tandem.replica.reader import LogReader
from tandem.replica.resting import Resting
from tandem.replica.rows import EpochRows
from tandem.replica.sinks import SinkWriters, longest_silence_ms, writers_of
from tandem.replica.steps import StepPorts, Steps
from tandem.replica.tables import TableWriter
from tandem.replica.warm import Warm, join_slots
from tandem.replica.watches import watch
from tandem.snapshots import Snapshotter
from tandem.waiting import Deadline
from tandem.waits import Task

_log = get_logger(__name__)

_CHECK_S = 0.1
_PENDING: Final = {False: 16, True: 2}
"""Epochs computed and not published, in real-time mode and else: there, one is being published and the next one is ready."""
_STOP_S = 30.0
"""How long it may take to stop: more than the core lets itself."""
_LAST_S = 10.0
"""And the last snapshot, of what was published last."""


@dataclass(frozen=True, slots=True)
class Active:
    """A replica that computes."""

    prepared: Prepared
    loop: Loop
    failure: FirstFailure
    stack: ExitStack
    snapshotter: Snapshotter | None
    idle: Resting
    """What proposes has nothing to do where nothing is computed."""

    @classmethod
    def of(cls, warm: Warm, stack: ExitStack) -> Active:
        """Begin to compute: what is left to do is short. `stack` takes it apart.

        1. The newest state, as late as possible, so that little is to be caught up.
        2. The query, and while it starts the place in both logs, from which on the loop feeds it.

        Raises what `main` calls refusals.
        """
        prepared, setting = warm.prepared, warm.prepared.setting
        setting.reporter.health.pause()
        starting = setting.waits.task()
        starting.begins("the state to go on from, and Spark's query")
        position = _restored(prepared, starting)
        prepared.states.compared(position.epoch)
        failure = FirstFailure()
        epochs = HandedEpochs(position)
        snapshotter = _snapshots(prepared, stack)
        with setting.room(prepared.engine.given), ThreadPoolExecutor(1, "place") as beside:
            looped = beside.submit(_begin, warm, position, epochs, snapshotter, failure)
            throttled = prepared.output.troubles.throttled
            fetcher = EpochFetcher(setting.clients.connection, setting.clients.inputs, epochs, throttled)

            def on_epoch(epoch: int, table: pa.Table, inputs: str) -> None:
                with setting.metrics.phase("digest"):
                    ordered = setting.spec.spark.parallelism == 1
                    rows = EpochRows.of(epoch, table, ordered, inputs)
                looped.result().computed(rows)

            explain = partial(classified, given=setting.spec.spark.conf)
            prepared.engine.start(position, fetcher, on_epoch, partial(failure.put, explain=explain))
            loop = looped.result()
        stack.callback(prepared.output.producer.close)
        stack.callback(prepared.engine.stop)
        stack.callback(loop.stop)
        watch(prepared, failure, stack)
        if warm.slots is not None:
            take_part(loop, warm.slots, stack)
        if not prepared.membership.candidate:
            _ship(prepared)
        setting.reporter.stage = "active"
        starting.ends()
        return cls(prepared, loop, failure, stack, snapshotter, Resting(prepared.output.appender.serve))

    def run_until(self, stopping: threading.Event) -> None:
        """Run until `stopping` is set and a standby, if there is one, has taken over.

        Raises whatever stopped a part of it, `SteppedDownError`, `DrainedError`.
        """
        core, deadline = self.loop.core, None
        if self.prepared.membership.candidate:
            while core.state.candidate and not stopping.wait(_CHECK_S):
                self._check()
            if stopping.is_set():
                return
            self._belong()
        while not self.loop.has_ended(_CHECK_S):
            self._check()
            if self.loop.slots is not None:
                self.loop.post(self.loop.slots.seen())
            if core.state.ready and not core.is_leaving:
                self.prepared.folders.tidy_up()
            if stopping.is_set():
                self.loop.post(Stop())
                deadline = deadline or Deadline(_STOP_S)
                if deadline.passed:
                    return
        self._check()
        self._take_last()

    def _take_last(self) -> None:
        """So the number of lanes can change wherever the state was; that of the real-time engine cannot be divided."""
        if self.snapshotter is not None and not self.prepared.engine.job.real_time:
            self.snapshotter.take_last(self.prepared.states.compared_epoch, _LAST_S)

    def _belong(self) -> None:
        """The log has accepted this replica's generation."""
        self.prepared.setting.reporter.candidate = False
        slots = join_slots(self.prepared.setting, self.stack)
        if slots is not None:
            take_part(self.loop, slots, self.stack)
        _ship(self.prepared)

    def _check(self) -> None:
        """Raise whatever stopped a part of this replica."""
        self.prepared.setting.reporter.beat()
        self.idle()
        if self.failure.error is None:
            return
        self.prepared.setting.reporter.ends()
        with self.prepared.setting.room(self.prepared.engine.given):
            raise self._told(self.failure.explained())

    def _told(self, error: Exception) -> Exception:
        """What stopped this replica, with what the log knows of it."""
        if isinstance(error, DivergedError):
            return self._explained(error)
        if isinstance(error, EpochError):
            published = self.loop.core.publication.published_elsewhere(error.epoch)
            if published is not None:
                self.prepared.setting.reporter.diverged = True
                return RaisedAloneError(error, published)
        return error

    def _explained(self, error: DivergedError) -> DivergedError:
        """The divergence with the first row that differs."""
        setting, output, job = self.prepared.setting, self.prepared.output, self.prepared.engine.job
        setting.reporter.diverged = True
        _log.error("rows_differ", epoch=error.epoch, reason=str(error))  # what else is to be said takes Kafka's answers
        self.prepared.states.disown()
        if isinstance(error, ChangedInputError):
            error.args = (f"{error.args[0]}. {lost_since(output.compacted)}",)
            return error
        rows = self.loop.rows_of(error.epoch)
        difference = difference_of(setting.clients.connection, output.refused.sinks, rows)
        cause = likely_cause(functions_in(job.facts), job.moving_tables, output.compacted)
        error.args = (f"{error.args[0]}; {difference}; {cause}",)
        return error


def take_part(loop: Loop, slots: Slots, stack: ExitStack) -> None:
    """Join the slots. In the end nothing is published any more before the slot is given up, and the peers see it end."""
    loop.join(slots)
    stack.callback(slots.stop)
    stack.callback(loop.finish)


def _restored(prepared: Prepared, task: Task) -> EnginePosition:
    """Restore the state to go on from. `task`: says what that waits for."""
    clients, generation = prepared.setting.clients, prepared.membership.config.generation
    if prepared.engine.job.begins_anywhere:
        position = prepared.states.begin_after(clients.newest_published())
        prepared.folders.restored_epoch = position.epoch
        return position
    last_published = prepared.shipping.last_published
    if last_published is None:
        last_published = clients.newest_published().epoch
    begins_anywhere = generation > 0 and not prepared.engine.keeps_state
    position = prepared.states.restore(last_published, prepared.shipping, None if begins_anywhere else task)
    if position.epoch < 0 and begins_anywhere:
        position = prepared.states.begin_after(clients.newest_published())  # any state is right for such a job
    prepared.folders.restored_epoch = position.epoch
    return position


def _snapshots(prepared: Prepared, stack: ExitStack) -> Snapshotter | None:
    """Begin to take snapshots, if the job does."""
    snapshotter = prepared.states.snapshotter(prepared.setting.waits.task(beside=True))
    if snapshotter is not None:
        stack.callback(snapshotter.stop)
        snapshotter.start()
    return snapshotter


def _nothing(_epoch: int, _digest: str) -> None:
    """A job without snapshots offers no epoch."""


def _ship(prepared: Prepared) -> None:
    """Begin to ship what this replica's state changes by."""
    interval_ms = round(prepared.setting.spec.ordering.barrier_interval.ms)
    prepared.shipping.ship(prepared.states.checkpoint, prepared.engine.batches.apart_ms(interval_ms))


def _core(warm: Warm, place: Place, epoch: int) -> ReplicaCore:
    """What decides, from the state of `epoch` on."""
    prepared, setting, spec = warm.prepared, warm.prepared.setting, warm.prepared.setting.spec
    bound = AdaptiveTimeout(spec.take_over.min_bound.ms, longest_silence_ms(spec))
    batches, config = prepared.engine.batches, prepared.membership.config
    turn = place_of(None if warm.slots is None else warm.slots.slot, setting.name)
    delivery = setting.clients.delivery
    return ReplicaCore(
        Publication(setting.incarnation, place.decisions, place.head, delivery, bound, config.generation),
        CatchUp(setting.name, epoch, batches.near),
        time.monotonic() * 1000,
        Succession(config) if prepared.membership.candidate else None,
        Failovers(alone=spec.replicas == 1, publisher=place.publisher),
        ReplicaSettings(
            most_pending_epochs=_PENDING[prepared.engine.job.real_time],
            most_pending_of_candidate=max(_PENDING.values()),
            giving=batches.giving(round(spec.ordering.barrier_interval.ms), turn, spec.replicas),
            active_role=ActiveRoleSettings(has_others=spec.replicas + spec.standbys > 1),
        ),
    )


def _begin(
    warm: Warm,
    position: EnginePosition,
    epochs: HandedEpochs,
    snapshotter: Snapshotter | None,
    failure: FirstFailure,
) -> Loop:
    """Find the place in both logs, and begin to read on from there."""
    prepared, setting, output = warm.prepared, warm.prepared.setting, warm.prepared.output
    clients, config = setting.clients, prepared.membership.config
    place = clients.place_at(position)
    core = _core(warm, place, position.epoch)
    task, sinking = setting.waits.task(), setting.waits.task()
    tables = TableWriter(setting.manifest.name, output.tables.files, sinking.at, output.refused.sinks.deltas)
    others = writers_of(output.tables.lake, output.tables.postgres, config.generation, sinking.at)
    sinks = SinkWriters(tables, others, prepared.engine.functions, sinking)
    author = Author(setting.incarnation, config.generation, clients.logs.commits, prepared.engine.job.one_row)
    writer = EpochWriter(author, output.producer, output.refused, setting.metrics, sinks.write, task.at)

    markers = Markers(
        output.troubles, sinking, prepared.states, prepared.shipping, snapshotter, setting.metrics, setting.reporter
    )
    loop = Loop(core, Ports(clients.logs, output.appender, markers.marked, markers.compared, task), failure)
    reader = LogReader(clients.events(place, place.starts), loop.post, failure)
    offer = _nothing if snapshotter is None else snapshotter.offer
    ports = StepPorts(Fencer(clients.connection), writer, output.troubles, offer)
    epochs.connect(loop.post, lambda: loop.is_behind)
    loop.connect(reader, Steps(ports, reader, loop.post, failure), epochs)
    setting.reporter.state = lambda: core.state
    loop.start()
    return loop
