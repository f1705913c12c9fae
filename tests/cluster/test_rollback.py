"""A rolling change whose pods fail is rolled back, and the reader notices nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.jobs import ClusterJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
SOON_S = 45
NO_JVM = {"name": "replica", "env": [{"name": "JAVA_TOOL_OPTIONS", "value": "-XX:+NoSuchOption"}]}


@pytest.fixture(autouse=True)
def whole(two: ClusterJob) -> Iterator[None]:
    two.when_ready()
    two.when_known_to_work()
    yield
    two.check_exactly_once()


def test_an_image_that_does_not_exist_is_gone_back_from(two: ClusterJob) -> None:
    good = two.made_from()
    with two.output_goes_on(MASKED_S):
        two.patch({"image": "example.com/no/such:1", "progressDeadlineSeconds": SOON_S})
        said = two.when_rolled_back(good)
        two.flows_on(400)
    assert f"has not caught up after {SOON_S} s" in said

    before = {pod["metadata"]["name"] for pod in two.pods()}
    two.patch({"image": None, "progressDeadlineSeconds": 600})
    two.wait(lambda: two.condition("Progressing")[:2] == ("True", "Complete"), 60, "the change is taken back")
    assert {pod["metadata"]["name"] for pod in two.pods()} == before


def test_a_setting_with_which_replicas_end_again_and_again_is_gone_back_from(two: ClusterJob) -> None:
    good = two.made_from()
    with two.output_goes_on(MASKED_S):
        two.patch({"podTemplate": {"spec": {"containers": [NO_JVM]}}})
        said = two.when_rolled_back(good)
        two.flows_on(400)
    assert " times: " in said or "refuses to run: " in said
    two.patch({"podTemplate": None})
