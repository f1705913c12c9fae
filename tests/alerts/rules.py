"""The chart's alerts, and the metrics that Tandem's processes have: for whoever checks the one against the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from ruamel.yaml import YAML

from tandem.status.metrics import OrdererMetrics, ReplicaMetrics
from tandem.status.reported import ReportedState
from tandem_operator.metrics import OperatorMetrics

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "helm" / "tandem" / "alerts"
TESTS = Path(__file__).parent

_SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
_METRIC = re.compile(r"\btandem_[a-z_]+\b")


def alert_files() -> list[Path]:
    """One file per alert."""
    return sorted(ALERTS.glob("*.yaml"))


def read(path: Path) -> dict[str, Any]:
    """A YAML file with a mapping in it."""
    content: dict[str, Any] = YAML(typ="safe").load(path.read_text())
    return content


def assemble(folder: Path, with_annotations: bool) -> Path:
    """Write all alerts into one file of rules in `folder`, as the chart does. `promtool check rules` takes it.

    Without annotations they are what the tests beside this file expect: `promtool test rules` compares every annotation.
    """
    rules = [read(path) for path in alert_files()]
    if not with_annotations:
        rules = [{key: value for key, value in rule.items() if key != "annotations"} for rule in rules]
    target = folder / "tandem.rules.yaml"
    with target.open("w") as file:
        YAML(typ="safe").dump({"groups": [{"name": "tandem", "rules": rules}]}, file)
    return target


def metrics() -> Mapping[str, frozenset[str]]:
    """Every metric of an orderer, a replica and the operator, by the name that a query uses, with its labels."""
    registry = CollectorRegistry()
    OrdererMetrics(registry, "job", "orderer-0")
    ReplicaMetrics(registry, "job", "replica-0")
    OperatorMetrics(registry)
    return dict(_names(registry))


def used_in(expression: str) -> set[str]:
    """The metrics that a PromQL expression asks for."""
    return set(_METRIC.findall(expression))


def _names(registry: CollectorRegistry) -> Iterator[tuple[str, frozenset[str]]]:
    collectors: list[Any] = list(registry._collector_to_names)
    for collector in collectors:
        reported = isinstance(collector, ReportedState)
        labels = frozenset(collector.labels if reported else collector._labelnames)
        for family in collector.collect() if reported else collector.describe():
            for suffix in _SUFFIXES[family.type]:
                yield family.name + suffix, labels | ({"le"} if suffix == "_bucket" else frozenset())
