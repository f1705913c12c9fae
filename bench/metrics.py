"""The metrics of Tandem's processes, as far as the bench needs them."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True, slots=True)
class Sample:
    """Metrics at one moment: values by name, and of each phase of an epoch its total seconds and how often it ran."""

    values: Mapping[str, float] = field(default_factory=dict)
    phase_sums: Mapping[str, float] = field(default_factory=dict)
    phase_counts: Mapping[str, float] = field(default_factory=dict)

    def get(self, name: str) -> float:
        """0 if there is none."""
        return self.values.get(name, 0.0)


def parse(text: str) -> Sample:
    """Read Prometheus' text format."""
    values: dict[str, float] = {}
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "tandem_phase_seconds_sum":
                sums[sample.labels["phase"]] = sample.value
            elif sample.name == "tandem_phase_seconds_count":
                counts[sample.labels["phase"]] = sample.value
            elif "le" not in sample.labels:
                values[sample.name] = sample.value
    return Sample(values, sums, counts)


def scrape(port: int) -> Sample | None:
    """None if nobody answers within 1 s."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1.0)
    try:
        connection.request("GET", "/metrics")
        return parse(connection.getresponse().read().decode())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def epochs_between(before: Sample, after: Sample) -> float:
    """How many epochs were computed."""
    return after.get("tandem_epoch") - before.get("tandem_epoch")


def phases_between(before: Sample, after: Sample) -> dict[str, float]:
    """Mean ms that each phase took per epoch computed (not per call: a replica publishes only some of the epochs)."""
    epochs = max(1.0, epochs_between(before, after))
    spent = {name: after.phase_sums[name] - before.phase_sums.get(name, 0.0) for name in after.phase_sums}
    return {name: round(1_000 * seconds / epochs, 2) for name, seconds in spent.items()}
