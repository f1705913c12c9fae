"""Switchovers in a real ZooKeeper: the slot changes hands in one step, and only when the successor is at the head."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from integration.waiting import eventually
from tandem.coordination.election import Candidate, Election
from tandem.coordination.handover import Requester
from tandem.coordination.slots import Slots
from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.devservers import ZooKeeperServer
from tandem.protocol.switchover import (
    HandoverRequest,
    Role,
    Stage,
    SwitchoverRefusedError,
    View,
    plan_drain,
    plan_promotion,
)

pytestmark = pytest.mark.integration


def options(server: ZooKeeperServer) -> dict[str, Any]:
    return {"hosts": server.connect, "timeout": 10.0}


class Pair:
    """An active replica at the head and a standby, as far as ZooKeeper is concerned."""

    def __init__(self, server: ZooKeeperServer, job: str, stack: ExitStack) -> None:
        self.job, self._server, self._stack = job, server, stack
        self.active = self.replica(0)
        assert eventually(lambda: self.active.slot == 0)
        self.active.tell(Role.READY)
        self.standby = self.replica(1)
        self.requester = stack.enter_context(Requester.connected(options(server), job))
        assert eventually(lambda: [*self.roles().values()] == [Role.READY, Role.STANDBY])

    def replica(self, index: int) -> Slots:
        slots = Slots(options(self._server), self.job, 1, f"{self.job}.replica-{index}.{'abc'[index] * 8}")
        slots.start()
        self._stack.callback(slots.stop)
        return slots

    def roles(self) -> dict[str, Role]:
        try:
            return dict(sorted(self.requester.look().roles.items()))
        except (SwitchoverRefusedError, *ZOOKEEPER_ERRORS):  # there is nobody yet, or it did not answer within a second
            return {}

    def promote(self) -> tuple[HandoverRequest, View]:
        before = self.requester.look()
        request = plan_promotion(before, None, None, "w1")
        self.requester.request(request)
        assert eventually(lambda: self.standby.is_summoned)
        return request, before


@contextmanager
def pair(server: ZooKeeperServer, job: str) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(server, job, stack)


def test_the_slot_changes_hands_when_the_successor_is_at_the_head_and_not_before(
    zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    with pair(zookeeper, topic_prefix) as two:
        request, before = two.promote()
        two.standby.tell(Role.CATCHING_UP)
        assert eventually(lambda: Role.CATCHING_UP in two.roles().values())
        assert (two.active.slot, two.standby.slot, two.standby.is_surplus) == (0, None, False)

        two.standby.tell(Role.READY)
        assert eventually(lambda: two.standby.slot == 0 and two.active.successor_holder is not None)
        assert two.active.slot is None

        two.active.stop()
        assert two.requester.follow(request, before, 5.0, lambda _: None) is Stage.DONE


def test_a_successor_that_dies_on_the_way_leaves_the_active_in_its_place(
    zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    with pair(zookeeper, topic_prefix) as two:
        request, before = two.promote()
        two.standby.stop()

        assert two.requester.follow(request, before, 10.0, lambda _: None) is Stage.SUCCESSOR_GONE
        assert (two.active.slot, two.active.successor_holder, two.active.must_end) == (0, None, False)


def test_a_request_is_void_when_its_requester_is_gone(zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with pair(zookeeper, topic_prefix) as two:
        with Requester.connected(options(zookeeper), two.job) as other:
            other.request(plan_promotion(other.look(), None, None, "w2"))
            assert eventually(lambda: two.standby.is_summoned)
            with pytest.raises(SwitchoverRefusedError, match="is being switched over to replica-1"):
                plan_promotion(two.requester.look(), None, None, "w3")
            with pytest.raises(SwitchoverRefusedError, match="another switchover has just begun"):
                two.requester.request(HandoverRequest("w3", "replica-0"))

        assert eventually(lambda: not two.standby.is_summoned and two.standby.is_surplus)
        two.standby.tell(Role.READY)
        assert eventually(lambda: Role.STANDBY not in two.roles().values())
        assert (two.active.slot, two.standby.slot) == (0, None)


def test_an_active_that_is_told_to_stop_finds_its_own_successor(zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with pair(zookeeper, topic_prefix) as two:
        two.active.leave()
        assert eventually(lambda: two.standby.is_summoned)
        two.standby.tell(Role.READY)

        assert eventually(lambda: two.standby.slot == 0 and two.active.successor_holder is not None)


def test_who_is_to_stop_does_not_wait_for_a_standby_that_is_gone(zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with pair(zookeeper, topic_prefix) as two:
        two.active.leave()
        assert eventually(lambda: two.standby.is_summoned)
        assert two.active.can_hand_over
        two.standby.stop()

        assert eventually(lambda: not two.active.can_hand_over)


def test_of_two_standbys_only_the_named_one_gets_the_slot(zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with pair(zookeeper, topic_prefix) as two:
        third = two.replica(2)
        assert eventually(lambda: len(two.roles()) == 3)
        two.requester.request(plan_promotion(two.requester.look(), "replica-2", "replica-0", "w1"))
        assert eventually(lambda: third.is_summoned)
        third.tell(Role.READY)

        assert eventually(lambda: third.slot == 0 and two.active.successor_holder is not None)
        assert (two.standby.slot, two.standby.is_summoned) == (None, False)


def test_a_drained_standby_ends_and_the_active_does_not(zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with pair(zookeeper, topic_prefix) as two:
        two.requester.request(plan_drain(two.requester.look(), "replica-1", False, "w1"))

        assert eventually(lambda: two.standby.must_end)
        assert not two.active.must_end


def test_the_orderer_beside_the_active_replica_leads_and_leadership_follows_the_slot(
    zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    folder = f"/tandem/{topic_prefix}"
    with pair(zookeeper, topic_prefix) as two, ExitStack() as stack:
        elections = []
        for index in (1, 0):  # the one beside the standby comes first
            election = Election(
                options(zookeeper),
                f"{folder}/orderers",
                Candidate(f"orderer-{index}", f"replica-{index}"),
                f"{folder}/slots",
            )
            stack.callback(election.stop)
            election.start()
            elections.append(election)
            assert eventually(lambda: any(found.leading for found in elections))
        beside_standby, beside_active = elections
        assert eventually(lambda: beside_active.leading and not beside_standby.leading)

        two.promote()
        two.standby.tell(Role.READY)
        assert eventually(lambda: beside_standby.leading and not beside_active.leading)


def test_while_zookeeper_is_away_a_switchover_is_refused_and_nothing_changes(
    own_zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    with pair(own_zookeeper, topic_prefix) as two:
        own_zookeeper.kill()
        with (
            pytest.raises(SwitchoverRefusedError, match="does not answer"),
            Requester.connected(options(own_zookeeper), two.job) as requester,
        ):
            requester.look()
        assert two.active.slot == 0
        own_zookeeper.start()
