"""Entry point of a replica: `python -m tandem.replica MANIFEST --name replica-0`."""

import os
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from prometheus_client import CollectorRegistry

from tandem import logs
from tandem.core.active_role import DrainedError, SteppedDownError
from tandem.engine.jvm.errors import JarsError, JavaMissingError
from tandem.engine.memory import memory_limit, too_small
from tandem.engine.refused_settings import PackagesError
from tandem.engine.users_code import line_of_thread
from tandem.jobapi.errors import JobError
from tandem.kafka.errors import LostInputError, RecreatedTopicError
from tandem.manifest import CodeNotFoundError, Manifest
from tandem.manifest.notes import notes
from tandem.process.ending import EndKind, Kinds
from tandem.process.entry import REFUSALS, Lifecycle, taken_apart
from tandem.process.garbage import collect_rarely
from tandem.process.info import ExitCode, RefusedError, kept_handlers, stop_on_signals
from tandem.process.turns import take_short_turns
from tandem.protocol.publication import DivergedError, MissingMarkerError, SupersededError
from tandem.protocol.succession import SuccessionError
from tandem.replica.active import Active
from tandem.replica.identity import Changes, OtherJobError, OtherSchemasError, UnlikeError
from tandem.replica.prepared import Prepared
from tandem.replica.setting import Setting, new_incarnation
from tandem.replica.tables import TableError
from tandem.replica.warm import Warm, warm_up
from tandem.snapshots import SnapshotStoreError
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter
from tandem.status.serving import LOOPBACK, Probes
from tandem.topics.declared import own_topics
from tandem.topics.watch import TopicWatch
from tandem.waits import Waits

_log = logs.get_logger(__name__)

KINDS: Kinds = {
    **REFUSALS,
    **dict.fromkeys(
        (CodeNotFoundError, JavaMissingError, JarsError, RefusedError, MissingMarkerError, TableError), EndKind.REFUSED
    ),
    LostInputError: EndKind.LOST_INPUT,
    RecreatedTopicError: EndKind.REFUSED,
    OtherJobError: EndKind.OTHER_JOB,
    JobError: EndKind.CHANGED,
    PackagesError: EndKind.UNREACHABLE,
    SnapshotStoreError: EndKind.UNREACHABLE,
    UnlikeError: EndKind.CHANGED,
    DivergedError: EndKind.DIVERGED,
    SupersededError: EndKind.SUPERSEDED,
    SuccessionError: EndKind.TOO_LATE,
    OtherSchemasError: EndKind.TOO_LATE,
    DrainedError: EndKind.DRAINED,
    SteppedDownError: EndKind.STEPPED_DOWN,
}
"""How a replica ends by its errors; all others are failures."""


def main(
    manifest: Annotated[Path, typer.Argument(help="ReplicatedStreamJob, YAML")],
    name: Annotated[str, typer.Option(help="This replica's name")] = "replica-0",
    lane: Annotated[int | None, typer.Option(help="Which lane, of a job with spec.lanes")] = None,
    run_directory: Annotated[Path | None, typer.Option(help="Where to announce this process")] = None,
    savepoint: Annotated[str, typer.Option(help="Upgrade the job: begin its next generation from this savepoint")] = "",
    accept_changes: Annotated[
        bool,
        typer.Option(
            help="Begin the job's next generation if it has changed; with --generation also if only its plan has"
        ),
    ] = False,
    generation: Annotated[int | None, typer.Option(help="Begin this generation, and no later one")] = None,
    metrics_port: Annotated[int | None, typer.Option(help="Instead of the manifest's; 0: any free port")] = None,
    metrics_address: Annotated[str, typer.Option(help="Where metrics, health and status are served")] = LOOPBACK,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR")] = "INFO",
) -> None:
    """Run one replica of a job until it is stopped."""
    lifecycle = Lifecycle(name, "replica", run_directory)
    loaded = lifecycle.manifest_or_exit(manifest, lane)
    logs.configure(log_level, job=loaded.name, replica=name)
    port = loaded.spec.metrics.port if metrics_port is None else metrics_port
    changes = Changes(accept_changes, generation)
    _leave(run(loaded, name, lifecycle, (metrics_address, port), savepoint, changes))


def run(
    manifest: Manifest,
    name: str,
    lifecycle: Lifecycle,
    served_at: tuple[str, int],
    savepoint: str = "",
    changes: Changes = Changes(),  # noqa: B008
) -> ExitCode:
    """Run the replica `name` until SIGTERM, SIGINT, or a failure; says why in the log."""
    started = threading.Event()
    stopping = stop_on_signals(started, lifecycle.stopped)
    with ExitStack() as serving:
        parts = ExitStack()
        try:
            setting = _setting(manifest, name, lifecycle, served_at, serving)
            serving.callback(taken_apart, parts)
            serving.callback(setting.reporter.ends)
            with kept_handlers():
                prepared = Prepared.of(setting, savepoint, changes, parts)
                warm_up(prepared)
            collect_rarely()
            take_short_turns()
            _watch_topics(setting, serving)
            _log.info("prepared", incarnation=setting.incarnation, metrics_port=lifecycle.metrics_port)
            started.set()
            warm = Warm.of(prepared, parts)
            if warm.stand_by(stopping, lifecycle.came_up):
                active = Active.of(warm, parts)
                lifecycle.came_up()
                _log.info("started")
                active.run_until(stopping)
        except Exception as error:
            return lifecycle.ended(error, KINDS)
    return lifecycle.stopped()


def _setting(
    manifest: Manifest, name: str, lifecycle: Lifecycle, served_at: tuple[str, int], serving: ExitStack
) -> Setting:
    """A replica that says how it stands, and has done nothing yet."""
    for note in notes(manifest):
        _log.warning("noted", reason=str(note))
    small = too_small(manifest.spec.spark.driver_memory, memory_limit())
    if small:
        _log.warning("memory_limit", reason=small)
    registry = CollectorRegistry()
    metrics = ReplicaMetrics(registry, manifest.whole, name, manifest.lane)
    reporter = Reporter(name, new_incarnation(manifest.name, name))
    metrics.reported = reporter.report
    probes = Probes(lambda: reporter.health.is_stuck, lambda: reporter.is_ready, reporter.report)
    serving.enter_context(lifecycle.announced(manifest, registry, probes, served_at, reporter.incarnation))
    waits = reporter.waits = Waits(line_of=line_of_thread)
    metrics.watch(waits)
    waits.start()
    serving.callback(waits.stop)
    return Setting.of(manifest, name, metrics, reporter, served_at[0])


def _watch_topics(setting: Setting, serving: ExitStack) -> None:
    watch = TopicWatch(setting.clients.connection, own_topics(setting.manifest, setting.name), setting.reporter.drifted)
    serving.callback(watch.stop)
    watch.start()


def _leave(code: ExitCode) -> NoReturn:
    """End now: librdkafka's and py4j's threads must not hold a replica back that has to be restarted."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    typer.run(main)
