"""The page of all metrics, made from their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry

from tandem.status.metrics import OrdererMetrics, ReplicaMetrics
from tandem.status.reported import ReportedState
from tandem_operator.metrics import OperatorMetrics

_HEAD: Final = """\
# Metrics

Made from the definitions by `PYTHONPATH=operator python -m reference_pages`. Names follow Prometheus' conventions:
base units, `_total` for counters. A histogram has the series `_bucket`, `_sum` and `_count`. How to scrape them:
[Monitor](../how-to/monitor.md).
"""
_PROCESSES: Final[dict[str, Callable[[CollectorRegistry], object]]] = {
    "Replica": lambda registry: ReplicaMetrics(registry, "job", "replica-0"),
    "Orderer and heartbeat generator": lambda registry: OrdererMetrics(registry, "job", "orderer-0"),
    "Operator": OperatorMetrics,
}


def metrics() -> str:
    """The page, in Markdown."""
    return "\n".join((_HEAD, *(_section(name, make) for name, make in _PROCESSES.items())))


def _section(name: str, make: Callable[[CollectorRegistry], object]) -> str:
    registry = CollectorRegistry()
    make(registry)
    rows = sorted(_rows(registry))
    return "\n".join((f"## {name}", "", "| metric | type | labels | meaning |", "|---|---|---|---|", *rows, ""))


def _rows(registry: CollectorRegistry) -> Iterator[str]:
    collectors: list[Any] = list(dict.fromkeys(registry._collector_to_names))
    for collector in collectors:
        is_state = isinstance(collector, ReportedState)
        labels = ", ".join(f"`{label}`" for label in (collector.labels if is_state else collector._labelnames))
        for family in collector.collect() if is_state else collector.describe():
            name = family.name + ("_total" if family.type == "counter" else "")
            yield f"| `{name}` | {family.type} | {labels} | {_cell(family.documentation)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
