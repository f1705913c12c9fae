"""What the API server has is read as the runtime reads it, and what is wrong is said where."""

from __future__ import annotations

import copy

import pytest

from tandem.manifest import ManifestError
from tandem_operator.actions import Emit, SetStatus
from tandem_operator.manifests import job_of
from tandem_operator.plan.invalid import refuse
from unit.operator.operator_builders import tree


def body(**spec: object) -> dict[str, object]:
    made = copy.deepcopy(tree(**spec))
    made["metadata"] |= {"uid": "u", "generation": 2, "namespace": "default", "managedFields": [], "labels": {"a": "b"}}
    return made


def test_a_job_is_read_whatever_kubernetes_adds_to_its_metadata() -> None:
    assert job_of(body(replicas=3)).spec.replicas == 3


def test_what_is_wrong_is_told_once_and_nothing_else_of_the_status_changes() -> None:
    wrong = body(takeOver={"minBound": "2s", "maxBound": "1s"})
    wrong["status"] = {"phase": "Running", "epoch": 7}
    with pytest.raises(ManifestError) as raised:
        job_of(wrong)

    told, written = refuse(wrong, raised.value, 1_000)
    assert isinstance(told, Emit)
    assert isinstance(written, SetStatus)
    assert (told.type, told.reason) == ("Warning", "InvalidSpec")
    assert (written.status["phase"], written.status["epoch"]) == ("Running", 7)
    (condition,) = written.status["conditions"]
    assert (condition["type"], condition["status"], condition["observedGeneration"]) == ("Progressing", "False", 2)

    assert refuse({**wrong, "status": written.status}, raised.value, 9_000) == ()
