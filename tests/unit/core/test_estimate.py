"""The estimate counts by how much a replica is faster than the head moves on."""

from __future__ import annotations

import pytest

from tandem.core.lag import Estimate, Position, estimate


def test_a_replica_that_is_faster_than_the_head_arrives_when_it_has_made_up_the_difference() -> None:
    assert estimate(Position(0, 100, 300), Position(2_000, 200, 320)) == Estimate(120, 50.0, 3.0)


def test_while_nothing_is_cut_its_own_speed_is_all_that_counts() -> None:
    assert estimate(Position(0, 0, 100), Position(4_000, 20, 100)).left_s == pytest.approx(16.0)


def test_a_replica_that_comes_no_nearer_never_arrives() -> None:
    assert estimate(Position(0, 0, 100), Position(1_000, 10, 110)) == Estimate(100, 10.0, None)
    assert estimate(Position(0, 0, 100), Position(1_000, 10, 120)).left_s is None


def test_before_it_has_computed_anything_nobody_can_tell() -> None:
    assert estimate(Position(500, 0, 100), Position(500, 0, 100)) == Estimate(100)
    assert estimate(Position(0, 0, 100), Position(500, 0, 100)).left_s is None


def test_at_the_head_nothing_is_left() -> None:
    assert estimate(Position(0, 90, 100), Position(1_000, 101, 100)) == Estimate(0, left_s=0.0)
