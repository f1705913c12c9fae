"""A stopped job goes on with another number of lanes: `tandem run JOB --accept-changes`, after spec.lanes was changed.

Everything is checked before anything is written; then the states are divided and kept as savepoints; then all logs are
written in one transaction. Before that is committed, the job is what it was, and the change may be tried again.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pyspark.sql import SparkSession

from tandem.checkpoint.position import EnginePosition
from tandem.coordination.presence import replicas_up
from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.kafka.topic_ids import ids_of
from tandem.kafka.topics import Topics
from tandem.local.changes import found_plan
from tandem.local.lane_checks import check_changeable, check_same, is_changed
from tandem.local.lane_keys import chosen_keys, partitioners_of
from tandem.local.lane_logs import LaneLog, LaneLogs, connection_of, log_of
from tandem.local.lane_states import (
    REAL_TIME,
    NewState,
    States,
    exact_state,
    keep,
    make_state,
    newest_snapshot,
    remove_unused,
    savepoint_name,
    stored_state,
)
from tandem.local.lane_times import check_times, unread
from tandem.manifest import Manifest, config_parts, find_code
from tandem.manifest.identity import parts_of
from tandem.process.info import RefusedError
from tandem.protocol.lanes import Boundary, MovedLane, only_merges, positions
from tandem.protocol.values import Config, Offsets
from tandem.replica.identity_parts import (
    engine_of,
    identity_of,
    plan_of,
    with_number_of_lanes,
    with_plan,
)
from tandem.replica.lanes_before import with_lanes
from tandem.snapshots.savepoints import state_partitions
from tandem.state import state_session
from tandem.topics.declared import partitions_read, sink_topics
from tandem.waiting import Deadline

Say = Callable[[str], None]
_GONE_S = 20.0


def change_lanes(job: Manifest, before: int, folder: Path, say: Say) -> None:
    """Let the stopped `job` (the whole, with its new spec.lanes) go on from what its `before` lanes have published.

    `folder` : for temporary files. `say`: called with each step, in a line.

    Raises `RefusedError`, and nothing has changed then; `StateError`, `SnapshotError`, `TandemKafkaError`, `KafkaException`,
    `OSError`.
    """
    _Change(job, before, folder, say).run()


def check_lane_change(job: Manifest, before: int, folder: Path, say: Say) -> None:
    """Raise as `change_lanes` would, as far as that can be found while the job runs: nothing is fenced, nothing written.

    The states have to be in the job's snapshot store, as they are where the change is made on another machine. The newest
    ones are looked into.
    """
    _Change(job, before, folder, say).check()


class _Change:
    def __init__(self, job: Manifest, before: int, folder: Path, say: Say) -> None:
        self._job, self._before, self._folder, self._say = job, before, folder, say
        self._old, self._new = with_lanes(job, before).lanes, job.lanes
        self._connection = connection_of(job)
        self._topics = Topics(self._connection)

    def check(self) -> None:
        self._check_manifest()
        logs = [log_of(lane, self._connection) for lane in self._old]
        self._check_logs(logs)
        with ExitStack() as stack:
            self._check_states(logs, stack)
        self._say(f"checked: the {_lanes(self._before)} of {self._job.name} can become {_lanes(self._job.spec.lanes)}")

    def _check_states(self, logs: list[LaneLog], stack: ExitStack) -> None:
        """Those of the newest snapshots, which are older than what the lanes will have stopped at."""
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lanes-", dir=self._folder)))
        scratch = work / "scratch"
        scratch.mkdir()
        lanes, count = {n: log.lane for n, log in enumerate(logs) if log.published >= 0}, self._job.spec.lanes
        snapshots = {number: newest_snapshot(lane, logs[number]) for number, lane in lanes.items()}
        kept = {number: one for number, one in snapshots.items() if one is not None and state_partitions(one)}
        if not kept:
            return
        if not only_merges(count, self._before):  # before what takes Spark
            partitioners_of(self._job, self._connection, _ends(logs), self._inputs())
        found = {number: stored_state(lanes[number], one, work / str(number)) for number, one in kept.items()}
        states = States({n: state for n, state in found.items() if state is not None}, count, self._before)
        spark = stack.enter_context(state_session(self._job, scratch))
        chosen_keys(spark, self._job, states, self._connection, _ends(logs), self._inputs(), are_of_ends=False)

    def _check_logs(self, logs: list[LaneLog]) -> None:
        count = self._job.spec.lanes
        if any(is_changed(log.config, count) for log in logs):  # decided, and not by this try
            raise ConnectionError(f"the logs are those of {_lanes(count)} by now: another try has written them")
        plan = found_plan(self._job, new_lanes=self._before == 1)
        for log in logs:
            check_same(log.lane, log.config, plan, self._before)
        if all(log.published < 0 for log in logs):
            raise RefusedError(
                f"{self._job.name} has published nothing yet, so there is nothing to divide: give it another metadata.name"
            )

    def _check_manifest(self) -> None:
        inputs = self._inputs()
        check_changeable(self._job, self._before, inputs)
        for lane in self._new:
            partitions_read(lane, inputs)
            sink_topics(self._topics, lane, {})

    def run(self) -> None:
        self._check_manifest()
        check_stopped(self._job, self._old)
        newest = self._topics.ends(self._inputs())
        writer = LaneLogs(self._connection, f"{self._job.name}.lanes")
        logs = [writer.read(lane) for lane in self._old]
        self._check_logs(logs)
        with ExitStack() as stack:
            left = {number: unread(log.ends, newest) for number, log in enumerate(logs)}
            self._divide(writer, logs, _ends(logs), left, stack)

    def _divide(
        self, writer: LaneLogs, logs: list[LaneLog], ends: Offsets, left: Mapping[int, int], stack: ExitStack
    ) -> None:
        """`left` : how many records each lane has to read."""
        lanes, count = self._new, self._job.spec.lanes
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lanes-", dir=self._folder)))
        scratch = work / "scratch"
        scratch.mkdir()
        found = [exact_state(log, work / "before" / str(number)) for number, log in enumerate(logs)]
        states = States({n: state for n, state in enumerate(found) if state is not None}, count, self._before)
        keeps_state = any(any(state.folder.glob("state/*/_metadata")) for state in states.all)
        if keeps_state and engine_of(parts_of(logs[0].config.digest)):
            raise RefusedError(REAL_TIME)
        if keeps_state:
            check_times(states, left)
        spark = stack.enter_context(state_session(self._job, scratch)) if keeps_state else None
        divided = None if spark is None else self._chosen(spark, states, ends)
        self._say(f"checked: the {_lanes(self._before)} of {self._job.name} can become {_lanes(count)}")
        known = {lane.name: writer.make(lane) for lane in lanes}
        boundary = Boundary.behind([*(log.decisions for log in logs), *known.values()])
        moved = self._moved(logs, "" if divided is None else savepoint_name(count, boundary), ends)
        at = {lane.name: writer.end(lane) for lane in lanes} | {log.lane.name: log.end for log in logs}
        for lane, one in moved:
            if one.lane is None or divided is None:
                continue
            config = known[lane.name].config
            remove_unused(lane, "" if config is None else config.savepoint)
            target, cut = work / "after" / str(one.lane), at[lane.name] + 1
            divided(one.lane, target, EnginePosition(boundary.epoch, cut))
            new = NewState(lane, target, one.start)
            keep(new, one.savepoint, boundary, one.config(boundary, "").lineage, cut)
            self._say(f"{lane.name}: its state is kept as savepoint {one.savepoint}")
        now_ms = max(time.time_ns() // 1_000_000, *(log.time_ms for log in logs))  # times of epochs never go back
        writer.write(moved, at, boundary, now_ms, self._say)
        self._say(
            f"generation {boundary.generation} begins with {_lanes(count)}, behind all that was published; its first epoch "
            f"is {boundary.epoch + 1:,}"
        )

    def _chosen(
        self, spark: SparkSession, states: States, ends: Offsets
    ) -> Callable[[int, Path, EnginePosition], None]:
        """What makes the state of a new lane in a folder, which stands at a position. Raises `RefusedError`."""
        choose = chosen_keys(spark, self._job, states, self._connection, ends, self._inputs())

        def divided(lane: int, target: Path, after: EnginePosition) -> None:
            make_state(spark, states, lane, target, after, None if choose is None else choose(lane))

        return divided

    def _moved(self, logs: list[LaneLog], savepoint: str, ends: Offsets) -> list[tuple[Manifest, MovedLane]]:
        """How each log goes on: those of the new lanes first, then those that end."""
        count, known = self._job.spec.lanes, logs[0].config
        inputs = self._inputs()
        found: list[tuple[Manifest, MovedLane]] = []
        for number, lane in enumerate(self._new):
            ids = ids_of(self._topics, [*inputs, lane.model.topics.commits])
            start = positions(number, count, [ends], inputs)
            identity = _identity(lane, known)
            found.append((lane, MovedLane(number, count, identity, start, ids, savepoint, known.barriers)))
        ended = [log for log in logs if log.lane.name not in {lane.name for lane in self._new}]
        return [
            *found,
            *(
                (log.lane, MovedLane(None, count, with_number_of_lanes(log.config.digest, count), Offsets()))
                for log in ended
            ),
        ]

    def _inputs(self) -> Mapping[str, int]:
        """The topics of the sources, with their numbers of partitions."""
        return self._topics.partitions([topic for source in self._job.spec.sources for topic in source.topics])


def check_stopped(job: Manifest, lanes: Sequence[Manifest]) -> None:
    """Raise `RefusedError` if ZooKeeper knows a replica of any of `lanes`, `ConnectionError` if it does not answer."""
    options = job.zookeeper_options(os.environ)
    for lane in lanes if options is not None else ():
        assert options is not None  # noqa: S101
        try:
            up = replicas_up(options, lane.name, Deadline(_GONE_S))
        except ZOOKEEPER_ERRORS as error:
            raise ConnectionError(
                f"ZooKeeper at {options['hosts']} does not say whether {lane.name} still runs ({error!r}). Nothing has "
                "changed. See whether its servers run, and can be reached from here"
            ) from error
        if up:
            raise RefusedError(
                f"{', '.join(up)} of {lane.name} still run, on this machine or another: stop the job first"
            )


def _identity(lane: Manifest, before: Config) -> str:
    """That of a new lane: its own, with the plan, which is the same."""
    return with_plan(identity_of(config_parts(lane, find_code(lane).content)), plan_of(before.digest))


def _ends(logs: list[LaneLog]) -> Offsets:
    """Where the lanes before stand together."""
    return Offsets((tp, offset) for log in logs for tp, offset in log.ends.items())


def _lanes(count: int) -> str:
    return f"{count} lane{'' if count == 1 else 's'}"
