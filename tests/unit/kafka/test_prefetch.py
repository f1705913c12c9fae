"""What consumers fetch ahead has a bound, however many partitions an input has."""

from __future__ import annotations

import pytest

from tandem.kafka.prefetch import Share

MIB = 2**20


@pytest.mark.parametrize("partitions", [1, 2, 4, 5, 48, 200, 1_000])
def test_all_partitions_together_hold_no_more_than_a_few(partitions: int) -> None:
    share = Share.of(partitions)

    assert share.bytes * partitions <= max(64 * MIB, partitions * 64 * 1_024)
    assert share.records * partitions <= max(80_000, partitions * 500)
    assert share.settings["fetch.message.max.bytes"] <= max(share.bytes, 64 * 1_024)


def test_a_few_partitions_have_as_much_as_one_alone() -> None:
    assert Share.of(4) == Share.of(1) == Share.of(0) == Share(16_384, 20_000)


def test_who_reads_small_epochs_fetches_less_ahead() -> None:
    assert Share.of(1, 16_384, most_records=100) == Share(16_384, 100)
    assert Share.of(32, 16_384, most_records=20_000) == Share(512, 2_500)
