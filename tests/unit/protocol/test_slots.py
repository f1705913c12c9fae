"""Slots: whose they are, which are free, who is one too many."""

from __future__ import annotations

import pytest

from tandem.protocol.membership import SettlingWatch, SurplusWatch, free_slots, held_by


def test_a_slot_is_mine_when_its_node_names_me() -> None:
    assert held_by(b"me", [(0, b"other"), (2, b"me")]) == 2
    assert held_by(b"me", [(0, b"other")]) is None


def test_nodes_are_looked_at_no_further_than_needed() -> None:
    def nodes():
        yield 0, b"me"
        raise AssertionError("the node of slot 1 was looked at")

    assert held_by(b"me", nodes()) == 0


def test_free_are_the_slots_that_nobody_holds() -> None:
    assert free_slots(3, {1}) == [0, 2]
    assert free_slots(2, {0, 1, 7}) == []


def test_an_active_steps_down_once_others_have_held_all_slots_for_a_while() -> None:
    watch = SurplusWatch(limit_ms=100.0)
    assert not watch.must_step_down(True, 0.0)
    assert not watch.must_step_down(True, 100.0)
    assert watch.must_step_down(True, 101.0)


def test_a_slot_that_is_free_for_a_moment_lets_an_active_stay() -> None:
    watch = SurplusWatch(limit_ms=100.0)
    watch.must_step_down(True, 0.0)
    watch.must_step_down(False, 90.0)
    assert not watch.must_step_down(True, 150.0)
    assert not watch.must_step_down(True, 250.0)
    assert watch.must_step_down(True, 251.0)


def test_a_successor_is_settled_once_it_has_kept_up_for_long_enough() -> None:
    watch = SettlingWatch(settled_ms=100.0)
    assert not watch.is_settled(ready=False, keeps_up=True, now_ms=0.0)
    assert not watch.is_settled(ready=True, keeps_up=True, now_ms=500.0)
    assert not watch.is_settled(ready=True, keeps_up=True, now_ms=599.0)
    assert watch.is_settled(ready=True, keeps_up=True, now_ms=600.0)


@pytest.mark.parametrize(("ready", "keeps_up"), [(False, True), (True, False)])
def test_a_successor_that_falls_behind_has_to_settle_again(ready: bool, keeps_up: bool) -> None:
    watch = SettlingWatch(settled_ms=100.0)
    assert not watch.is_settled(ready=True, keeps_up=True, now_ms=0.0)
    assert not watch.is_settled(ready, keeps_up, now_ms=90.0)
    assert not watch.is_settled(ready=True, keeps_up=True, now_ms=120.0)
    assert not watch.is_settled(ready=True, keeps_up=True, now_ms=219.0)
    assert watch.is_settled(ready=True, keeps_up=True, now_ms=220.0)


def test_a_successor_that_never_keeps_up_is_not_waited_for_for_ever() -> None:
    watch = SettlingWatch(settled_ms=100.0)
    assert not any(watch.is_settled(ready=True, keeps_up=now % 50 == 0, now_ms=now) for now in range(0, 300, 10))
    assert watch.is_settled(ready=True, keeps_up=False, now_ms=300.0)
