"""What Kafka says of a topic's retention, as limits."""

from __future__ import annotations

from tandem.protocol.retention import Limits
from tandem.topics.retention import limits_of


def test_minus_one_is_no_limit() -> None:
    assert limits_of({"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}).keeps_all


def test_limits_count_where_old_records_are_deleted() -> None:
    settings = {"retention.ms": "1000", "retention.bytes": "2000"}

    assert limits_of({"cleanup.policy": "delete", **settings}) == Limits(1_000, 2_000)
    assert limits_of({"cleanup.policy": "compact", **settings}) == Limits(compacted=True)
    assert limits_of({"cleanup.policy": "compact,delete", **settings}) == Limits(1_000, 2_000, compacted=True)


def test_settings_that_we_may_not_see_are_no_limits() -> None:
    assert limits_of({}).keeps_all
