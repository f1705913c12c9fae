"""What a generation may not change, in words."""

from __future__ import annotations

import pytest

from tandem.process import RefusedError
from tandem.protocol.values import Config, Positions, TopicPartition
from tandem.replica.identity import check_upgrade, identity_of


def config(*topics: str, delivery: str = "exactlyOnce", partitions: int = 1) -> Config:
    start = Positions({TopicPartition(topic, p): 0 for topic in topics for p in range(partitions)})
    return Config(0, identity_of({"code": topics[0], "delivery": delivery}), start, "replica-0")


def test_a_generation_may_have_other_code_and_find_more_partitions() -> None:
    check_upgrade(config("orders", partitions=3), config("orders"))


def test_a_generation_reads_the_same_topics() -> None:
    with pytest.raises(RefusedError, match=r"other inputs than the job: new is refunds, missing is orders\. Give"):
        check_upgrade(config("refunds"), config("orders"))


def test_a_generation_publishes_in_the_same_way() -> None:
    with pytest.raises(RefusedError, match=r"cannot change spec\.delivery"):
        check_upgrade(config("orders", delivery="atLeastOnce"), config("orders"))
