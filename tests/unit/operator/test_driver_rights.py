"""The rights by which drivers manage executors: made if a job has any, gone if it has none, needed by no other job."""

from __future__ import annotations

from unit.operator.tiny_api import FORBIDDEN
from unit.operator.tiny_world import World


def test_rights_of_executors_that_a_job_has_no_more_go_although_the_operator_began_anew_meanwhile() -> None:
    world = World(executors={"instances": 1})
    for _ in range(3):
        world.passes()
    assert world.api.named("Role")
    assert world.api.named("RoleBinding")
    without = {**world.job, "spec": {**world.job["spec"], "executors": {"instances": 0}}}
    world.api.put(without)

    world.restarts()
    for _ in range(3):
        world.passes()

    assert world.api.named("Role") == []
    assert world.api.named("RoleBinding") == []


def test_rights_of_executors_that_could_not_be_deleted_are_deleted_later() -> None:
    world = World(executors={"instances": 1})
    for _ in range(3):
        world.passes()
    world.api.put({**world.job, "spec": {**world.job["spec"], "executors": {"instances": 0}}})
    world.watch()
    world.api.refuse = lambda verb, kind, _name: FORBIDDEN if (verb, kind) == ("delete", "Role") else None
    assert world.refused().status == 403
    world.api.refuse = lambda *_: None
    for _ in range(2):
        world.passes()

    assert world.api.named("Role") == []


def test_a_job_without_executors_does_not_need_an_operator_that_may_see_roles() -> None:
    world = World()
    world.api.refuse = lambda _verb, kind, _name: FORBIDDEN if kind in ("Role", "RoleBinding") else None
    for _ in range(2):
        world.passes()

    assert len(world.api.named("Pod")) == 2


def test_an_operator_without_rights_on_roles_says_what_to_do_and_makes_no_drivers() -> None:
    world = World(executors={"instances": 1})
    world.api.refuse = lambda _verb, kind, _name: FORBIDDEN if kind in ("Role", "RoleBinding") else None

    assert world.refused().status == 403
    assert "executors.enabled: true" in world.api.progressing()["message"]
    assert world.api.named("Pod") == []
