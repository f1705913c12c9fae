"""An object of ours that somebody edits is as it should be again after the next listing; defaults of the API server stay."""

from __future__ import annotations

from typing import Any

import pytest

from unit.operator.tiny_world import World

LISTED_S = 301.0
EDITS: dict[str, tuple[str, str, Any]] = {
    "PodDisruptionBudget": ("flights", "minAvailable", 0),
    "NetworkPolicy": ("flights", "ingress", []),
    "Service": ("flights-metrics", "selector", {"app": "another"}),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edited_object_is_applied_again(kind: str) -> None:
    name, field, value = EDITS[kind]
    world = World()
    world.passes()
    wanted = world.api.objects[kind, name]["spec"][field]
    world.api.objects[kind, name]["spec"][field] = value
    world.passes(LISTED_S)

    assert world.api.objects[kind, name]["spec"][field] == wanted


def test_what_the_api_server_adds_is_no_edit() -> None:
    world = World()
    world.passes()
    for (kind, _), thing in world.api.objects.items():
        if kind == "Service":
            thing["spec"] |= {"sessionAffinity": "None", "clusterIPs": ["None"]}
            thing["spec"]["ports"][0]["nodePort"] = 0
    before = list(world.api.done)
    world.passes(LISTED_S)

    assert [done for done in world.api.done[len(before) :] if done[0] == "apply"] == []
