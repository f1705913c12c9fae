"""That a replica has diverged is said in any case; which row differs, where that can be found out."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.replica import divergence
from tandem.replica.divergence import difference_of
from tandem.replica.rows import EpochRows
from tandem.topics.declared import SinkTopics

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
SINKS = SinkTopics({}, {}, "orders.dead", 1_000_000, "orders")
MINE = EpochRows.of(7, pa.table({"value": [b"x"]}), ordered=True)


def test_kafka_that_is_away_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unanswered(*_: object) -> str:
        raise ReadTimeoutError("no answer on the offsets of out within 10.0 s")

    monkeypatch.setattr(divergence, "first_difference", unanswered)
    said = difference_of(NOWHERE, SINKS, MINE)
    assert said == "which row differs could not be found out: no answer on the offsets of out within 10.0 s"


def test_rows_that_are_gone_are_not_looked_for() -> None:
    assert difference_of(NOWHERE, SINKS, None) == "its rows are not here any more"
