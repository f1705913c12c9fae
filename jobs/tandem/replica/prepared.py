"""The first stage of an incarnation: everything that takes long and can be done before there is a place for it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql.types import StructType

from tandem.engine.spark import SparkEngine
from tandem.formats.resolved import Formats
from tandem.intake.parsing import Counts
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.epoch_producer import EpochProducer
from tandem.kafka.topic_ids import ids_of, with_settled
from tandem.kafka.topics import Topics
from tandem.kafka.troubles import TRANSACTIONS
from tandem.kafka.watching import Troubles, look_at
from tandem.logs import get_logger
from tandem.manifest import Code, config_parts, find_code, load
from tandem.manifest.fact_hashes import hashes
from tandem.manifest.going_on import accepting_command, how_to_accept
from tandem.protocol.values import Config, TopicIds
from tandem.replica import iceberg, table_access
from tandem.replica.failing_calls import FailingCalls
from tandem.replica.folders import Folders
from tandem.replica.formats import formats_of
from tandem.replica.iceberg_catalog import iceberg_tables
from tandem.replica.identity import (
    Changes,
    Membership,
    as_planned,
    begin_job,
    is_settled,
    membership_of,
    starting_positions,
)
from tandem.replica.identity_parts import agreed_schemas, agreed_tables, identity_of, plan_parts
from tandem.replica.java_folder import java_folder
from tandem.replica.lanes_before import check_lanes_before
from tandem.replica.late import LateRows
from tandem.replica.made_tables import SinkTables, begins, make_tables, prepare_tables
from tandem.replica.origin import origin_of
from tandem.replica.other_run import other_run_of
from tandem.replica.partitioning import PartitionedSources, refuse_scattered
from tandem.replica.postgres import check_fit, postgres_tables
from tandem.replica.refused import RefusedRows
from tandem.replica.resting import Resting
from tandem.replica.setting import START_TIMEOUT_S, Setting
from tandem.replica.shipping import StateShipping
from tandem.replica.spark_runtime import SparkRuntime
from tandem.replica.states import States
from tandem.replica.table_copies import note_tables, remove_unneeded
from tandem.replica.tables import table_sinks
from tandem.replica.unread import UnreadRecords
from tandem.replica.which_run import run_of
from tandem.snapshots import Savepoint, SnapshotStoreError, StoredTables
from tandem.topics.declared import check_limits, compacted_inputs, counts_read, ensure_topics, sink_topics

_log = get_logger(__name__)

_CLAIMS = "claims"
"""What is refused, for its reader."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where rows go: which of them the brokers refuse, what else they do, and the clients that write."""

    refused: RefusedRows
    troubles: Troubles
    appender: ProposalAppender
    producer: EpochProducer
    compacted: Mapping[str, str]
    """Inputs that are compacted: topic → what that means."""
    tables: SinkTables

    @classmethod
    def of(cls, setting: Setting, topics: Topics) -> Output:
        """Make sure of the job's topics and tables. Raises what `Prepared.of` raises."""
        manifest, clients, logs = setting.manifest, setting.clients, setting.clients.logs
        ensure_topics(topics, manifest, setting.name)
        compacted = compacted_inputs(topics, manifest)
        for reason in compacted.values():
            _log.warning("input_is_compacted", reason=reason)
        files = table_sinks(manifest, setting.name)
        deltas = table_access.reach(files)
        refused = RefusedRows(sink_topics(topics, manifest, deltas), lambda: sink_topics(topics, manifest, deltas))
        check_limits(refused.sinks)
        postgres = postgres_tables(manifest, os.environ, setting.name)
        tables = SinkTables(files, iceberg_tables(manifest, os.environ, setting.name), postgres)
        prepare_tables(tables, manifest.name, lambda: clients.newest_published().epoch, lambda: run_of(clients, topics))
        written = (logs.ordering, logs.commits, *refused.sinks.partitions, TRANSACTIONS)
        troubles = Troubles(look_at(clients.connection, lambda: written), setting.metrics.refused)
        appender = ProposalAppender(
            clients.connection,
            logs.ordering,
            lambda failure: troubles.failed(_CLAIMS, [failure]),
            lambda: troubles.over(_CLAIMS),
        )
        troubles.poke = appender.serve
        producer = clients.producer(setting.incarnation, lambda: refused.sinks.output_limits, troubles.throttled)
        return cls(refused, troubles, appender, producer, compacted, tables)

    def while_waiting(self) -> Resting:
        """To be called again and again by who waits, and publishes nothing: what the clients have to say would pile up."""
        return Resting(self.producer.rest, self.appender.serve)

    def check_fit(self, rows: StructType) -> None:
        """Raise `TableError`, `TableUnreachableError` if the rows of all sinks do not fit the tables that are there."""
        check_fit(self.tables.postgres, rows)
        iceberg.check_fit(self.tables.lake, rows)
        table_access.check_fit(self.tables.files, rows)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A replica whose job is planned, and whose producer is initialised.

    `topic_ids` : of the inputs, and of the commits topic, as they were when it began. `copies`: the folder of those of
    static tables.
    """

    setting: Setting
    folders: Folders
    output: Output
    states: States
    shipping: StateShipping
    membership: Membership
    engine: SparkEngine
    topic_ids: TopicIds
    copies: Path

    @classmethod
    def of(cls, setting: Setting, savepoint: str, changes: Changes, stack: ExitStack) -> Prepared:
        """Prepare; `stack` takes it apart. `savepoint`, `changes`: as `Replica` was started.

        1. Topics and the job's identity, so that a wrong set-up is refused within a second.
        2. The producer is initialised before anything is claimed under its id.
        3. The JVM, the longest; then the plan, which shows errors of the job.
        4. The job's identity, if the job never ran: of code that was refused there must be nothing in the log.

        Raises what `main` calls refusals.
        """
        return _Preparation(setting, savepoint, changes, stack).run()


class _Preparation:
    """What `Prepared.of` does, step by step."""

    def __init__(self, setting: Setting, savepoint: str, changes: Changes, stack: ExitStack) -> None:
        self._setting, self._savepoint, self._stack = setting, savepoint, stack
        manifest = setting.manifest
        command = "" if "POD_NAME" in os.environ else accepting_command(manifest.path)
        how, pin = how_to_accept(manifest.path, os.environ), f"accepted-on-{socket.gethostname()}"
        self._changes = replace(changes, command=command, how=how, pin=manifest.checkpoint_directory / pin)
        self._starting = setting.waits.task()
        self._states = States(manifest, setting.incarnation, setting.folder)
        self._shipping = StateShipping(
            manifest,
            setting.clients.connection,
            setting.clients.logs.commits,
            setting.incarnation,
            setting.folder,
            setting.metrics,
            setting.reporter,
        )

    def run(self) -> Prepared:
        setting, stack = self._setting, self._stack
        manifest, clients = setting.manifest, setting.clients
        java = java_folder(setting.incarnation)
        computing = SparkRuntime(manifest, setting.name, setting.incarnation, setting.folder, os.environ, java)
        folders = Folders(setting.folder, computing.near, java)
        stack.callback(folders.leave)
        stack.callback(self._states.close)
        stack.callback(computing.close)
        stack.callback(self._shipping.stop)
        self._starting.begins("Kafka: the job's topics")
        topics = Topics(clients.connection)
        output = Output.of(setting, topics)
        setting.reporter.troubles = output.troubles
        code = find_code(manifest)
        starts = starting_positions(topics, setting.manifest)
        # Asked after the positions: they are of these topics.
        ids = ids_of(topics, [*clients.inputs, clients.logs.commits])
        identity = identity_of(config_parts(manifest, code.content))
        mine = Config(0, identity, starts, setting.incarnation, *self._origin(topics, identity), ids)
        other = other_run_of(setting) if self._changes.accepted else None
        known = membership_of(clients.connection, topics, clients.logs, mine, self._changes)
        if known is None:
            check_lanes_before(load(manifest.path))
        settled = is_settled(known, mine, self._changes)
        if known is not None and settled:
            self._belong_to(known)
        self._starting.begins("Kafka: a transactional producer")
        output.producer.start(START_TIMEOUT_S)
        agreed = agreed_tables(known.config) if known is not None and settled else None
        if agreed and self._states.tables is not None:
            self._fetch(self._states.tables, computing, agreed.values())
        self._starting.begins("the schema registry: the job's schemas")
        schemas = agreed_schemas(known.config) if known is not None and settled else {}
        formats = formats_of(manifest, schemas, START_TIMEOUT_S, self._starting.at, may_register=True)
        engine = self._engine(computing, code, agreed, formats)
        rows = engine.job.query.frame.schema
        output.check_fit(rows)
        if known is None:
            ids = with_settled(topics, ids, clients.logs.commits)
            mine = replace(mine, topic_ids=ids)
        membership = self._planned(engine, known, mine, output.appender)
        if other is not None and membership.candidate:
            other.wait_until_over(membership.config, self._starting, output.while_waiting())
        self._starting.begins("the tables of the job's sinks")
        output = replace(output, tables=output.tables.of_run(lambda: run_of(clients, topics)))
        make_tables(output.tables, rows, lambda: begins(membership.config, clients.newest_marker()))
        if not settled:
            self._belong_to(membership)
        if not membership.candidate:
            needed = {*engine.job.tables.values(), *agreed_tables(membership.config).values()}
            remove_unneeded(computing.copies, setting.folder, needed, time.time())
        self._starting.ends()
        return Prepared(
            setting, folders, output, self._states, self._shipping, membership, engine, ids, computing.copies
        )

    def _fetch(self, stored: StoredTables, computing: SparkRuntime, versions: Collection[str]) -> None:
        """A machine on which the job has not run yet has no copies of its static tables."""
        self._starting.begins("the snapshot store: copies of static tables")
        try:
            stored.fetch(computing.copies, versions)
        except (SnapshotStoreError, OSError) as error:
            _log.warning("static_table_not_fetched", reason=str(error), effect="tables are read where they are")

    def _engine(
        self, computing: SparkRuntime, code: Code, agreed: Mapping[str, str] | None, formats: Formats
    ) -> SparkEngine:
        setting = self._setting
        unread = UnreadRecords(setting.metrics, setting.manifest.model.topics.dead_letter)
        late = LateRows(setting.metrics)

        def count(counts: Mapping[str, Counts], late_rows: int) -> None:
            unread.count(counts)
            late.count(sum(one.records for one in counts.values()), late_rows)

        with setting.room():
            engine = computing.prepare(
                code,
                setting.clients.fetcher,
                setting.metrics.phase,
                count,
                agreed,
                self._starting.begins,
                formats,
            )
        self._stack.callback(engine.stop)
        engine.job.causal.on_calls = FailingCalls(setting.metrics).count
        engine.task = setting.waits.task()
        setting.reporter.engine = engine.job.choice.words
        note_tables(setting.folder, engine.job.tables.values())
        return engine

    def _planned(
        self, engine: SparkEngine, known: Membership | None, mine: Config, appender: ProposalAppender
    ) -> Membership:
        """The generation that this replica belongs to, now that its plan is known. Begins the job, if it never ran."""
        self._starting.begins("the ordering log: the job's identity")
        clients, job = self._setting.clients, engine.job
        parts = plan_parts(hashes(job.facts), job.tables, job.choice.engine, job.formats.pins.parts())
        mine = replace(mine, barriers=engine.batches.needs_common)
        known, mine = as_planned(known, mine, parts, self._changes)
        if known is None:
            self._starting.begins("Kafka: the newest records of all lanes")
            sources = PartitionedSources(clients.connection, job.intake, job.relied_on, self._setting.spec.lanes)
            refuse_scattered(sources)
            begun = begin_job(clients.connection, appender, clients.logs, mine, self._changes)
            known, _ = as_planned(begun, mine, parts, self._changes)
        if known is None:
            raise RuntimeError("the job was begun, but as which generation is not known")
        return known

    def _belong_to(self, membership: Membership) -> None:
        self._setting.reporter.belongs_to(membership.config, membership.candidate)
        self._states.belong_to(membership.config)
        self._shipping.follow(membership.config, self._states.bases())

    def _origin(self, topics: Topics, identity: str) -> tuple[int, str]:
        """The epoch and the name of the savepoint that this replica's generation starts from, if it is a later one."""
        if not self._savepoint:
            return -1, ""

        def fitting() -> Savepoint:
            inputs = topics.partitions(topic for source in self._setting.spec.sources for topic in source.topics)
            return self._states.fitting_savepoint(self._savepoint, counts_read(self._setting.manifest, inputs))

        return origin_of(self._setting.clients.newest_config(), identity, self._savepoint, fitting)
