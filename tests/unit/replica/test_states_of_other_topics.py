"""State of a job of the same name and code whose topics were others is never restored: its epochs have other records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from integration.supervised import write_manifest
from tandem.manifest import load
from tandem.protocol.values import Config, Offsets, TopicPartition
from tandem.replica.states import States

HERE = Config(0, "c0ffee", Offsets({TopicPartition("in", 0): 0}), "a", topic_ids=(("commits", "b"), ("in", "a")))
ON_ANOTHER_CLUSTER = replace(HERE, topic_ids=(("commits", "d"), ("in", "c")))
BEFORE_TOPICS_WERE_TOLD_APART = replace(HERE, topic_ids=())


def states(folder: Path, incarnation: str, config: Config) -> States:
    """Of an incarnation that has begun."""
    made = States(load(write_manifest(folder, "orders")), incarnation, folder / incarnation)
    made.belong_to(config)
    return made


def test_only_states_of_the_same_topics_are_looked_at(tmp_path: Path) -> None:
    states(tmp_path, "orders.replica-0.aaaa", ON_ANOTHER_CLUSTER)
    states(tmp_path, "orders.replica-0.bbbb", HERE)
    states(tmp_path, "orders.replica-0.cccc", BEFORE_TOPICS_WERE_TOLD_APART)

    mine = states(tmp_path, "orders.replica-1.dddd", HERE)

    assert sorted(folder.name for folder in mine.relatives()) == ["orders.replica-0.bbbb", "orders.replica-0.cccc"]
