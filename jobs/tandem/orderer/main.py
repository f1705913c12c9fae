"""Entry point of an orderer or heartbeat generator: `python -m tandem.orderer MANIFEST --name orderer-0`."""

import math
import os
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from prometheus_client import CollectorRegistry

from tandem import logs
from tandem.coordination.election import Candidate, Election
from tandem.coordination.peers import Peers
from tandem.core.orderer import OrdererCore, OrdererSettings, OrdererState
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import decisions_after, last_marker, watermarks
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics
from tandem.kafka.watching import Troubles, look_at
from tandem.manifest import Manifest
from tandem.manifest.identity import lanes_of, parts_of
from tandem.orderer.inputs import InputWatch
from tandem.orderer.loop import Clocks, OrdererLoop, Ports
from tandem.orderer.sizes import InputSizes
from tandem.process.entry import Lifecycle, taken_apart
from tandem.process.garbage import collect_rarely
from tandem.process.info import ExitCode, RefusedError, stop_on_signals
from tandem.process.turns import take_short_turns
from tandem.protocol.decisions import Decisions
from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Config
from tandem.status.metrics import OrdererMetrics
from tandem.status.report import OrdererReport
from tandem.status.serving import LOOPBACK, Health, Probes
from tandem.topics.declared import ensure_topics, isolation_levels, names_for, partitions_read, table_topics
from tandem.waits import Waits

_log = logs.get_logger(__name__)

CLOCKS = Clocks(lambda: time.monotonic() * 1000, lambda: time.time_ns() // 1_000_000)


def main(
    manifest: Annotated[Path, typer.Argument(help="ReplicatedStreamJob, YAML")],
    name: Annotated[str, typer.Option(help="This orderer's name")] = "orderer-0",
    replica: Annotated[str, typer.Option(help="The replica it stands beside")] = "replica-0",
    lane: Annotated[int | None, typer.Option(help="Which lane, of a job with spec.lanes")] = None,
    run_directory: Annotated[Path | None, typer.Option(help="Where to announce this process")] = None,
    metrics_port: Annotated[int, typer.Option(help="0: any free port")] = 0,
    metrics_address: Annotated[str, typer.Option(help="Where metrics, health and status are served")] = LOOPBACK,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR")] = "INFO",
) -> None:
    """Run one orderer of a job until it is stopped."""
    lifecycle = Lifecycle(name, "orderer", run_directory)
    loaded = lifecycle.manifest_or_exit(manifest, lane)
    logs.configure(log_level, job=loaded.name, orderer=name)
    raise typer.Exit(run(loaded, name, replica, lifecycle, (metrics_address, metrics_port)))


def run(manifest: Manifest, name: str, replica: str, lifecycle: Lifecycle, served_at: tuple[str, int]) -> ExitCode:
    """Order until SIGTERM, SIGINT, or a failure; says why in the log."""
    started = threading.Event()
    stopping = stop_on_signals(started, lifecycle.stopped)
    registry = CollectorRegistry()
    metrics = OrdererMetrics(registry, manifest.whole, name, manifest.lane)
    health = Health(epoch_s=math.inf)  # it computes no epochs
    waits = Waits()
    metrics.watch(waits)

    built: _Built | None = None
    probes = Probes(lambda: health.is_stuck, started.is_set, lambda: _report(name, built, waits))
    with ExitStack() as serving:
        waits.start()
        serving.callback(waits.stop)
        at_work = waits.task()
        parts = ExitStack()
        try:
            port = serving.enter_context(lifecycle.announced(manifest, registry, probes, served_at))
            serving.callback(taken_apart, parts)
            built = _build(manifest, Candidate(name, replica), served_at[0], metrics, waits, parts)
            collect_rarely()
            take_short_turns()
            _log.info("started", metrics_port=port)
            started.set()
            lifecycle.came_up()
            while not stopping.is_set():
                health.beat()
                at_work.begins("a round of its loop, which should take less than a second")
                built.loop.step()
                at_work.ends()
        except Exception as error:
            return lifecycle.ended(error)
    return lifecycle.stopped()


@dataclass(frozen=True, slots=True)
class _Built:
    loop: OrdererLoop
    troubles: Troubles


def _build(
    manifest: Manifest, me: Candidate, host: str, metrics: OrdererMetrics, waits: Waits, stack: ExitStack
) -> _Built:
    spec = manifest.spec
    connection = KafkaConnection(manifest.kafka_properties(os.environ))
    starting = waits.task()
    starting.begins("Kafka: the job's topics")
    ensure_topics(Topics(connection), manifest, me.beside)
    topics = names_for(manifest, me.beside)
    decisions, start = _resume(connection, topics.ordering, topics.commits)
    _check_lanes(decisions.config, spec.lanes)
    starting.ends()
    tail = LogTail(connection, {topics.ordering: start})
    stack.callback(tail.close)
    troubles = Troubles(look_at(connection, lambda: (topics.ordering,)), metrics.refused)
    appender = ProposalAppender(
        connection,
        topics.ordering,
        lambda failure: troubles.failed("cuts", [failure]),
        lambda: troubles.over("cuts"),
    )
    troubles.poke = appender.serve
    stack.callback(appender.close)
    election = _election(manifest, me, host, metrics, waits) if spec.ordering.mode == "leader" else None
    if election is not None:
        election.start()
        stack.callback(election.stop)
    isolation = isolation_levels(manifest)
    most, most_bytes = spec.ordering.max_records_per_epoch, spec.max_bytes_per_epoch
    sizes = InputSizes(connection, isolation, most_bytes, most, table_topics(manifest))
    stack.callback(sizes.close)
    leading = (lambda: election.leading) if election is not None else (lambda: True)
    ports = Ports(
        tail, appender, InputWatch(connection, isolation, partial(partitions_read, manifest)), sizes, leading, CLOCKS
    )
    return _Built(OrdererLoop(_core(manifest, me.name, decisions), ports, metrics, waits.task()), troubles)


def _core(manifest: Manifest, name: str, decisions: Decisions) -> OrdererCore:
    ordering, bounds = manifest.spec.ordering, manifest.spec.take_over
    tick_ms = ordering.heartbeat_period.ms if ordering.mode == "heartbeat" else 5
    idle = ordering.idle_epoch_interval
    pace = Pace(
        PaceSettings(ordering.min_epoch_interval.ms, idle.ms if idle else None),
        AdaptiveTimeout(bounds.min_bound.ms, bounds.max_bound.ms),
    )
    settings = OrdererSettings(
        name,
        ordering.max_records_per_epoch,
        tick_ms,
        beats=ordering.mode == "heartbeat",
        barrier_ms=round(ordering.barrier_interval.ms),
        tables=table_topics(manifest),
    )
    return OrdererCore(settings, decisions, pace)


def _report(name: str, built: _Built | None, waits: Waits) -> OrdererReport:
    state = OrdererState() if built is None else built.loop.state
    return OrdererReport(
        name,
        state.leading,
        state.epoch,
        state.lag_records,
        () if built is None else built.loop.held,
        "" if built is None else built.troubles.words,
        waits.words,
        waits.words_beside,
    )


def _check_lanes(config: Config | None, lanes: int) -> None:
    """An orderer of another number of lanes would look at other inputs, and have the lane read them."""
    # A config says whose log it is, and of how many, only once that has changed; its digest always says of how many.
    before = 0 if config is None else config.lanes or lanes_of(parts_of(config.digest))
    if config is not None and before not in (0, lanes):
        raise RefusedError(f"the job runs with spec.lanes: {before}, by {config.proposer}, and not with {lanes}")


def _resume(connection: KafkaConnection, ordering: str, commits: str) -> tuple[Decisions, int]:
    """The decisions after the last published epoch, and where to read on in the ordering topic."""
    marker = last_marker(connection, commits)
    if marker is None:
        return Decisions(), watermarks(connection, ordering, 30.0)[0]
    return decisions_after(connection, ordering, marker), marker.log_offset + 1


def _election(manifest: Manifest, candidate: Candidate, host: str, metrics: OrdererMetrics, waits: Waits) -> Election:
    options = manifest.zookeeper_options(os.environ)
    if options is None:
        raise ValueError("ordering.mode leader needs spec.zookeeper")  # the manifest's rules see to that
    root = f"/tandem/{manifest.name}"
    has_others = manifest.spec.replicas + manifest.spec.standbys > 1
    return Election(
        options,
        f"{root}/orderers",
        candidate,
        f"{root}/slots",
        lambda _: metrics.leader_changes.inc(),
        Peers(candidate.id, host, os.environ, "orderer") if has_others else None,
        waits.task(beside=True),
    )


if __name__ == "__main__":
    typer.run(main)
