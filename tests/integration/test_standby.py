"""Standbys under load: they take the place of dead actives by themselves, and nothing is lost, repeated or reordered.

Two tests have a job of their own, and end before the one begins that the others share: each of these begins when the job is
staffed. Every job ends with everything accounted for.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from integration.workload import Cluster, Workload, write_manifest
from tandem.coordination.handover import Requester
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

MASKED_S = 30.0
STAFFED_S = 300.0
"""A promotion takes about a second, a replica's start ten and more: the bound only tells these apart."""


@contextmanager
def staffed_job(tmp_path_factory: pytest.TempPathFactory, replicas: int, standbys: int) -> Iterator[Workload]:
    folder = tmp_path_factory.mktemp(f"standby-{replicas}")
    name = f"standby-{uuid.uuid4().hex[:6]}"
    with KafkaBroker(folder / "kafka") as kafka, ZooKeeperServer(folder / "zookeeper") as zookeeper:
        cluster = Cluster(kafka, zookeeper)
        manifest = write_manifest(folder / "job", cluster, name, replicas=replicas, standbys=standbys)
        workload = Workload(cluster, manifest, name)
        workload.job.start()
        try:
            workload.when_staffed(replicas, standbys, STAFFED_S)
            yield workload
            workload.check_exactly_once()
        finally:
            workload.close()


@pytest.mark.thorough
def test_a_standby_that_dies_while_it_is_promoted_is_followed_by_the_next(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with staffed_job(tmp_path_factory, 1, 2) as workload:
        (active,), standbys = workload.roles()

        def promoted() -> set[str]:
            return set(standbys) - set(workload.roles()[1])

        with workload.output_goes_on(MASKED_S):
            workload.job.kill(active)
            workload.wait(lambda: bool(promoted()), 30, "a standby begins to compute")
            (first,) = promoted()
            workload.job.kill(first)
            workload.flows_on(400)
        (second,) = set(standbys) - {first}
        assert workload.publisher() == second
        workload.when_staffed(1, 2, STAFFED_S)


@pytest.mark.thorough
def test_two_actives_are_two_again_after_a_kill(tmp_path_factory: pytest.TempPathFactory) -> None:
    with staffed_job(tmp_path_factory, 2, 1) as workload:
        victim = workload.publisher()
        with workload.output_goes_on(MASKED_S):
            workload.job.kill(victim)
            workload.flows_on(400)
        workload.when_staffed(2, 1, STAFFED_S)
        others = {"replica-0", "replica-1", "replica-2"} - {victim}
        workload.wait(lambda: set(workload.roles()[0]) == others, STAFFED_S, f"{others} at the head, both")


@pytest.fixture(scope="module")
def one_active(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workload]:
    """One active replica and one standby."""
    with staffed_job(tmp_path_factory, 1, 1) as workload:
        yield workload


def test_a_standby_takes_the_place_of_the_only_active_replica(one_active: Workload) -> None:
    (active,), (standby,) = one_active.when_staffed(1, 1, STAFFED_S)
    with one_active.output_goes_on(MASKED_S):
        one_active.job.kill(active)
        one_active.flows_on(400)
    one_active.wait(lambda: one_active.roles()[0] == [standby], 60, f"{standby} at the head")
    assert "an active has ended" in one_active.job.log_file(standby).read_text()
    assert one_active.when_staffed(1, 1, STAFFED_S) == ([standby], [active])


def test_the_logs_silence_is_enough_while_zookeeper_is_away(one_active: Workload) -> None:
    (active,), (standby,) = one_active.when_staffed(1, 1, STAFFED_S)
    one_active.cluster.zookeeper.kill()
    with one_active.output_goes_on(MASKED_S):
        one_active.job.kill(active)
        one_active.flows_on(400)
    one_active.cluster.zookeeper.start()
    one_active.when_staffed(1, 1, STAFFED_S)
    with Requester.connected(
        {"hosts": one_active.cluster.zookeeper.connect, "timeout": 2.0}, one_active.name
    ) as looker:

        def has_its_slot() -> bool:
            """On a busy machine the killed one may be back first, and get the slot before the one that was promoted."""
            actives, standbys = one_active.roles()
            slots = [looker.look().slot_of_replica(name) for name in actives]
            return {*actives, *standbys} == {active, standby} and len(actives) == 1 and slots != [None]

        one_active.wait(has_its_slot, 90, "who computes has the dead one's slot")


@pytest.mark.thorough
def test_an_active_that_was_replaced_while_it_was_paused_stands_by_in_the_end(one_active: Workload) -> None:
    one_active.when_staffed(1, 1, STAFFED_S)
    (active,), (standby,) = one_active.roles()
    one_active.job.pause(active)
    one_active.wait(lambda: standby in one_active.roles()[0], 30, f"{standby} is promoted")
    one_active.flows_on(400)
    one_active.job.resume(active)
    one_active.when_staffed(1, 1, STAFFED_S)
    assert one_active.roles() == ([standby], [active])


@pytest.mark.thorough
def test_all_replicas_killed_at_once_go_on_where_they_were(one_active: Workload) -> None:
    one_active.when_staffed(1, 1, STAFFED_S)
    for name in sorted(name for role in one_active.roles() for name in role):
        one_active.job.kill(name)
    one_active.when_staffed(1, 1, STAFFED_S)
    one_active.flows_on(400)


@pytest.mark.thorough
def test_a_promoted_standby_that_dies_before_the_first_is_back_loses_nothing(one_active: Workload) -> None:
    one_active.when_staffed(1, 1, STAFFED_S)
    (active,), (standby,) = one_active.roles()
    one_active.job.kill(active)
    one_active.wait(lambda: one_active.roles()[0] == [standby], 60, f"{standby} is promoted")
    one_active.job.kill(standby)
    assert one_active.roles() == ([], []), f"{active} is back already"
    one_active.when_staffed(1, 1, STAFFED_S)
    one_active.flows_on(400)
