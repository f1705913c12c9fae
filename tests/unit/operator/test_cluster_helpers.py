"""What the tests on a cluster read from objects, where a race decides what an object says."""

from __future__ import annotations

import pytest

from cluster.kubernetes import Object, holds

READY = {"type": "Ready", "status": "True"}


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        ({"status": {"conditions": [READY]}}, True),
        ({"status": {"conditions": [{**READY, "status": "False"}]}}, False),
        ({"status": {"conditions": None}}, False),
        ({"status": {}}, False),
        ({"status": None}, False),
        ({}, False),
    ],
)
def test_an_object_that_says_nothing_yet_does_not_hold(thing: Object, expected: bool) -> None:
    assert holds(thing, "Ready") is expected
