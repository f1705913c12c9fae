"""A lane's job that somebody edits becomes what it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from unit.operator.tiny_lanes import Lanes

_CHANGED = ({"suspend": True}, {"replicas": 1}, {"deletionPolicy": "Delete"})
_TAKE_OVER = {"minBound": "50ms", "maxBound": "500ms"}
_ADDED = ({"image": "x"}, {"takeOver": {**_TAKE_OVER, "maxBound": "9s"}}, {"podTemplate": {"spec": {"nodeName": "x"}}})
_FILLED_IN = {"standbys": 0, "takeOver": _TAKE_OVER, "maxUnavailableLanes": 1}
"""Defaults, as the API server fills them in."""


def _with_defaults(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"podTemplate": {}, **_FILLED_IN, **spec}


@pytest.mark.parametrize("edit", [*_CHANGED, *_ADDED, {"image": "x", "replicas": 1}], ids=str)
def test_a_lane_that_somebody_edits_becomes_what_it_was(edit: dict[str, object]) -> None:
    """The API server has filled in the defaults of the whole."""
    lanes = Lanes.running(suspend=False, replicas=2)
    before = lanes.jobs[2]["spec"]
    lanes.jobs[2] = {**lanes.jobs[2], "spec": {**before, **edit}}
    lanes.passes()
    assert _with_defaults(lanes.jobs[2]["spec"]) == _with_defaults(before)
    lanes.says(2)
    written = (lanes.jobs, list(lanes.asked))
    assert lanes.passes() == []
    assert (lanes.jobs, lanes.asked) == written


def test_what_was_added_deep_inside_is_taken_back_alone() -> None:
    lanes = Lanes.running(podTemplate={"spec": {"nodeSelector": {"disk": "fast"}}})
    before = lanes.jobs[2]["spec"]
    selector = {"disk": "fast", "zone": "a"}
    lanes.jobs[2] = {**lanes.jobs[2], "spec": {**before, "podTemplate": {"spec": {"nodeSelector": selector}}}}
    lanes.passes()
    assert lanes.jobs[2]["spec"] == before


def test_a_field_that_somebody_added_does_not_survive_a_change_of_the_whole() -> None:
    lanes = Lanes.running(lanes=2)
    lanes.jobs[1] = {**lanes.jobs[1], "spec": {**lanes.jobs[1]["spec"], "image": "x"}}
    lanes.change(replicas=3)
    for _ in range(6):
        lanes.passes()
        for lane in range(2):
            lanes.says(lane)
    assert [(one["spec"]["replicas"], one["spec"].get("image")) for one in lanes.jobs.values()] == [(3, None)] * 2


def test_what_the_api_server_adds_to_a_lane_and_a_request_to_it_are_no_edits() -> None:
    lanes = Lanes.running()
    before = {**lanes.jobs[2]["spec"], "savepointNonce": 4, **_FILLED_IN}
    lanes.jobs[2] = {**lanes.jobs[2], "spec": before}
    assert lanes.passes() == []
    assert (lanes.jobs[2]["spec"], lanes.asked) == (before, [])


def test_a_null_of_the_whole_that_the_api_server_has_dropped_from_a_lane_is_no_edit() -> None:
    lanes = Lanes.running(podTemplate={"spec": {"securityContext": {"fsGroup": None}}})
    lanes.jobs[2]["spec"]["podTemplate"] = {"spec": {"securityContext": {}}}
    assert lanes.passes() == []
    assert lanes.asked == []
