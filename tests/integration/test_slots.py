"""Slots in a real ZooKeeper: as many are held as there are, and a freed one is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tandem.coordination.peers import Peers
from tandem.coordination.slots import Slots
from tandem.devservers import ZooKeeperServer
from tandem.protocol.switchover import Role
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

PATIENCE_S = 30.0


def within(condition: Callable[[], bool]) -> bool:
    return wait_until(condition, Deadline(PATIENCE_S))


def options(server: ZooKeeperServer) -> dict[str, Any]:
    return {"hosts": server.connect, "timeout": 10.0}


@contextmanager
def contending(server: ZooKeeperServer, job: str, count: int, members: int) -> Iterator[list[Slots]]:
    """So many members that contend for the slots."""
    with ExitStack() as stack:
        made = [Slots(options(server), job, count, f"{job}.replica-{n}") for n in range(members)]
        for slots in made:
            stack.callback(slots.stop)
            slots.start()
        yield made


def held(members: list[Slots]) -> list[int]:
    return sorted(member.slot for member in members if member.slot is not None)


def test_each_slot_is_held_by_one_and_the_rest_know_that_they_are_too_many(
    zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    with contending(zookeeper, topic_prefix, count=2, members=3) as members:
        assert within(lambda: held(members) == [0, 1] and sum(m.is_surplus for m in members) == 1)


def test_a_slot_that_is_given_up_is_taken_by_a_standby(zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with contending(zookeeper, topic_prefix, count=1, members=2) as members:
        assert within(lambda: held(members) == [0] and any(m.is_surplus for m in members))
        holder = next(member for member in members if member.slot is not None)
        standby = next(member for member in members if member is not holder)
        holder.stop()
        assert within(lambda: standby.slot == 0)


def test_a_slot_that_is_given_up_is_first_for_who_computes_without_one(
    zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    with contending(zookeeper, topic_prefix, count=1, members=8) as members:
        assert within(lambda: held(members) == [0] and all(len(member.view.roles) == 8 for member in members))
        holder = next(member for member in members if member.slot is not None)
        *standbys, surplus = (member for member in members if member is not holder)
        surplus.tell(Role.READY)
        assert within(lambda: all(Role.READY in member.view.roles.values() for member in standbys))
        holder.stop()
        assert within(lambda: bool(held([*standbys, surplus])))
        assert held([surplus]) == [0]


def test_while_zookeeper_is_away_nobody_gives_up_a_slot(own_zookeeper: ZooKeeperServer, topic_prefix: str) -> None:
    with contending(own_zookeeper, topic_prefix, count=1, members=2) as members:
        assert within(lambda: held(members) == [0] and any(m.is_surplus for m in members))
        holder = next(member for member in members if member.slot is not None)
        own_zookeeper.kill()
        assert within(lambda: not any(member.is_surplus for member in members))
        assert holder.slot == 0
        own_zookeeper.start()
        assert within(lambda: held(members) == [0] and any(m.is_surplus for m in members))


def test_a_standby_replaces_a_holder_that_ended_before_its_session_does(
    zookeeper: ZooKeeperServer, topic_prefix: str
) -> None:
    with ExitStack() as stack:
        peers, members = [], []
        for index in range(3):
            name = f"{topic_prefix}.replica-{index}.{'abc'[index]}"
            peers.append(Peers(name, "127.0.0.1", {}))
            members.append(Slots(options(zookeeper), topic_prefix, 1, name, peers=peers[-1]))
            stack.callback(members[-1].stop)
            members[-1].start()
            assert within(lambda: members[0].slot == 0)
        assert within(lambda: all(len(member.view.roles) == 3 for member in members))
        assert not any(member.replaces_ended for member in members)
        ended: list[frozenset[str]] = []
        members[2].on_ended = lambda: ended.append(members[2].seen().ended)
        peers[0].stop()  # its session goes on, as that of a process that was killed does for a while
        assert within(lambda: members[1].replaces_ended)
        assert members[0].slot == 0
        assert not members[2].replaces_ended
        assert within(lambda: ended == [{f"{topic_prefix}.replica-0.a"}])  # others hear of it at once
        members[1].tell(Role.CATCHING_UP)
        assert within(lambda: not members[1].replaces_ended)
        assert f"{topic_prefix}.replica-0.a" in members[1].seen().ended  # one that computes watches on
        assert not members[2].replaces_ended
        peers[1].stop()
        assert within(lambda: members[2].replaces_ended)
