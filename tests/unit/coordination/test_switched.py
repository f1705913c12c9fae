"""What a switchover reports of itself."""

from __future__ import annotations

import pytest

from tandem.coordination.handover import Published, Switched
from tandem.protocol.switchover import HandoverRequest, Stage


def switched(*published: Published) -> Switched:
    return Switched(HandoverRequest("w1", "replica-0", "job.replica-1.1a2b"), Stage.DONE, 10.0, 0.6, published)


def test_the_longest_gap_is_the_one_that_the_switchover_made() -> None:
    seen = [Published(10.1, 7, "replica-0"), Published(11.0, 8, "replica-1"), Published(11.2, 9, "replica-1")]

    assert switched(*seen).longest_gap_s == pytest.approx(0.9)
    assert (switched(*seen).last_by_leaver, switched(*seen).first_by_successor) == (7, 8)


def test_a_gap_that_began_before_the_first_epoch_was_seen_counts_from_the_beginning() -> None:
    assert switched(Published(12.5, 8, "replica-1")).longest_gap_s == pytest.approx(2.5)


def test_a_job_without_input_has_no_gap() -> None:
    assert switched().longest_gap_s is None
