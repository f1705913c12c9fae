"""What becomes of a job's topics: they stay or go with it as its policy says, and what is altered in them is told."""

from __future__ import annotations

import uuid

import pytest

from cluster.jobs import ClusterJob, manifests
from cluster.kubernetes import Kubectl
from integration.topic_settings import configure
from integration.traffic import PARTITIONS
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

OWN = ["commits", "dead-letter", "ordering"]
STARTED_S = 120.0
DELETED_S = 180.0
SEEN_S = 150.0
"""A replica looks once a minute, and the operator asks it every ten seconds."""


def topics_of(servers: Cluster, name: str) -> set[str]:
    """A job's topics, without its name."""
    return {topic.removeprefix(name) for topic in Topics(servers.connection).all() if topic.startswith(name)}


def finalizers(kubectl: Kubectl, name: str) -> list[str]:
    found: list[str] = kubectl.get("rsj", name)["metadata"].get("finalizers", [])
    return found


@pytest.mark.usefixtures("tandem")
def test_topics_go_with_a_job_that_takes_them_and_stay_of_another(servers: Cluster, kubectl: Kubectl) -> None:
    taker, keeper = (f"{what}-{uuid.uuid4().hex[:6]}" for what in ("taker", "keeper"))
    users, own = {"-in", "-copies", "-counts"}, {f".{topic}" for topic in OWN}
    for name, policy in ((taker, "Delete"), (keeper, "Retain")):
        topics = [NewTopic(f"{name}{topic}", PARTITIONS if topic == "-in" else 1) for topic in users]
        Topics(servers.connection).ensure(topics)
        kubectl.apply(*manifests(servers, name, replicas=1, deletionPolicy=policy))
    for name in (taker, keeper):
        kubectl.wait(lambda name=name: topics_of(servers, name) == users | own, STARTED_S, f"the topics of {name}")
    assert finalizers(kubectl, taker) == ["tandem.dev/cleanup"]
    assert finalizers(kubectl, keeper) == []

    kubectl("delete", "rsj", keeper, "--wait=false")
    kubectl("delete", "rsj", taker, f"--timeout={DELETED_S:.0f}s", timeout_s=DELETED_S + 20)
    kubectl.wait(lambda: topics_of(servers, taker) == users, 10, "the taker's own topics are gone")
    kubectl.wait(lambda: not kubectl.list("pods"), 60, "no pod is left")
    assert kubectl.get("rsj", keeper) == {}
    assert topics_of(servers, keeper) == users | own


@pytest.mark.thorough
def test_a_setting_that_somebody_alters_is_told_and_mended(pair: ClusterJob, servers: Cluster) -> None:
    pair.when_staffed(1, 1)
    pair.wait(lambda: pair.is_true("TopicsAsDeclared"), SEEN_S, "the replicas have looked at the topics")
    topic = f"{pair.name}.ordering"
    configure(servers.kafka.bootstrap, topic, retention_ms="86400000")
    pair.wait(lambda: bool(pair.status.get("topicDrift")), SEEN_S, "the difference is shown")
    (shown,) = pair.status["topicDrift"]
    assert (shown["topic"], shown["difference"]) == (topic, "retention.ms is 86400000, and should be -1")
    assert not pair.is_true("TopicsAsDeclared")
    told = [one["message"] for one in pair.kubectl.list("events") if one["reason"] == "TopicDrift"]
    assert len(told) == 1
    assert told[0].startswith(f"{topic}: retention.ms is 86400000, and should be -1. kafka-configs.sh")

    configure(servers.kafka.bootstrap, topic, retention_ms="-1")
    pair.wait(lambda: pair.is_true("TopicsAsDeclared"), SEEN_S, "it is as it should be again")
    pair.check_exactly_once()
