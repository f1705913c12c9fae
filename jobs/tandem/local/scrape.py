"""The metrics endpoint of a process, read into values."""

from __future__ import annotations

import http.client
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from prometheus_client.parser import text_string_to_metric_families

from tandem.report import Report, decode

_FURTHER = frozenset({"le", "phase", "topic", "source"})
_SOURCE = {
    "tandem_source_records_total": "records",
    "tandem_source_dead_letters_total": "letters",
    "tandem_source_unread": "unread",
}
_HELD_OFFSET, _HELD_SECONDS = "tandem_input_held_back_offset", "tandem_input_held_back_seconds"
_SAYS_MORE = tuple(
    f"tandem_{who}_{what}"
    for who in ("replica", "orderer")
    for what in ("refused_by_kafka", "waits_seconds", "waits_beside_seconds")
)
"""While one of them is not 0, the process' report has words for it."""
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
    """The metrics of a process at one moment: name → value, of those without further labels, and the publish latency.

    `held` : of an orderer, (topic, partition) → (offset, seconds) where an open transaction holds back an input.
    `sources` : of a replica, what became of each source's records.
    `trouble` : what Kafka does not take from it, in the words of its report; `waits`: what it has been waiting for.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    latency: Histogram = field(default_factory=Histogram)
    held: Mapping[tuple[str, int], tuple[int, float]] = field(default_factory=dict)
    sources: Mapping[str, SourceSample] = field(default_factory=dict)
    trouble: str = ""
    waits: tuple[str, ...] = ()

    def get(self, name: str) -> float | None:
        """The value of a metric; None if the process has none of that name."""
        return self.values.get(name)

    def count(self, name: str) -> int:
        """The value of a metric as a whole number, 0 if there is none."""
        return int(self.values.get(name, 0))

    def epoch(self, name: str) -> int:
        """The value of a gauge that holds an epoch; −1 if there is no such epoch, or no such metric."""
        return int(self.values.get(name, -1))


def parse(text: str) -> Sample:
    """Read Prometheus' text format. Raises `ValueError` if it is none."""
    values: dict[str, float] = {}
    buckets: list[tuple[float, float]] = []
    held: dict[str, dict[tuple[str, int], float]] = {_HELD_OFFSET: {}, _HELD_SECONDS: {}}
    sources: dict[str, SourceSample] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == _LATENCY:
                buckets.append((float(sample.labels["le"]), sample.value))
            elif sample.name in held:
                held[sample.name][sample.labels["topic"], int(sample.labels["partition"])] = sample.value
            elif sample.name in _SOURCE:
                source = sources.setdefault(sample.labels["source"], SourceSample())
                setattr(source, _SOURCE[sample.name], sample.value)
            elif not _FURTHER & sample.labels.keys():
                values[sample.name] = sample.value
    since = held[_HELD_SECONDS]
    both = {tp: (int(offset), since[tp]) for tp, offset in sorted(held[_HELD_OFFSET].items()) if tp in since}
    return Sample(values, Histogram(tuple(sorted(buckets))), both, sources)


def scrape(port: int, timeout_s: float = 0.5) -> Sample | None:
    """The metrics behind a port of this machine; None if it does not answer in time (a paused process never does)."""
    try:
        content = _get(port, "/metrics", timeout_s)
        sample = None if content is None else parse(content.decode())
    except ValueError:
        return None
    if sample is not None and any(map(sample.count, _SAYS_MORE)) and (report := _report(port, timeout_s)) is not None:
        waits = tuple(filter(None, (report.waits_for, report.waits_beside)))
        sample = replace(sample, trouble=report.trouble, waits=waits)
    return sample


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
