"""One incarnation of a replica, from its start to its end: what is built in which order, and what stops it."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
import threading
import time
import uuid
from pathlib import Path

import pyarrow as pa
from pyspark.errors import StreamingQueryException

from tandem import logs
from tandem.embedded import Jars
from tandem.engine.causal import Proposer
from tandem.engine.checkpoint import find_newest
from tandem.engine.fetch import EpochFetcher
from tandem.engine.interface import EnginePosition, JobError
from tandem.engine.job import make_importable
from tandem.engine.session import build_session
from tandem.engine.spark import MicroBatchEngine
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection, OutputLimits
from tandem.kafka.errors import LostInputError
from tandem.kafka.fencing import Fencer
from tandem.kafka.history import last_marker
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics
from tandem.kafka.transactions import EpochProducer, PlainProducer, TransactionalProducer
from tandem.manifest import Manifest, config_parts
from tandem.metrics import ReplicaMetrics
from tandem.protocol.publication import Delivery, DivergedError, Publication
from tandem.protocol.silence import SilenceBound
from tandem.protocol.values import Config
from tandem.replica.divergence import first_difference
from tandem.replica.identity import agree_on_config, identity_of, starting_positions
from tandem.replica.place import find_place
from tandem.replica.progress import CatchUp
from tandem.replica.publisher import Publisher, PublisherSettings, PublisherStoppedError
from tandem.replica.rows import EpochRows
from tandem.replica.slots import Slots
from tandem.replica.standby import Standby
from tandem.replica.states import States
from tandem.replica.tables import TableWriter, table_sinks
from tandem.snapshots import Snapshotter
from tandem.topics import ensure_topics, isolation_levels, names_for, output_limits, sink_topics

_log = logs.get_logger(__name__)

START_TIMEOUT_S = 30.0
_SILENT = 5
"""A standby lets the actives be silent for so many times the least bound of a take-over: promotion is the greater step."""
_SLOWER = 3.0
"""And for so many times the slowest claim of late."""
_LONGEST_SILENCE_MS = 60_000.0
"""Before it has seen a claim: actives that start together with it take long for their first epoch."""
_SURPLUS_S = 15.0


class SteppedDownError(Exception):
    """This replica is one too many: it had better start again, as a standby."""


def new_incarnation(job: str, name: str) -> str:
    """A transactional id that no process ever had: whoever takes over knows whom to fence."""
    return f"{job}.{name}.{uuid.uuid4().hex[:8]}"


class Replica:
    """Builds the parts of a replica in `prepare` and `activate`, runs them, and takes them apart in `close`."""

    def __init__(self, manifest: Manifest, name: str, incarnation: str, metrics: ReplicaMetrics) -> None:
        self._manifest = manifest
        self._name = name
        self._incarnation = incarnation
        self._metrics = metrics
        self._delivery = Delivery(manifest.spec.delivery)
        self._connection = KafkaConnection(manifest.kafka_properties(os.environ))
        self._topics = names_for(manifest, name)
        self._folder = manifest.checkpoint_directory / incarnation
        self._engine: MicroBatchEngine | None = None
        self._publisher: Publisher | None = None
        self._failure: BaseException | None = None
        self._slots: Slots | None = None
        self._snapshotter: Snapshotter | None = None
        self._surplus_since: float | None = None

    def prepare(self) -> None:
        """Everything that takes long and can be done before there is a place for this replica. Raises what `main` calls
        refusals.

        1. Topics and the job's identity, so that a wrong set-up is refused within a second.
        2. The producer is initialised before anything is claimed under its id.
        3. The JVM, the longest; then the plan, which shows errors of the job.
        4. A few epochs to warm up.
        """
        manifest, spec = self._manifest, self._manifest.spec
        topics = Topics(self._connection)
        ensure_topics(topics, manifest, self._name)
        self._sinks = sink_topics(topics, manifest)
        limits = output_limits(topics, self._sinks)
        self._appender = ProposalAppender(self._connection, self._topics.ordering)
        mine = Config(
            0, identity_of(config_parts(manifest)), starting_positions(topics, spec.sources), self._incarnation
        )
        self._config = agree_on_config(self._connection, self._appender, self._topics.ordering, mine)
        self._producer = self._make_producer(limits)
        self._producer.start(START_TIMEOUT_S)

        scratch = self._folder / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        make_importable(spec.job, manifest.base)
        spark = build_session(manifest.name, self._name, spec.spark, Jars.resolve().spark_classpath(), scratch)
        proposer = Proposer(self._incarnation, self._appender.append)
        self._engine = MicroBatchEngine.prepare(
            spark, manifest, self._folder, self._fetcher, self._metrics.phase, proposer
        )

        checkpoints = sorted(folder / "checkpoint" for folder in self._relatives())
        recent = find_newest(checkpoints, self._newest_published().epoch)
        self._engine.warm_up(EnginePosition() if recent is None else recent.position)

    def stand_by(self, stopping: threading.Event) -> bool:
        """Wait for a slot, if the job has standbys; False if this replica is stopped before it gets one."""
        options = self._manifest.zookeeper_options(os.environ)
        spec = self._manifest.spec
        if not spec.standbys or options is None:
            return True
        self._slots = Slots(options, self._manifest.name, spec.replicas, self._incarnation)
        self._slots.start()
        self._metrics.standby.set(1)
        _log.info("standing_by")
        place = find_place(self._connection, self._config, *self._log_topics, self._newest_published())
        bound = SilenceBound(spec.take_over.min_bound.ms * _SILENT, _LONGEST_SILENCE_MS, factor=_SLOWER)
        tail = LogTail(self._connection, {self._topics.ordering: place.starts[self._topics.ordering]})
        promotion = Standby(self._slots, place.decisions, tail, bound).wait(stopping.is_set)
        if promotion is None:
            return False
        self._metrics.standby.set(0)
        self._metrics.promotions.inc()
        _log.info("promoted", because=promotion.value, slot=self._slots.slot)
        return True

    def activate(self) -> None:
        """Begin to compute: what is left to do is short.

        1. The newest state, as late as possible, so that little is to be caught up.
        2. The place in both logs; the publisher; the query.
        """
        manifest, spec = self._manifest, self._manifest.spec
        assert self._engine is not None  # noqa: S101
        checkpoints = sorted(folder / "checkpoint" for folder in self._relatives())
        states = States(manifest, self._incarnation, self._config.digest, self._folder / "checkpoint")
        position = states.restore(checkpoints, self._newest_published().epoch)
        self._snapshotter = states.snapshotter()
        place = find_place(self._connection, self._config, *self._log_topics, position)
        tables = TableWriter(manifest.name, table_sinks(manifest))
        bound = SilenceBound(spec.take_over.min_bound.ms, spec.take_over.max_bound.ms)
        self._publisher = Publisher(
            PublisherSettings(self._topics.ordering, self._topics.commits, self._sinks),
            Publication(self._incarnation, place.decisions, place.head, self._delivery, bound),
            LogTail(self._connection, place.starts),
            self._appender,
            self._producer,
            Fencer(self._connection),
            CatchUp(self._name, position.epoch),
            self._metrics,
            tables.write,
            self._on_published,
        )
        if self._snapshotter is not None:
            self._snapshotter.start()
        self._publisher.start()
        self._engine.start(position, self._on_epoch)
        self._remove_predecessors()

    def run_until(self, stopping: threading.Event) -> None:
        """Run until `stopping` is set. Raises whatever stopped the engine or the publisher."""
        assert self._engine is not None  # noqa: S101
        assert self._publisher is not None  # noqa: S101
        while not stopping.wait(0.1):
            failure = self._failure or self._publisher.failure()
            if isinstance(failure, DivergedError):
                raise self._explained(failure)
            if failure is not None and not isinstance(failure, PublisherStoppedError):
                raise failure
            failure = self._engine.failure()
            if failure is not None:
                raise classified(failure)
            self._step_down_if_surplus()

    def close(self) -> None:
        """Stop computing, then publishing; then give up the slot."""
        if self._publisher is not None:
            self._publisher.stop()
        if self._engine is not None:
            self._engine.stop()
        if self._snapshotter is not None:
            self._snapshotter.stop()
        if self._slots is not None:
            self._slots.stop()
        shutil.rmtree(self._folder / "scratch", ignore_errors=True)

    def _on_epoch(self, epoch: int, table: pa.Table) -> None:
        assert self._publisher is not None  # noqa: S101
        with self._metrics.phase("digest"):
            rows = EpochRows.of(epoch, table, ordered=self._manifest.spec.spark.parallelism == 1)
        try:
            self._publisher.computed(rows)
        except (DivergedError, PublisherStoppedError) as error:
            self._failure = self._failure or error
            self._diverged_rows = rows
            raise

    def _on_published(self, epoch: int, digest: str) -> None:
        if self._snapshotter is not None:
            self._snapshotter.offer(epoch, digest)

    def _fetcher(self, after: EnginePosition) -> EpochFetcher:
        return EpochFetcher(self._connection, self._topics.ordering, isolation_levels(self._manifest), after)

    def _make_producer(self, limits: OutputLimits) -> EpochProducer:
        if self._delivery is Delivery.EXACTLY_ONCE:
            return TransactionalProducer(self._connection, self._incarnation, limits=limits)
        return PlainProducer(self._connection, limits)

    def _explained(self, error: DivergedError) -> DivergedError:
        """The divergence with the first row that differs."""
        self._metrics.diverged.set(1)
        rows = self._publisher.rows_of(error.epoch) if self._publisher else None
        rows = rows or self._diverged_rows
        difference = first_difference(self._connection, self._sinks, rows)
        error.args = (f"{error.args[0]}; {difference}",)
        return error

    _diverged_rows: EpochRows

    def _step_down_if_surplus(self) -> None:
        """Promoted by the log's silence, or without a session for long: others hold all slots, and have for a while."""
        now = time.monotonic()
        if self._slots is None or not self._slots.is_surplus:
            self._surplus_since = None
        elif self._surplus_since is None:
            self._surplus_since = now
        elif now - self._surplus_since > _SURPLUS_S:
            raise SteppedDownError(f"others have held all slots for {_SURPLUS_S:.0f} s: this replica stands by again")

    @property
    def _log_topics(self) -> tuple[str, str]:
        return self._topics.ordering, self._topics.commits

    def _newest_published(self) -> EnginePosition:
        marker = last_marker(self._connection, self._topics.commits)
        return EnginePosition() if marker is None else EnginePosition(marker.epoch, marker.log_offset)

    def _relatives(self) -> list[Path]:
        """Folders of all other incarnations of the job's replicas on this machine."""
        root = self._manifest.checkpoint_directory
        return [folder for folder in root.iterdir() if folder.is_dir() and folder != self._folder]

    def _remove_predecessors(self) -> None:
        """Called when this replica has restored its state: nobody needs that of its earlier incarnations any more."""
        mine = self._incarnation.rpartition(".")[0]
        for folder in self._relatives():
            if folder.name.rpartition(".")[0] == mine:
                shutil.rmtree(folder, ignore_errors=True)


def classified(error: BaseException) -> BaseException:
    """Failures inside Spark that come from the user's code or from lost input are refusals, not worth a restart."""
    text = str(error)
    if "LostInputError" in text:
        return LostInputError(next(line for line in text.splitlines() if "LostInputError" in line))
    if isinstance(error, StreamingQueryException) and "PythonException" in text:
        return JobError(f"the job raised while it ran: {_python_error(text)}")
    return error


def _python_error(text: str) -> str:
    """`ValueError: text (job.py:12)`: the end of the traceback of a Python worker, and where the job's own code was."""
    lines = text.partition("Traceback (most recent call last):")[2].splitlines()[1:]
    error = next((line for line in lines if line and not line.startswith(" ")), "") or text.splitlines()[0]
    frames = [(Path(m[1]), m[2]) for line in lines if (m := re.match(r'  File "([^<].*)", line (\d+)', line))]
    libraries = Path(sysconfig.get_path("stdlib"))
    own = [f" ({p.name}:{n})" for p, n in frames if "pyspark" not in p.parts and not p.is_relative_to(libraries)]
    return error + (own[-1] if own else "")
