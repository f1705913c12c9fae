"""Without ordering, tables that were written under the job's name: by an older Tandem, or by a single replica of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tandem.logs import get_logger
from tandem.replica.earlier_runs import newest_epoch
from tandem.replica.tables import TableSink

_log = get_logger(__name__)


def of_the_job(sink: TableSink) -> TableSink:
    """The table of a replica's sink as the job's: without the replica's partition, and under the job's name.

    >>> of_the_job(TableSink("a", "parquet", "/t/replica=r-0", replica="r-0")).path
    '/t'
    """
    return replace(sink, path=sink.path.removesuffix(f"/replica={sink.replica}"), replica="") if sink.replica else sink


def warn_of_old_names(job: str, sinks: Sequence[TableSink]) -> None:
    """Report tables with epochs under the job's name, which replicas that write under their own do not look at."""
    for sink in sinks:
        if sink.replica and (newest := newest_epoch(of_the_job(sink), job)) >= 0:
            _log.warning(
                "written_under_the_jobs_name",
                sink=sink.name,
                table=of_the_job(sink).path,
                newest=newest,
                effect=f"{sink.replica} writes under its own name from now on: epochs that are there, and that it had not "
                "published, it writes once more. What other replicas wrote there, they may have replaced or left out",
            )
