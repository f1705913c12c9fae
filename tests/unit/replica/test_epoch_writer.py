"""What is written of an epoch; one that cannot be published in any time ends the replica, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry

from tandem.kafka.errors import TransactionTooSlowError
from tandem.kafka.headers import says_one_row
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.codec import decode_marker
from tandem.protocol.values import EpochRange, Marker, Offsets
from tandem.replica.epoch_writer import Author, EpochWriter
from tandem.replica.refused import RefusedRows
from tandem.replica.rows import EpochRows
from tandem.status.metrics import ReplicaMetrics
from tandem.topics.declared import SinkTopics


class SlowLink:
    """A producer whose transactions would take `needed_s`; it is also the clock."""

    def __init__(self, needed_s: float) -> None:
        self.needed_s = needed_s
        self.now_s = 0.0
        self.given: list[float] = []
        self.written: tuple[list[OutputRecord], OutputRecord] | None = None
        self.failures: list[Failure] = []

    def start(self, timeout_s: float, transaction_s: float = 0.0) -> None:
        """It needs no preparation."""

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        self.given.append(timeout_s)
        self.written = (list(records), marker)
        self.now_s += min(self.needed_s, timeout_s)
        return Outcome.COMMITTED if self.needed_s < timeout_s else Outcome.UNKNOWN

    def close(self) -> None:
        """It holds nothing."""


TABLE = pa.table({"sink": ["out"], "key": pa.array([b"k"]), "value": pa.array([b"vv"])})


def writer_of(author: Author, link: SlowLink) -> EpochWriter:
    metrics = ReplicaMetrics(CollectorRegistry(), "job", "a")
    sinks = SinkTopics({"out": "out"}, {"out": 1}, "dead", 1_000)
    return EpochWriter(author, link, RefusedRows(sinks), metrics, clock_s=lambda: link.now_s)


def published(link: SlowLink) -> None:
    """Write epoch 7, one row of three bytes, until it is published."""
    writer, rows = writer_of(Author("a", 0, "commits"), link), EpochRows.of(7, TABLE, ordered=True)
    epoch = EpochRange(7, Offsets({}), Offsets({}), 0, 0, 0)
    for _ in range(100):
        if writer.write(Publish(7, 0), rows, epoch) is Outcome.COMMITTED:
            return
    raise AssertionError(f"it would be tried for ever: {link.given}")


def test_an_epoch_that_takes_long_is_published_when_it_has_time_enough() -> None:
    link = SlowLink(needed_s=35.0)
    published(link)
    assert link.given == [10.0, 20.0, 40.0]


def test_an_epoch_that_is_too_large_for_any_transaction_ends_the_replica_with_what_to_change() -> None:
    link = SlowLink(needed_s=1_000.0)
    with pytest.raises(TransactionTooSlowError, match=r"epoch 7 \(1 records, 0\.0 MB .* 160 s.*maxRecordsPerEpoch"):
        published(link)
    assert link.given == [10.0, 20.0, 40.0, 80.0, 160.0]


@pytest.mark.parametrize("skipped", [False, True])
@pytest.mark.parametrize("one_row", [False, True])
def test_a_marker_has_every_fact_of_its_epoch(skipped: bool, one_row: bool) -> None:
    link, rows = SlowLink(needed_s=0.1), EpochRows.of(7, TABLE, ordered=True, inputs="1 of 1")
    epoch = EpochRange(7, Offsets({}), Offsets({}), 1, 2, log_offset=31, config_offset=29)

    writer_of(Author("a", 5, "commits", one_row), link).write(Publish(7, 2, skipped), rows, epoch)

    assert link.written is not None
    records, marker = link.written
    assert (len(records), marker.topic, marker.partition) == (0 if skipped else 1, "commits", 0)
    assert decode_marker(marker.value) == Marker(
        epoch=7,
        attempt=2,
        owner="a",
        digest=rows.digest,
        rows=len(records),
        log_offset=31,
        skipped=skipped,
        generation=5,
        config_offset=29,
        inputs="1 of 1",
    )
    assert says_one_row(marker.headers) is one_row
