"""What an orderer's metrics say of inputs that an open transaction holds back."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from tandem.status.metrics import OrdererMetrics
from tandem.status.report import HeldInput


def test_an_input_that_is_held_back_is_shown_with_its_offset_until_it_is_not() -> None:
    registry = CollectorRegistry()
    metrics = OrdererMetrics(registry, "flights", "orderer-0")
    labels = {"job_name": "flights", "orderer": "orderer-0", "topic": "events", "partition": "3"}

    def shown() -> list[float | None]:
        names = ("tandem_input_held_back_offset", "tandem_input_held_back_seconds")
        return [registry.get_sample_value(name, labels) for name in names]

    metrics.held((HeldInput("events", 3, 17, 4, 130.5),))
    assert shown() == [17, 130.5]
    metrics.held(())
    assert shown() == [None, None]
