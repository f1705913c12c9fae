"""A switchover: the successor takes the slot only at the head, who was relieved leaves, and nothing else ever changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.protocol.switchover import (
    HandoverRequest,
    Holder,
    Role,
    Stage,
    SwitchoverRefusedError,
    View,
    decode_holder,
    decode_request,
    encode,
    is_summoned,
    leading_orderer,
    may_take_free_slot,
    must_end,
    plan_drain,
    plan_leaving,
    plan_promotion,
    replica_name,
    slot_to_take_over,
    stage_of,
    successor_holder_of,
)

OLD, NEW, THIRD = "air.replica-0.aa", "air.replica-1.bb", "air.replica-2.cc"
STEADY = View({0: Holder(OLD)}, {OLD: Role.READY, NEW: Role.STANDBY})
PROMOTE = HandoverRequest("w1", "replica-0", NEW)
DRAIN = replace(PROMOTE, drains=True)
REQUESTED = replace(STEADY, request=PROMOTE)
RELIEVED = replace(REQUESTED, holders={0: Holder(NEW, OLD)})


def test_an_incarnation_names_its_replica_also_in_a_job_with_dots() -> None:
    assert replica_name("flights.of.today.replica-0.1a2b") == "replica-0"


# What a replica does --------------------------------------------------------------------------------------------------


def test_the_successor_is_summoned_and_nobody_else() -> None:
    assert is_summoned(REQUESTED, NEW)
    assert not is_summoned(REQUESTED, OLD)
    assert not is_summoned(REQUESTED, THIRD)


def test_nobody_is_summoned_in_place_of_a_replica_that_has_no_slot_any_more() -> None:
    assert not is_summoned(replace(REQUESTED, holders={}), NEW)


@pytest.mark.parametrize("role", [Role.STANDBY, Role.CATCHING_UP])
def test_a_successor_that_is_not_at_the_head_takes_nothing(role: Role) -> None:
    assert slot_to_take_over(REQUESTED, NEW, role) is None


def test_a_successor_at_the_head_takes_the_slot_of_who_leaves() -> None:
    two = replace(REQUESTED, holders={0: Holder(THIRD), 1: Holder(OLD)})

    assert slot_to_take_over(two, NEW, Role.READY) == 1


def test_without_a_request_a_surplus_takes_nothing() -> None:
    assert slot_to_take_over(STEADY, NEW, Role.READY) is None


def test_a_successor_that_has_got_a_slot_otherwise_takes_no_second_one() -> None:
    lucky = replace(REQUESTED, holders={0: Holder(OLD), 1: Holder(NEW)})

    assert slot_to_take_over(lucky, NEW, Role.READY) is None


def test_who_was_relieved_knows_it_also_when_the_request_is_gone() -> None:
    over = replace(RELIEVED, request=None)

    assert successor_holder_of(over, OLD) == Holder(NEW, OLD)
    assert successor_holder_of(over, NEW) is None
    assert not may_take_free_slot(over, OLD, Role.READY, 1)


def test_a_free_slot_is_first_for_who_computes_without_one() -> None:
    surplus = View({}, {NEW: Role.READY, THIRD: Role.STANDBY})

    assert may_take_free_slot(surplus, NEW, Role.READY, 1)
    assert not may_take_free_slot(surplus, THIRD, Role.STANDBY, 1)
    assert may_take_free_slot(surplus, THIRD, Role.STANDBY, 2), "one for each"
    assert may_take_free_slot(surplus, THIRD, Role.STANDBY, 1, {NEW}), "it has ended"
    assert may_take_free_slot(STEADY, NEW, Role.STANDBY, 1), "who computes has a slot"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(RELIEVED, roles={OLD: Role.READY, NEW: Role.READY, THIRD: Role.STANDBY}), id="relieved"),
        pytest.param(View({}, {OLD: Role.READY, THIRD: Role.STANDBY}, DRAIN), id="drained"),
        pytest.param(
            replace(REQUESTED, roles={OLD: Role.READY, NEW: Role.READY, THIRD: Role.STANDBY}), id="has a request's slot"
        ),
    ],
)
def test_a_free_slot_is_a_standbys_if_who_computes_without_one_wants_none(other: View) -> None:
    assert may_take_free_slot(other, THIRD, Role.STANDBY, 1)


def test_an_active_that_loses_its_slot_to_nobodys_request_is_not_relieved() -> None:
    assert successor_holder_of(replace(STEADY, holders={0: Holder(NEW)}), OLD) is None


def test_an_active_that_is_drained_goes_on_until_it_is_relieved() -> None:
    requested = replace(STEADY, request=DRAIN)
    relieved = replace(requested, holders={0: Holder(NEW, OLD, drained=True)})

    assert not must_end(requested, OLD, Role.READY)
    assert must_end(relieved, OLD, Role.READY)
    assert not must_end(RELIEVED, OLD, Role.READY), "a switchover is no drain: it stands by again"


def test_a_standby_that_is_drained_ends_at_once_and_takes_no_slot_on_the_way() -> None:
    requested = replace(STEADY, request=HandoverRequest("w2", "replica-1", drains=True))

    assert must_end(requested, NEW, Role.STANDBY)
    assert not may_take_free_slot(requested, NEW, Role.STANDBY, 1)
    assert not must_end(requested, OLD, Role.READY)


def test_a_drain_by_force_ends_an_active_without_a_successor() -> None:
    assert must_end(replace(STEADY, request=HandoverRequest("w2", "replica-0", drains=True)), OLD, Role.READY)


# What is requested -------------------------------------------------------------------------------------------------------


def test_a_promotion_names_the_standby_and_the_active() -> None:
    assert plan_promotion(STEADY, None, None, "w1") == PROMOTE
    assert plan_promotion(STEADY, "replica-1", "replica-0", "w1") == PROMOTE


def test_a_standby_that_has_proved_its_state_is_preferred_whatever_takes_place() -> None:
    two = replace(STEADY, roles={**STEADY.roles, THIRD: Role.PROVED})

    assert two.standbys() == (THIRD, NEW)
    assert plan_promotion(two, None, None, "w1").successor == THIRD
    assert plan_drain(two, "replica-0", False, "w1").successor == THIRD
    leaving = plan_leaving(two, OLD, "w1")
    assert leaving is not None
    assert leaving.successor == THIRD
    assert plan_promotion(two, "replica-1", None, "w1").successor == NEW, "who is named is promoted, proved or not"


def test_a_standby_that_has_proved_its_state_stands_by_in_every_other_way() -> None:
    proved = replace(STEADY, roles={OLD: Role.READY, NEW: Role.PROVED})

    assert plan_drain(proved, "replica-1", False, "w1") == HandoverRequest("w1", "replica-1", drains=True)
    assert must_end(replace(proved, request=HandoverRequest("w1", "replica-1", drains=True)), NEW, Role.PROVED)
    assert slot_to_take_over(REQUESTED, NEW, Role.PROVED) is None
    assert stage_of(replace(proved, request=PROMOTE), PROMOTE, [OLD]) is Stage.SUMMONED


@pytest.mark.parametrize(
    ("view", "replica", "instead_of", "message"),
    [
        (STEADY, "replica-9", None, "there is no replica replica-9 that is up; there are: replica-0, replica-1"),
        (STEADY, "replica-0", None, "replica-0 is active already; standing by: replica-1"),
        (STEADY, None, "replica-1", "replica-1 is not active; active: replica-0"),
        (replace(STEADY, roles={OLD: Role.READY}), None, None, "no replica stands by"),
        (replace(STEADY, roles={OLD: Role.READY, NEW: Role.CATCHING_UP}), "replica-1", None, "it catches up"),
        (replace(STEADY, holders={}), None, None, "no replica holds a slot"),
        (REQUESTED, None, None, "replica-0 is being switched over to replica-1"),
    ],
)
def test_a_promotion_that_cannot_be_says_why(
    view: View, replica: str | None, instead_of: str | None, message: str
) -> None:
    with pytest.raises(SwitchoverRefusedError, match=message):
        plan_promotion(view, replica, instead_of, "w1")


def test_an_active_is_drained_to_a_standby_and_a_standby_to_nobody() -> None:
    assert plan_drain(STEADY, "replica-0", False, "w1") == DRAIN
    assert plan_drain(STEADY, "replica-1", False, "w1") == HandoverRequest("w1", "replica-1", drains=True)
    assert plan_drain(STEADY, "replica-0", False, "w1", to_nobody=True) == HandoverRequest(
        "w1", "replica-0", drains=True
    )


def test_an_active_without_a_standby_is_drained_only_by_force() -> None:
    alone = replace(STEADY, roles={OLD: Role.READY})

    with pytest.raises(SwitchoverRefusedError, match="no replica stands by to take over from it"):
        plan_drain(alone, "replica-0", False, "w1")
    assert plan_drain(alone, "replica-0", True, "w1") == HandoverRequest("w1", "replica-0", drains=True)


def test_an_active_that_stops_leaves_its_slot_to_a_standby_if_there_is_one() -> None:
    assert plan_leaving(STEADY, OLD, "w1") == HandoverRequest("w1", "replica-0", NEW)
    assert plan_leaving(replace(STEADY, roles={OLD: Role.READY}), OLD, "w1") is None
    assert plan_leaving(STEADY, NEW, "w1") is None
    assert plan_leaving(REQUESTED, OLD, "w2") is None


# How far it is --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "stage"),
    [
        (REQUESTED, Stage.SUMMONED),
        (replace(REQUESTED, roles={OLD: Role.READY, NEW: Role.CATCHING_UP}), Stage.CATCHING_UP),
        (replace(REQUESTED, roles={OLD: Role.READY, NEW: Role.READY}), Stage.READY),
        (RELIEVED, Stage.RELIEVED),
        (replace(RELIEVED, roles={NEW: Role.READY}), Stage.DONE),
        (replace(RELIEVED, roles={NEW: Role.READY, "air.replica-0.dd": Role.STANDBY}), Stage.DONE),
        (replace(REQUESTED, roles={OLD: Role.READY}), Stage.SUCCESSOR_GONE),
        (replace(REQUESTED, holders={}), Stage.LEAVER_GONE),
        (replace(REQUESTED, holders={0: Holder(NEW)}), Stage.RELIEVED),
        (replace(REQUESTED, holders={0: Holder(NEW)}, roles={NEW: Role.READY}), Stage.DONE),
    ],
)
def test_each_stage_is_seen_in_zookeeper_alone(view: View, stage: Stage) -> None:
    assert stage_of(view, PROMOTE, [OLD]) is stage


def test_a_drain_without_a_successor_is_done_when_the_replica_has_gone() -> None:
    alone = HandoverRequest("w1", "replica-0", drains=True)

    assert stage_of(STEADY, alone, [OLD]) is Stage.SUMMONED
    assert stage_of(replace(STEADY, roles={NEW: Role.STANDBY}), alone, [OLD]) is Stage.DONE


# Who leads ------------------------------------------------------------------------------------------------------------


def test_the_first_orderer_beside_an_active_replica_leads() -> None:
    nodes = [("n1", "replica-0"), ("n2", "replica-1"), ("n3", "replica-2")]

    assert leading_orderer(nodes, {"replica-1", "replica-2"}) == "n2"
    assert leading_orderer(nodes, set()) == "n1"
    assert leading_orderer(nodes, {"replica-7"}) == "n1"
    assert leading_orderer([], {"replica-0"}) is None


# As bytes -------------------------------------------------------------------------------------------------------------


def test_requestes_and_holders_come_back_as_they_were() -> None:
    assert decode_request(encode(DRAIN)) == DRAIN
    assert decode_holder(encode(Holder(NEW, OLD, drained=True))) == Holder(NEW, OLD, drained=True)


def test_what_is_not_understood_requestes_nothing_and_holds_under_its_own_name() -> None:
    assert decode_request(b"{}") is None
    assert decode_request(b"\xff") is None
    assert decode_holder(b"air.replica-0.aa") == Holder("air.replica-0.aa")
