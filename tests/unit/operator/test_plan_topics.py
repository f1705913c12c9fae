"""How the job's own topics differ from what they should be is shown, and each difference is told once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tandem.status.report import TopicDrift
from tandem_operator.actions import Action, Emit
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster

SHORT = TopicDrift("flights.ordering", "retention.ms", "retention.ms is 60000, and should be -1", "kafka-configs.sh …")
GONE = TopicDrift("flights.dead-letter", "", "the topic is missing", "Restart a replica")


def running(**spec: Any) -> TinyCluster:
    cluster = TinyCluster(job(replicas=2, **spec))
    cluster.converge()
    return cluster


def passes(cluster: TinyCluster, *drift: TopicDrift) -> list[tuple[str, str, str]]:
    """A pass while the replicas find this; the events about topics."""
    cluster.drift = drift
    actions = plan(cluster.observed(), SETTINGS)
    cluster.do(actions)
    return told(actions)


def told(actions: tuple[Action, ...]) -> list[tuple[str, str, str]]:
    emitted = [action for action in actions if isinstance(action, Emit) and "Topic" in action.reason]
    return [(one.type, one.reason, one.message) for one in emitted]


def condition(cluster: TinyCluster) -> tuple[str, str, str]:
    found = next(one for one in cluster.status["conditions"] if one["type"] == "TopicsAsDeclared")
    return found["status"], found["reason"], found["message"]


def test_each_difference_is_told_once_with_its_remedy() -> None:
    cluster = running()
    in_words = "flights.ordering: retention.ms is 60000, and should be -1. kafka-configs.sh …"
    assert passes(cluster, SHORT) == [("Warning", "TopicDrift", in_words)]
    assert passes(cluster, SHORT) == []
    assert [message for _, _, message in passes(cluster, SHORT, GONE)] == [
        "flights.dead-letter: the topic is missing. Restart a replica"
    ]
    assert passes(cluster, GONE) == []
    assert len(passes(cluster, GONE, replace(SHORT, difference="retention.ms is 70000, and should be -1"))) == 1


def test_the_status_shows_them_and_the_condition_says_what_to_do() -> None:
    cluster = running()
    passes(cluster, SHORT, GONE)

    assert condition(cluster)[:2] == ("False", "TopicDrift")
    assert condition(cluster)[2] == (
        "flights.dead-letter: the topic is missing. Restart a replica\n"
        "flights.ordering: retention.ms is 60000, and should be -1. kafka-configs.sh …"
    )
    assert [one["topic"] for one in cluster.status["topicDrift"]] == ["flights.dead-letter", "flights.ordering"]


def test_what_was_mended_is_told_and_shown_no_more() -> None:
    cluster = running()
    passes(cluster, SHORT)

    told_then = passes(cluster)
    assert told_then == [("Normal", "TopicsAsDeclared", "The job's own topics are as declared")]
    assert condition(cluster)[0] == "True"
    assert cluster.status["topicDrift"] == []


def test_it_is_unknown_until_a_replica_has_looked() -> None:
    cluster = TinyCluster(job(replicas=2), drift=None)
    cluster.converge()

    assert condition(cluster)[:2] == ("Unknown", "NoReport")
    assert passes(cluster) == []
    assert condition(cluster)[0] == "True"


def test_what_was_known_stays_while_replicas_start_anew() -> None:
    cluster = running()
    passes(cluster, SHORT)
    cluster.drift = None

    assert told(plan(cluster.observed(), SETTINGS)) == []
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert condition(cluster)[0] == "False"
    assert len(cluster.status["topicDrift"]) == 1


def test_one_replica_that_sees_it_is_enough() -> None:
    cluster = running()
    observed = cluster.observed()
    first, second = observed.pods
    assert first.reported is not None
    seen = replace(observed, pods=(replace(first, reported=replace(first.reported, drift=(SHORT,))), second))

    assert len(told(plan(seen, SETTINGS))) == 1


def test_nobody_looks_at_the_topics_of_a_suspended_job() -> None:
    cluster = running()
    cluster.change(job(replicas=2, suspend=True))
    cluster.converge()

    assert condition(cluster)[:2] == ("Unknown", "Suspended")
