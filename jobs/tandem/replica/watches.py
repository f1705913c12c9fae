"""What an active replica looks at now and then: what may change beside the job."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial

from tandem.replica.failure import FirstFailure
from tandem.replica.partitioning import PartitionedSources, PartitioningWatch
from tandem.replica.prepared import Prepared
from tandem.snapshots import StoredTables
from tandem.topics.periodic_check import PeriodicCheck, SameInputs
from tandem.topics.retention import RetentionWatch, Watched


def watch(prepared: Prepared, failure: FirstFailure, stack: ExitStack) -> None:
    """Look now and then at what may change beside the job."""
    setting, connection = prepared.setting, prepared.setting.clients.connection
    watched = Watched(setting.clients.logs, frozenset(setting.clients.inputs))
    task = setting.waits.task(beside=True)
    retention = RetentionWatch(connection, watched, prepared.states.oldest, setting.metrics, task=task)
    inputs = SameInputs(connection, prepared.topic_ids, failure.put)
    sinks = PeriodicCheck("sinks", prepared.output.refused.look)
    watches: list[RetentionWatch | PeriodicCheck] = [retention, inputs, sinks]
    if prepared.states.tables is not None and prepared.engine.job.tables:
        watches.append(PeriodicCheck("tables", partial(_store_tables, prepared, prepared.states.tables)))
    job, lane = prepared.engine.job, setting.manifest.lane
    if lane == 0 and job.relied_on:  # one lane looks at all of them
        sources = PartitionedSources(connection, job.intake, job.relied_on, setting.spec.lanes)
        watches.append(PartitioningWatch(sources, setting.metrics, setting.reporter))
    for one in watches:
        stack.callback(one.stop)
        one.start()


def _store_tables(prepared: Prepared, stored: StoredTables) -> None:
    """Copies of static tables are in the snapshot store, too, once the log has accepted the generation that reads them."""
    if not prepared.setting.reporter.candidate:
        versions = [*prepared.engine.job.tables.values()]
        stored.keep(prepared.copies, versions)
        stored.remove(versions, int(time.time() * 1000))
