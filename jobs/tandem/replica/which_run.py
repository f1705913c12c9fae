"""Which run of a job this is: what tables keep with their newest epoch, and tell one run's epochs from another's by."""

from __future__ import annotations

from typing import Final

from tandem.kafka.topic_ids import settled_id
from tandem.kafka.topics import Topics
from tandem.replica.kafka_clients import KafkaClients

NOT_BEGUN: Final = "not begun"
"""The run of a job whose log is empty: no topic has this id, and no epoch of it is in any table."""


def run_of(clients: KafkaClients, topics: Topics) -> str:
    """The id of the job's commits topic, as all replicas have agreed on it in the log; "": the brokers give none.

    Where an older Tandem wrote the log, it does not say: the topic was made long ago, so the brokers do.
    """
    config, commits = clients.newest_config(), clients.logs.commits
    if config is None:
        return NOT_BEGUN
    return dict(config.topic_ids).get(commits, "") or settled_id(topics, commits)
