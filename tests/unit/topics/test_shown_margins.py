"""The margin of a topic is shown as it is: one that was given no limit, as the warning asks for, is thin no more."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from tandem.checkpoint.position import EnginePosition
from tandem.kafka.client import KafkaConnection
from tandem.protocol.retention import Limits, Margin
from tandem.protocol.values import TopicPartition
from tandem.status.metrics import ReplicaMetrics
from tandem.topics.declared import LogTopics
from tandem.topics.retention import RetentionWatch, Watched

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
THIN = Margin(TopicPartition("orders", 0), 60.0, 500)


class Watch(RetentionWatch):
    """Of a topic whose settings the test chooses; nobody says where it ends."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        metrics = ReplicaMetrics(self.registry, "orders", "replica-0")
        watched = Watched(LogTopics("ordering", "commits"), frozenset({"orders"}))
        super().__init__(NOWHERE, watched, lambda _: EnginePosition(), metrics)
        self.settings: dict[str, Limits] = {}

    def _limits(self) -> dict[str, Limits]:
        return self.settings

    def _starts(self, _topics: frozenset[str]) -> dict[TopicPartition, int]:
        return {}

    @property
    def shown(self) -> tuple[float | None, float | None]:
        labels = {"job_name": "orders", "replica": "replica-0", "topic": "orders"}
        names = ("tandem_retention_margin_seconds", "tandem_retention_margin_records")
        seconds, records = (self.registry.get_sample_value(name, labels) for name in names)
        return seconds, records


def test_a_topic_that_keeps_all_from_now_on_has_no_limit() -> None:
    watch = Watch()
    watch._tell([THIN])
    assert watch.shown == (60.0, 500.0)
    watch.settings = {"orders": Limits()}
    watch._tell(watch.look())
    assert watch.shown == (float("inf"), float("inf"))


def test_one_whose_settings_cannot_be_seen_just_now_is_shown_as_it_was() -> None:
    watch = Watch()
    watch._tell([THIN])
    watch._tell(watch.look())
    assert watch.shown == (60.0, 500.0)
