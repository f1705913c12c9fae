"""What the consumer does with a login by tokens, and with records that it cannot read; the broker is librdkafka's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message

from tandem.consumer import EpochConsumer, client

TESTS = str(Path(__file__).parents[2])
SCRIPT = """
import json, sys
from confluent_kafka import Producer, TopicPartition
from integration.odd_headers import produce
from tandem.consumer import EpochConsumer, client

warnings = []
client._log.warning = lambda event, **what: warnings.append(what)
cluster = Producer({"test.mock.num.brokers": 1})
broker = next(iter(cluster.list_topics(timeout=10).brokers.values()))
bootstrap = f"{broker.host}:{broker.port}"
for name in (b"plain", b"caf\\xe9", b"caf\\xe9"):
    produce(bootstrap, "out", name)
places = cluster.list_topics("out", timeout=10).topics["out"].partitions
found = []
with EpochConsumer({"bootstrap.servers": bootstrap, "group.id": "g"}) as consumer:
    consumer.assign([TopicPartition("out", place, 0) for place in places])
    while len(found) < 3:
        message = consumer.poll(10)
        assert message is not None and message.error() is None, message
        found.append([message.partition(), message.offset(), [[n for n, _ in message.headers()] for _ in range(2)]])
json.dump({"found": found, "warnings": warnings}, sys.stdout)
"""


def test_a_record_whose_header_has_no_readable_name_comes_without_headers_and_is_named_once_a_partition() -> None:
    path = os.pathsep.join(filter(None, [TESTS, *sys.path]))
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    said = json.loads(done.stdout)
    assert sorted(headers for _, _, headers in said["found"]) == [[[], []], [[], []], [["plain"], ["plain"]]]
    odd = [(partition, offset) for partition, offset, headers in said["found"] if headers == [[], []]]
    first = {partition: min(o for p, o in odd if p == partition) for partition, _ in odd}
    assert {(one["partition"], one["offset"]) for one in said["warnings"]} == set(first.items())
    assert len(said["warnings"]) == len(first)
    assert {one["topic"] for one in said["warnings"]} == {"out"}


class Empty:
    """A reader of a partition without records; `settings`: of the one made last."""

    settings: dict[str, Any]

    def __init__(self, settings: dict[str, Any]) -> None:
        Empty.settings = settings

    def assign(self, _partitions: object) -> None:
        """Nothing to do."""

    def consume(self, _count: int, _timeout_s: float) -> list[Message]:
        return [Message(topic="out", partition=0, offset=0, error=KafkaError(KafkaError._PARTITION_EOF))]

    def close(self) -> None:
        """Nothing to do."""


def test_who_reads_back_logs_in_as_the_consumer_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def token(_config: str) -> tuple[str, float]:
        return "token", 1e10

    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "group.id": "g",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "oauth_cb": token,
        "error_cb": lambda _error: None,
        "log_level": 0,
    }
    with EpochConsumer(config) as consumer:
        monkeypatch.setattr(client, "Consumer", Empty)
        consumer._before("out", 0, 5)

    assert Empty.settings["oauth_cb"] is token
    assert "error_cb" not in Empty.settings
