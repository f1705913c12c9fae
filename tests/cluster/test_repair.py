"""What the API server takes and Tandem does not: it is said on the job, and what runs is left alone until it is fixed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from cluster.conftest import own_namespace
from cluster.installed import crashed, no_operator, operator_restarts
from cluster.kubernetes import Kubectl, Object
from cluster.light import LightJob
from cluster.wrong_manifests import WRONG, Wrong

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

BY_OPERATOR: Final = [wrong for wrong in WRONG if wrong.found_by == "operator"]
SAID_S: Final = 30.0
SOUND: Final = {"spec.snapshots": {"store": "s3://b"}}
"""A running job may be given a store, but that cannot be taken away again; so it has one from the beginning."""


def progressing(kubectl: Kubectl, name: str) -> Object:
    """The job's condition Progressing; {} if there is none yet."""
    status = kubectl.get("rsj", name).get("status", {})
    return next((one for one in status.get("conditions", []) if one["type"] == "Progressing"), {})


def when_said(kubectl: Kubectl, name: str, fragment: str) -> None:
    def said() -> bool:
        condition = progressing(kubectl, name)
        return condition.get("reason") == "InvalidSpec" and fragment in condition["message"]

    kubectl.wait(said, SAID_S, f"{name} says {fragment!r}")


@pytest.fixture(scope="module")
def ground(tandem: str) -> Iterator[Kubectl]:  # noqa: ARG001, it must be installed
    """A namespace that an operator looks after."""
    with own_namespace() as kubectl:
        yield kubectl


@pytest.fixture(scope="module")
def at_first(tandem: str) -> dict[str, int]:
    """How often the operator was started again before all this."""
    return operator_restarts(tandem)


@pytest.fixture(autouse=True)
def nothing_crashes_the_operator(tandem: str, at_first: dict[str, int]) -> Iterator[None]:
    yield
    assert not crashed(tandem, at_first)


@pytest.fixture(scope="module")
def light(ground: Kubectl) -> LightJob:
    job = LightJob(ground, "fixed")
    ground.apply(job.changed(SOUND))
    job.when_manned()
    return job


@pytest.mark.parametrize("wrong", BY_OPERATOR, ids=lambda wrong: wrong.name)
def test_a_new_job_that_is_wrong_says_so_and_nothing_is_made_for_it(ground: Kubectl, wrong: Wrong) -> None:
    job = LightJob(ground, "wrong")
    ground.send("create", job.changed(wrong.overrides))
    try:
        when_said(ground, job.name, wrong.fragment)
        assert job.objects() == {}
    finally:
        ground("delete", "rsj", job.name)


@pytest.mark.parametrize("wrong", BY_OPERATOR, ids=lambda wrong: wrong.name)
def test_a_wrong_change_touches_nothing_that_runs_and_is_mended(light: LightJob, wrong: Wrong) -> None:
    before = light.objects()

    light.kubectl.apply(light.changed({**SOUND, **wrong.overrides}))
    when_said(light.kubectl, light.name, wrong.fragment)
    assert light.objects() == before

    light.kubectl.apply(light.changed(SOUND))
    light.kubectl.wait(lambda: is_content(light), SAID_S, f"{light.name} is looked after again")
    assert light.objects() == before


def is_content(job: LightJob) -> bool:
    condition = progressing(job.kubectl, job.name)
    return condition["reason"] != "InvalidSpec" and condition["observedGeneration"] == job.generation


def test_what_is_lost_while_a_job_is_wrong_is_replaced_once_it_is_mended(light: LightJob) -> None:
    light.kubectl.apply(light.changed({**SOUND, **BY_OPERATOR[0].overrides}))
    when_said(light.kubectl, light.name, BY_OPERATOR[0].fragment)
    lost = min(light.pods())
    light.kubectl("delete", "pod", lost)
    assert lost not in light.pods()

    light.kubectl.apply(light.changed(SOUND))
    light.kubectl.wait(lambda: len(light.pods().keys() - {lost}) == 2, 60, f"{lost} is replaced")


@pytest.mark.timeout(400)
def test_an_operator_that_starts_anew_says_the_same(light: LightJob, tandem: str) -> None:
    before = light.objects()
    light.kubectl.apply(light.changed({**SOUND, **BY_OPERATOR[0].overrides}))
    when_said(light.kubectl, light.name, BY_OPERATOR[0].fragment)
    with no_operator(tandem):
        light.kubectl.apply(light.changed({**SOUND, **BY_OPERATOR[1].overrides}))
    when_said(light.kubectl, light.name, BY_OPERATOR[1].fragment)
    assert light.objects() == before
    light.kubectl.apply(light.changed(SOUND))
    light.kubectl.wait(lambda: is_content(light), SAID_S, f"{light.name} is looked after again")
