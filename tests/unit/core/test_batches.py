"""What a plan asks of the log and of a replica, under either engine."""

from __future__ import annotations

import pytest

from tandem.core.batches import Batches
from tandem.core.catch_up import REAL_TIME, Near
from tandem.core.giving import GivingSettings
from tandem.protocol.barriers import OwnBarriers

WATERMARK = Batches(real_time=True, stateful=True, watermark=True)
KEYED = Batches(real_time=True, stateful=True)
STATELESS = Batches(real_time=True)


def test_micro_batches_ask_for_nothing() -> None:
    for batches in (Batches(), Batches(stateful=True, watermark=True)):
        assert not batches.needs_common
        assert batches.giving(5_000, 1, 2) == GivingSettings()
        assert batches.near == Near()
        assert batches.apart_ms(5_000) == 0


def test_a_watermark_needs_the_log_s_barriers_and_has_no_own_ones() -> None:
    assert WATERMARK.needs_common
    assert WATERMARK.giving(5_000, 1, 2).barriers is None


def test_state_without_a_watermark_has_barriers_of_the_replica_s_own() -> None:
    assert not KEYED.needs_common
    assert KEYED.giving(5_000, 1, 2).barriers == OwnBarriers(5_000, 1, 2)


def test_without_state_there_are_none() -> None:
    assert not STATELESS.needs_common
    assert not Batches(real_time=True, watermark=True).needs_common, "a watermark without state moves nothing"
    assert STATELESS.giving(5_000, 1, 2).barriers is None


@pytest.mark.parametrize("batches", [WATERMARK, KEYED, STATELESS])
def test_short_epochs_are_given_by_their_records_and_judged_by_their_time(batches: Batches) -> None:
    assert batches.giving(5_000, 0, 2).most_records > 0
    assert batches.near == REAL_TIME
    assert batches.apart_ms(5_000) == 5_000
