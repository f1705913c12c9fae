"""All that the bench measures: the jobs of `bench.jobs`, and the workloads of the literature. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from bench import jobs
from bench.analysis import Faults, faults_of_count, faults_of_identity, faults_of_rows
from bench.definition import Job, Make, Sent, Workload
from bench.literature import OF_THE_LITERATURE
from bench.nexmark import short
from bench.nexmark.draws import Numbers
from bench.records import (
    KEYS,
    WINDOW_EVENTS,
    Arrivals,
    encode,
    first_keys,
    input_partition,
    item,
    key_bytes,
    keys,
    views,
)

_JOINS = "Spark's real-time mode does not join streams"
_CAUSAL = "only Tandem has causal services"
_ALONE = "a lane cannot compute alone what is not grouped by the record's key"


def numbered(body: Callable[[int], str] = lambda _number: "") -> Callable[[int], Make]:
    """Records with a random key, their number, their time of creation, and `body` of their number."""

    def of(seed: int) -> Make:
        drawn = keys(seed)

        def make(number: int, created_ns: int) -> Sent:
            key = next(drawn)
            return Sent(key_bytes(key), encode(number, created_ns, body(number)), input_partition(key))

        return make

    return of


def job_of(name: str) -> Job:
    """The job of a workload, or one of `bench.jobs` that is no workload of its own."""
    return WORKLOADS[name].job if name in WORKLOADS else _job(name)


def _job(name: str) -> Job:
    return Job(getattr(jobs, name), updates=name in jobs.STATEFUL)


def _copies(arrivals: Arrivals, _seed: int, sent: int) -> Faults:
    return faults_of_identity(arrivals, sent)


def _counts(arrivals: Arrivals, seed: int, sent: int) -> Faults:
    return faults_of_count(arrivals, first_keys(seed, sent))


def _counts_of_windows(arrivals: Arrivals, seed: int, sent: int) -> Faults:
    windows = np.arange(sent) // WINDOW_EVENTS
    return faults_of_count(arrivals, windows * KEYS + first_keys(seed, sent))


def _sold(name: str, rows: Callable[[int], Numbers]) -> Workload:
    return Workload(
        _job(name),
        numbered(short.body),
        lambda arrivals, _seed, sent: faults_of_rows(arrivals, rows(sent)),
        copies=False,
        no_real_time=_JOINS,
        no_lanes=_ALONE,
    )


_OWN = {
    "identity": Workload(_job("identity"), numbered(), _copies),
    "filter": Workload(
        _job("filter"),
        numbered(item),
        lambda arrivals, _seed, sent: faults_of_rows(arrivals, views(sent)),
        copies=False,
    ),
    "count": Workload(_job("count"), numbered(), _counts, copies=False),
    "timed": Workload(_job("timed"), numbered(), _copies, no_peers=_CAUSAL),
    "asked": Workload(_job("asked"), numbered(), _copies, no_peers=_CAUSAL),
    "fixwindow": Workload(_job("fixwindow"), numbered(), _counts_of_windows, copies=False, no_lanes=_ALONE),
    "q3": _sold("q3", short.rows_of_q3),
    "q8": _sold("q8", short.rows_of_q8),
}
WORKLOADS: Mapping[str, Workload] = {**_OWN, **OF_THE_LITERATURE}
"""By name. Only Tandem runs those with `no_peers`; they are only measured if they are named."""
