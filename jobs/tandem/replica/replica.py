"""One incarnation of a replica, from its start to its end: what is built in which order, and what stops it."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tandem.engine.causal import Proposer
from tandem.engine.checkpoint import find_newest
from tandem.engine.container import memory_limit, too_small
from tandem.engine.facts import functions_in, hashes
from tandem.engine.interface import EnginePosition
from tandem.engine.memory import explained
from tandem.engine.room import no_room
from tandem.engine.spark import MicroBatchEngine
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.fencing import Fencer
from tandem.kafka.topic_ids import ids_of
from tandem.kafka.topics import Topics
from tandem.kafka.troubles import TRANSACTIONS
from tandem.kafka.watching import Troubles, look_at
from tandem.logs import get_logger
from tandem.manifest import Manifest, config_parts, find_code
from tandem.manifest.going_on import accepting_command, how_to_accept
from tandem.metrics import ReplicaMetrics
from tandem.protocol.publication import ANYBODY, DivergedError, Publication
from tandem.protocol.silence import SilenceBound
from tandem.protocol.succession import Succession
from tandem.protocol.switchover import Role
from tandem.protocol.values import Config
from tandem.replica.channels import Channels
from tandem.replica.computing import Computing
from tandem.replica.divergence import first_difference, likely_cause
from tandem.replica.failures import classified
from tandem.replica.handover import DrainedError, Duty, SteppedDownError
from tandem.replica.identity import (
    Changes,
    Membership,
    agreed_tables,
    as_planned,
    begin_job,
    identity_of,
    is_settled,
    membership_of,
    plan_parts,
    starting_positions,
)
from tandem.replica.input_watch import SameInputs
from tandem.replica.leftovers import alive, newest_epoch, remove_of_the_dead, remove_of_the_moment, remove_predecessors
from tandem.replica.looks import Looks
from tandem.replica.peers import Peers
from tandem.replica.place import Place
from tandem.replica.progress import CatchUp
from tandem.replica.publisher import Publisher, PublisherSettings, PublisherStoppedError
from tandem.replica.refused import RefusedRows
from tandem.replica.reporter import Reporter
from tandem.replica.retention import RetentionWatch, Watched
from tandem.replica.rows import EpochRows
from tandem.replica.shipping import StateShipping
from tandem.replica.slots import Slots
from tandem.replica.standby import Standby, bound_on_actives
from tandem.replica.states import States
from tandem.replica.table_access import reach
from tandem.replica.table_copies import note_tables, remove_unneeded
from tandem.replica.tables import TableWriter, refuse_tables_of_earlier_runs, table_sinks
from tandem.replica.unread import UnreadRecords
from tandem.serving import LOOPBACK
from tandem.snapshots import Snapshotter
from tandem.topics import check_limits, compacted_inputs, ensure_topics, sink_topics
from tandem.waits import Waits

_log = get_logger(__name__)

START_TIMEOUT_S = 30.0
_CLAIMS = "claims"
"""What is refused, for whoever reads of it."""


def new_incarnation(job: str, name: str) -> str:
    """A transactional id that no process ever had: whoever takes over knows whom to fence."""
    return f"{job}.{name}.{uuid.uuid4().hex[:8]}"


class Replica:
    """Builds the parts of a replica in `prepare` and `activate`, runs them, and takes them apart in `close`."""

    def __init__(
        self,
        manifest: Manifest,
        name: str,
        incarnation: str,
        metrics: ReplicaMetrics,
        reporter: Reporter,
        waits: Waits,
        savepoint: str = "",
        host: str = LOOPBACK,
        changes: Changes = Changes(),  # noqa: B008
    ) -> None:
        self._savepoint = savepoint
        command = "" if "POD_NAME" in os.environ else accepting_command(manifest.path)
        how, pin = how_to_accept(manifest.path, os.environ), f"accepted-on-{socket.gethostname()}"
        self._changes = replace(changes, command=command, how=how, pin=manifest.checkpoint_directory / pin)
        self._host = host
        self._manifest = manifest
        self._name = name
        self._incarnation = incarnation
        self._metrics = metrics
        self._reporter = reporter
        self._waits = waits
        self._starting = waits.task()
        self._channels = Channels.of(manifest, name, os.environ)
        self._folder = manifest.checkpoint_directory / incarnation
        self._computing = Computing(manifest, name, incarnation, self._folder, os.environ)
        self._engine: MicroBatchEngine | None = None
        self._publisher: Publisher | None = None
        self._divergence: DivergedError | None = None
        self._first_epoch: int | None = None
        self._tidied = False
        self._restored_epoch = -1
        self._locks = ExitStack()
        self._publishing = threading.Event()
        self._slots: Slots | None = None
        self._snapshotter: Snapshotter | None = None
        self._retention: RetentionWatch | None = None
        self._inputs: SameInputs | None = None
        self._compacted: Mapping[str, str] = {}
        self._sink_looks: Looks | None = None
        self._shipping = StateShipping(
            manifest, self._channels.connection, self._channels.logs.commits, incarnation, self._folder, metrics, waits
        )

    def prepare(self) -> None:
        """Everything that takes long and can be done before there is a place for this replica. Raises what `main` calls
        refusals.

        1. Topics and the job's identity, so that a wrong set-up is refused within a second.
        2. The producer is initialised before anything is claimed under its id.
        3. The JVM, the longest; then the plan, which shows errors of the job.
        4. The job's identity, if the job never ran: of code that was refused there must be nothing in the log.
        5. A few epochs to warm up, if somebody else computes meanwhile: one that is alone would only publish later.
        """
        for folder in self._folders:
            self._locks.enter_context(alive(folder))
            remove_of_the_dead(folder)
        manifest, spec = self._manifest, self._manifest.spec
        connection, logs = self._channels.connection, self._channels.logs
        self._starting.begins("Kafka: the job's topics")
        topics = Topics(connection)
        ensure_topics(topics, manifest, self._name)
        self._compacted = compacted_inputs(topics, manifest)
        for reason in self._compacted.values():
            _log.warning("input_is_compacted", reason=reason)
        self._refused = RefusedRows(sink_topics(topics, manifest), lambda: sink_topics(topics, manifest))
        check_limits(self._refused.sinks)
        if spec.ordering.mode != "none":  # else each replica has epochs of its own
            tables = table_sinks(manifest)
            reach(tables)
            refuse_tables_of_earlier_runs(manifest.name, tables, lambda: self._channels.newest_published().epoch)
        written = (logs.ordering, logs.commits, *self._refused.sinks.partitions, TRANSACTIONS)
        self._troubles = self._reporter.troubles = Troubles(look_at(connection, lambda: written), self._metrics.refused)
        self._appender = ProposalAppender(
            connection,
            logs.ordering,
            lambda failure: self._troubles.failed(_CLAIMS, [failure]),
            lambda: self._troubles.over(_CLAIMS),
        )
        self._troubles.poke = self._appender.serve
        self._states = States(manifest, self._incarnation, self._folder)
        code = find_code(manifest)
        identity = identity_of(config_parts(manifest, code.content))
        starts = starting_positions(topics, spec.sources)
        # Asked after the positions: they are of these topics.
        self._topic_ids = ids_of(topics, [*self._channels.inputs, logs.commits])
        mine = Config(0, identity, starts, self._incarnation, *self._upgrade_from(topics), self._topic_ids)
        known = membership_of(connection, topics, logs, mine, self._changes)
        settled = is_settled(known, mine, self._changes)
        if known is not None and settled:
            self._belong_to(known)
        self._starting.begins("Kafka: a transactional producer")
        self._producer = self._channels.producer(
            self._incarnation, lambda: self._refused.sinks.output_limits, self._troubles.throttled
        )
        self._producer.start(START_TIMEOUT_S)

        proposer = Proposer(self._incarnation, self._appender.append)
        unread = UnreadRecords(self._metrics, manifest.model.topics.dead_letter)
        agreed = agreed_tables(known.config) if known is not None and settled else None
        with self._room():
            engine = self._computing.prepare(
                code, self._channels.fetcher, self._metrics.phase, proposer, unread.count, agreed, self._starting.begins
            )
        engine.task = self._waits.task()
        self._engine = engine
        note_tables(self._folder, engine.job.tables.values())
        self._starting.begins("the ordering log: the job's identity")
        parts = plan_parts(hashes(engine.job.facts), engine.job.tables)
        known, mine = as_planned(known, mine, parts, self._changes)
        if known is None:
            begun = begin_job(connection, self._appender, logs, mine, self._changes)
            known, _ = as_planned(begun, mine, parts, self._changes)
        if known is not None and not settled:
            self._belong_to(known)
        if known is not None and not self._membership.candidate:
            needed = {*engine.job.tables.values(), *agreed_tables(known.config).values()}
            remove_unneeded(self._computing.copies, self._folder, needed, time.time())
        if spec.replicas + spec.standbys > 1 or self._membership.candidate:
            self._starting.begins("epochs to warm up with")
            recent = find_newest(self._states.checkpoints(), self._channels.newest_published().epoch)
            with self._room():
                self._engine.warm_up(EnginePosition() if recent is None else recent.position)

    def stand_by(self, stopping: threading.Event, came_up: Callable[[], None] = lambda: None) -> bool:
        """Wait for a slot, if the job has standbys; False if this replica is stopped before it gets one.

        `came_up` : called when it stands by.

        A candidate for the next generation waits for no slot: those are the old generation's.

        Raises `DrainedError`, `SupersededError`.
        """
        spec = self._manifest.spec
        slots = None if self._membership.candidate else self._join_slots()
        if slots is None or not spec.standbys:
            return True
        self._starting.ends()
        self._metrics.standby.set(1)
        came_up()
        _log.info("standing_by")
        if self._engine is not None:
            self._shipping.prove_with(self._engine)
        place = self._channels.place_at(self._channels.newest_published())
        bound = bound_on_actives(spec.take_over.min_bound.ms)
        tail = self._channels.tail(place, [self._channels.logs.ordering])
        standby = Standby(slots, place.decisions, tail, bound, self._membership.config.generation)
        self._metrics.published_epoch.set(place.head - 1)

        def is_over() -> bool:
            self._reporter.beat()
            self._show_logs(place)
            slots.tell(Role.PROVED if self._shipping.has_proved else Role.STANDBY)
            return stopping.is_set() or slots.must_end

        promotion = standby.wait(is_over)
        if slots.must_end:
            raise DrainedError("drained: it stays down until tandem start")
        if promotion is None:
            return False
        slots.tell(Role.CATCHING_UP)
        self._metrics.standby.set(0)
        self._metrics.promotions.inc()
        _log.info("promoted", because=promotion.value, slot=slots.slot)
        return True

    def _show_logs(self, place: Place) -> None:
        """What this standby has read of both logs."""
        self._metrics.head_epoch.set(place.decisions.last_epoch)
        if (published := self._shipping.last_published) is not None:
            self._metrics.published_epoch.set(published)
            self._reporter.has_to_prove = self._shipping.has_to_prove

    def activate(self) -> None:
        """Begin to compute: what is left to do is short.

        1. The newest state, as late as possible, so that little is to be caught up.
        2. The query. While it starts, and computes its first epoch:
        3. The place in both logs, and the publisher.
        """
        manifest, spec = self._manifest, self._manifest.spec
        connection, logs = self._channels.connection, self._channels.logs
        assert self._engine is not None  # noqa: S101
        self._reporter.health.pause()
        self._starting.begins("the state to go on from, and Spark's query")
        membership = self._membership
        last_published = self._shipping.last_published
        if last_published is None:
            last_published = self._channels.newest_published().epoch
        position = self._states.restore(last_published, self._shipping)
        if position.epoch < 0 and membership.config.generation > 0 and not self._engine.stateful_operators:
            position = self._states.begin_after(self._channels.newest_published())  # any state is right for such a job
        self._restored_epoch = position.epoch
        with self._room():
            self._engine.start(position, self._on_epoch)
        self._snapshotter = self._states.snapshotter(self._waits.task(beside=True))
        place = self._channels.place_at(position)
        self._reporter.failovers.begins_after(place.publisher)
        publishing = self._waits.task()
        tables = TableWriter(manifest.name, table_sinks(manifest), publishing.at)
        bound = SilenceBound(spec.take_over.min_bound.ms, spec.take_over.max_bound.ms)
        self._publisher = Publisher(
            PublisherSettings(logs.ordering, logs.commits, one_row=self._engine.job.one_row),
            self._refused,
            self._troubles,
            Publication(
                self._incarnation,
                place.decisions,
                place.head,
                self._channels.delivery,
                bound,
                membership.config.generation,
            ),
            self._channels.tail(place, place.starts),
            self._appender,
            self._producer,
            Fencer(connection),
            CatchUp(self._name, position.epoch),
            self._metrics,
            self._reporter.failovers,
            tables.write,
            self._on_published,
            self._shipping.published,
            Succession(membership.config) if membership.candidate else None,
            publishing,
        )
        watched = Watched(logs, frozenset(self._channels.inputs))
        looking = self._waits.task(beside=True)
        self._retention = RetentionWatch(connection, watched, self._states.oldest, self._metrics, task=looking)
        if self._snapshotter is not None:
            self._snapshotter.start()
        self._retention.start()
        self._inputs = SameInputs(connection, self._topic_ids)
        self._inputs.start()
        self._sink_looks = Looks("sinks", self._refused.look)
        self._sink_looks.start()
        self._publisher.start()
        self._publishing.set()
        if not membership.candidate:
            self._shipping.ship(self._states.checkpoint)
        self._metrics.active.set(1)
        self._starting.ends()

    def run_until(self, stopping: threading.Event) -> None:
        """Run until `stopping` is set and a standby, if there is one, has taken over.

        Raises whatever stopped the engine or the publisher, `SteppedDownError`, `DrainedError`.
        """
        assert self._publisher is not None  # noqa: S101
        if self._membership.candidate:
            while self._publisher.is_candidate and not stopping.wait(0.1):
                self._check()
            if stopping.is_set():
                return
            self._reporter.candidate = False
            self._join_slots()
            self._shipping.ship(self._states.checkpoint)
        duty = Duty(self._slots)
        try:
            while not stopping.wait(0.1):
                self._check()
                duty.check(self._publisher.ready, self._publisher.keeps_up)
                if self._publisher.ready:
                    self._tidy_up()
            duty.hand_over(self._check)
        except (SteppedDownError, DrainedError):
            self._retire(self._publisher)
            raise
        self._retire(self._publisher)

    def _retire(self, publisher: Publisher) -> None:
        relief = None if self._slots is None else self._slots.relief
        spec = self._manifest.spec
        others = ANYBODY if spec.replicas + spec.standbys > 1 else None
        publisher.retire(others if relief is None else relief.incarnation)

    def _tidy_up(self) -> None:
        """What this replica's earlier incarnations left; not before it is at the head, which that would delay."""
        if not self._tidied:
            for folder in self._folders:
                remove_predecessors(folder)
        self._tidied = True

    def _join_slots(self) -> Slots | None:
        """Tell ZooKeeper, if the job has one, that this replica is there, and try to get a slot if there are standbys."""
        options, spec = self._manifest.zookeeper_options(os.environ), self._manifest.spec
        if options is None:
            return None
        count, peers = 0, None
        if spec.standbys:
            count, peers = spec.replicas, Peers(self._incarnation, self._host, os.environ)
        task = self._waits.task(beside=True)
        self._slots = Slots(options, self._manifest.name, count, self._incarnation, peers=peers, task=task)
        self._slots.start()
        self._reporter.slots = self._slots
        return self._slots

    def _check(self) -> None:
        """Raise whatever stopped the engine or the publisher."""
        assert self._engine is not None  # noqa: S101
        assert self._publisher is not None  # noqa: S101
        self._reporter.beat()
        if self._inputs is not None:
            self._inputs.check()
        with self._room():
            self._check_parts(self._engine, self._publisher)

    def _check_parts(self, engine: MicroBatchEngine, publisher: Publisher) -> None:
        engine_failure = engine.failure()  # asked first: what stopped the publisher stops the engine only later
        failure = self._divergence or publisher.failure()
        if isinstance(failure, DivergedError):
            raise self._explained(failure)
        if failure is not None:
            raise failure
        if engine_failure is not None:
            raise classified(engine_failure)

    @contextmanager
    def _room(self) -> Iterator[None]:
        """What the block raises, or that Spark had no memory left, or its files no room, if that is behind it."""
        try:
            yield
        except Exception as error:
            given = None if self._engine is None else self._engine.given
            heap = self._manifest.spec.spark.driver_memory
            found = explained(error, heap, given, too_small(heap, memory_limit()))
            found = no_room(error, self._manifest.checkpoint_directory) or found
            if found is error:
                raise
            raise found from error

    def close(self) -> None:
        """Give up the slot at once; stop publishing, then computing; leave nothing but a state that is of use.

        Each is tried, whatever the others raise; what the first of them raised is raised in the end.
        """
        with ExitStack() as last_first:
            last_first.callback(self._leave)
            last_first.callback(self._computing.close)
            last_first.callback(self._shipping.stop)
            watches = (self._sink_looks, self._inputs, self._retention)
            for part in (self._snapshotter, self._engine, self._publisher, *watches, self._slots):
                if part is not None:
                    last_first.callback(part.stop)

    def _leave(self) -> None:
        """A state that is not newer than the one that this incarnation began with is of no use beside that one."""
        for folder in self._folders:
            remove_of_the_moment(folder)
        if not self._tidied and newest_epoch(self._folder) <= self._restored_epoch:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._locks.close()

    @property
    def _folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self._folder, self._computing.near)))

    def _on_epoch(self, epoch: int, table: pa.Table) -> None:
        if self._first_epoch is None:
            self._first_epoch = epoch
            _log.info("first_epoch", epoch=epoch, ms=self._engine.first_epoch if self._engine is not None else {})
            if not self._publishing.wait(START_TIMEOUT_S):
                raise PublisherStoppedError
        assert self._publisher is not None  # noqa: S101
        with self._metrics.phase("digest"):
            rows = EpochRows.of(epoch, table, ordered=self._manifest.spec.spark.parallelism == 1)
        try:
            self._publisher.computed(rows)
        except DivergedError as error:
            self._divergence, self._diverged_rows = error, rows
            raise

    def _on_published(self, epoch: int, digest: str) -> None:
        if self._snapshotter is not None:
            self._snapshotter.offer(epoch, digest)

    def _belong_to(self, membership: Membership) -> None:
        self._membership = membership
        self._reporter.belongs_to(membership.config, membership.candidate)
        self._states.belong_to(membership.config)
        self._shipping.follow(membership.config, self._states.bases())

    def _upgrade_from(self, topics: Topics) -> tuple[int, str]:
        """The epoch and the name of the savepoint that this replica's generation starts from, if it is a new one."""
        if not self._savepoint:
            return -1, ""
        inputs = [topic for source in self._manifest.spec.sources for topic in source.topics]
        savepoint = self._states.fitting_savepoint(self._savepoint, topics.partitions(inputs))
        return savepoint.snapshot.epoch, savepoint.name

    def _explained(self, error: DivergedError) -> DivergedError:
        """The divergence with the first row that differs."""
        self._metrics.diverged.set(1)
        rows = self._publisher.rows_of(error.epoch) if self._publisher else None
        difference = first_difference(self._channels.connection, self._refused.sinks, rows or self._diverged_rows)
        engine = self._engine
        cause = (
            ""
            if engine is None
            else likely_cause(functions_in(engine.job.facts), engine.job.moving_tables, self._compacted)
        )
        error.args = (f"{error.args[0]}; {difference}; {cause}",)
        return error

    _diverged_rows: EpochRows
