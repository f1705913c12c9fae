"""What a process serves, read into values: its report says how it stands, its metrics count what happened."""

from __future__ import annotations

import http.client
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from prometheus_client.parser import text_string_to_metric_families

from tandem.status.report import ReplicaReport, Report, decode

_FURTHER = frozenset({"le", "phase", "topic", "source"})
_SOURCE = {
    "tandem_source_records_total": "records",
    "tandem_source_dead_letters_total": "letters",
    "tandem_source_unread": "unread",
}
_LATENCY = "tandem_publish_latency_seconds_bucket"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cumulative counts: (upper bound, how many values were at most that), in ascending order, the last bound infinite."""

    buckets: tuple[tuple[float, float], ...] = ()

    @property
    def count(self) -> float:
        """How many values there were."""
        return self.buckets[-1][1] if self.buckets else 0.0

    def since(self, earlier: Histogram) -> Histogram:
        """What was added after `earlier`."""
        before = dict(earlier.buckets)
        return Histogram(tuple((bound, count - before.get(bound, 0.0)) for bound, count in self.buckets))

    def quantile(self, q: float) -> float | None:
        """As Prometheus' `histogram_quantile`: linear inside a bucket; None without values."""
        rank = q * self.count
        if self.count <= 0:
            return None
        for (low, below), (high, upto) in pairwise(((0.0, 0.0), *self.buckets)):
            if upto >= rank and upto > below:
                return low if math.isinf(high) else low + (high - low) * (rank - below) / (upto - below)
        return None


@dataclass(slots=True)
class SourceSample:
    """Of a source since a process began: its records, those that are dead letters, and whether most of late are."""

    records: float = 0.0
    letters: float = 0.0
    unread: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A process at one moment: metrics, name → value, of those without further labels; the publish latency; its report.

    `sources` : of a replica, what became of each source's records.
    `report` : None of one that does not answer in time.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    latency: Histogram = field(default_factory=Histogram)
    sources: Mapping[str, SourceSample] = field(default_factory=dict)
    report: Report | None = None

    @property
    def trouble(self) -> str:
        """What Kafka does not take from it, or why it could replace nobody, in the words of its report."""
        unfit = self.report.unfitness if isinstance(self.report, ReplicaReport) else ""
        return unfit if self.report is None else self.report.trouble or unfit

    @property
    def waits(self) -> tuple[str, ...]:
        """What it has been waiting for, in the words of its report."""
        return () if self.report is None else tuple(filter(None, (self.report.waits_for, self.report.waits_beside)))

    def count(self, name: str) -> int:
        """The value of a metric as a whole number, 0 if there is none."""
        return int(self.values.get(name, 0))


def parse(text: str) -> Sample:
    """Read Prometheus' text format. Raises `ValueError` if it is none."""
    values: dict[str, float] = {}
    buckets: list[tuple[float, float]] = []
    sources: dict[str, SourceSample] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == _LATENCY:
                buckets.append((float(sample.labels["le"]), sample.value))
            elif sample.name in _SOURCE:
                source = sources.setdefault(sample.labels["source"], SourceSample())
                setattr(source, _SOURCE[sample.name], sample.value)
            elif not _FURTHER & sample.labels.keys():
                values[sample.name] = sample.value
    return Sample(values, Histogram(tuple(sorted(buckets))), sources)


def scrape(port: int, timeout_s: float = 0.5) -> Sample | None:
    """What is behind a port of this machine; None if it does not answer in time (a paused process never does)."""
    try:
        content = _get(port, "/metrics", timeout_s)
        sample = None if content is None else parse(content.decode())
    except ValueError:
        return None
    return None if sample is None else replace(sample, report=_report(port, timeout_s))


def _report(port: int, timeout_s: float) -> Report | None:
    try:
        content = _get(port, "/status", timeout_s)
        return None if content is None else decode(content)
    except ValueError:
        return None


def _get(port: int, path: str, timeout_s: float) -> bytes | None:
    if not port:
        return None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)  # never through a proxy
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
