"""What the operator tells Prometheus about itself and about the jobs that it looks after."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tandem_operator.actions import Verb

PHASES = ("Pending", "Starting", "Running", "Degraded", "Suspended", "Upgrading", "Failed", "Deleting")
RESULTS = ("success", "failure")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_JOB = ("namespace", "job_name", "lane")

Result = Literal["success", "failure"]


@dataclass(frozen=True, slots=True)
class JobGauges:
    """What is shown of a job after a pass.

    `phase` : as in its status.
    `wanted` : active replicas that its spec asks for; 0 while it is suspended or deleted.
    `active`, `standby` : members that are.
    `conditions` : type → whether it is true; one that is unknown is left out.
    `of` : the whole job and the lane, of a job that is a lane: the metrics of its processes have the same labels.
    """

    phase: str
    wanted: int
    active: int
    standby: int
    conditions: Mapping[str, bool] = field(default_factory=dict)
    of: tuple[str, str] | None = None

    def labels(self, namespace: str, job: str) -> tuple[str, str, str]:
        """Those of the job's metrics."""
        return (namespace, job, "") if self.of is None else (namespace, *self.of)


class OperatorMetrics:
    """The operator's metrics. Used by one thread, but for `asked`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._passes = Counter(
            "tandem_operator_reconcile_total", "Passes over jobs, by result", ("result",), registry=registry
        )
        self.seconds = Histogram(
            "tandem_operator_reconcile_seconds", "Duration of a pass over a job", registry=registry, buckets=_SECONDS
        )
        self._jobs = Gauge("tandem_operator_jobs", "Jobs, by phase", ("phase",), registry=registry)
        self._replicas = Gauge(
            "tandem_operator_job_replicas",
            "Active replicas that a job wants, and members that are active or stand by",
            (*_JOB, "state"),
            registry=registry,
        )
        self._condition = Gauge(
            "tandem_operator_condition",
            "1 if a job's condition is true, 0 if it is false; none while it is unknown",
            (*_JOB, "type"),
            registry=registry,
        )
        self._requests = Counter(
            "tandem_operator_api_requests_total",
            "Requests of passes to the API server, by what they are for; watches are not counted",
            ("verb",),
            registry=registry,
        )
        self._closed = Gauge(
            "tandem_operator_namespace_closed",
            "1 if the operator may not see the jobs and pods of a namespace that it is to look after, or there is no such "
            "namespace, 0 otherwise; empty: all namespaces",
            ("namespace",),
            registry=registry,
        )
        self.queue_depth = Gauge("tandem_operator_queue_depth", "Jobs that wait for a pass", registry=registry)
        self._shown: dict[tuple[str, str], JobGauges] = {}
        for result in RESULTS:
            self._passes.labels(result)
        for verb in get_args(Verb):
            self._requests.labels(verb)
        self._count_phases()

    def reconciled(self, result: Result) -> None:
        """A pass over a job ended; `seconds` times it."""
        self._passes.labels(result).inc()

    def asked(self, verb: Verb) -> None:
        """The API server is asked for something; safe in any thread."""
        self._requests.labels(verb).inc()

    def closed(self, namespace: str, is_closed: bool) -> None:
        """Whether the operator is kept out of a namespace that it is to look after; "": of all."""
        self._closed.labels(namespace).set(is_closed)

    def show(self, namespace: str, job: str, now: JobGauges) -> None:
        """What a job looks like now."""
        before, labels = self._shown.get((namespace, job)), now.labels(namespace, job)
        for unknown in (before.conditions.keys() - now.conditions.keys()) if before else ():
            self._condition.remove(*labels, unknown)
        for condition, holds in now.conditions.items():
            self._condition.labels(*labels, condition).set(holds)
        for state, count in (("wanted", now.wanted), ("active", now.active), ("standby", now.standby)):
            self._replicas.labels(*labels, state).set(count)
        self._shown[namespace, job] = now
        self._count_phases()

    def forget(self, namespace: str, job: str) -> None:
        """The job is gone, or was never shown."""
        gone = self._shown.pop((namespace, job), None)
        if gone is None:
            return
        labels = gone.labels(namespace, job)
        for condition in gone.conditions:
            self._condition.remove(*labels, condition)
        for state in ("wanted", "active", "standby"):
            self._replicas.remove(*labels, state)
        self._count_phases()

    def _count_phases(self) -> None:
        count = Tally(shown.phase for shown in self._shown.values())
        for phase in {*PHASES, *count}:
            self._jobs.labels(phase).set(count[phase])
