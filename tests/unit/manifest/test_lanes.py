"""A lane is a job of its own: what it is called, what it shares, and what it reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.kafka.errors import TopicMismatchError
from tandem.manifest import Manifest, UnknownLaneError, config_hash, load
from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.snapshots.savepoints import Inputs, differences, layout
from tandem.topics.declared import counts_read, left_by, names_for, own_topics, partitions_read

Writer = Callable[..., Path]

FOUR = ("replicas: 2", "replicas: 2\n  lanes: 4")


@pytest.fixture
def four(write: Writer) -> Manifest:
    return load(write(FOUR))


def test_a_job_without_lanes_is_its_only_one(write: Writer) -> None:
    job = load(write())
    assert job.lanes == (job,)
    assert job.read_of({"flights": 3}) == {"flights": range(3)}
    with pytest.raises(UnknownLaneError, match="leave --lane out"):
        job.of_lane(0)


@pytest.mark.parametrize("lane", [4, -1, None])
def test_a_lane_that_is_not_there_is_refused_with_those_that_are(four: Manifest, lane: int | None) -> None:
    with pytest.raises(UnknownLaneError, match="0 to 3"):
        four.of_lane(lane)


def test_lanes_share_no_log_no_folder_and_no_id(four: Manifest) -> None:
    lanes = four.lanes
    for own in (
        {lane.name for lane in lanes},
        {names_for(lane, "replica-0") for lane in lanes},
        {lane.model.topics.checkpoints for lane in lanes},
        {lane.checkpoint_directory for lane in lanes},
    ):
        assert len(own) == 4
    assert {lane.model.topics.dead_letter for lane in lanes} == {"flights.dead-letter"}
    assert {lane.whole for lane in lanes} == {"flights"}
    assert lanes[1].lanes == (lanes[1],)


def test_what_is_named_in_the_manifest_is_divided_too(write: Writer) -> None:
    given = ("takeOver: {}", "checkpoint: {directory: state}\n  metrics: {port: 9100}")
    names = ("    topics: {}", "    topics: {ordering: o, commits: c, checkpoints: s, deadLetter: d}")
    lane = load(write(FOUR, given, names)).of_lane(2)
    topics = lane.model.topics
    assert (topics.ordering, topics.commits, topics.checkpoints) == ("o.lane-2", "c.lane-2", "s.lane-2")
    assert topics.dead_letter == "d"
    assert lane.checkpoint_directory.parts[-2:] == ("state", "lane-2")
    assert lane.spec.metrics.port == 9104


def test_each_partition_is_read_by_one_lane(four: Manifest) -> None:
    read = [
        (topic, p)
        for lane in four.lanes
        for topic, some in lane.read_of({"flights": 9, "weather": 2}).items()
        for p in some
    ]
    assert sorted(read) == [*(("flights", p) for p in range(9)), *(("weather", p) for p in range(2))]


def test_every_lane_reads_all_of_a_table(write: Writer) -> None:
    table = ("topics: [weather]", "topics: [weather]\n      table: {key: [key]}")
    for lane in load(write(FOUR, table)).lanes:
        assert lane.read_of({"weather": 5})["weather"] == range(5)


def test_the_number_of_lanes_is_part_of_the_identity_and_what_partitions_follow_is_not(write: Writer) -> None:
    whole, four = load(write()), load(write(FOUR))
    follows = load(write(("topics: [weather]", "topics: [weather]\n      partitionedBy: value")))
    assert config_hash(whole) == config_hash(follows)
    assert config_hash(whole) != config_hash(four)


def test_the_topics_of_a_lane_are_found_again_when_it_is_deleted(four: Manifest) -> None:
    lane = four.of_lane(1)
    own = {topic.name for topic in own_topics(lane, "replica-0")}
    assert own == {"flights.lane-1.ordering", "flights.lane-1.commits", "flights.dead-letter"}
    assert set(left_by(lane, [*own, "flights", "flights.lane-2.ordering"])) == own


def test_partitions_that_are_no_multiple_of_the_lanes_are_refused_where_keys_count(
    write: Writer, four: Manifest
) -> None:
    lane = four.of_lane(0)
    assert partitions_read(lane, {"flights": 8, "weather": 4})["flights"] == range(0, 8, 4)
    with pytest.raises(TopicMismatchError, match="flights has 6 partitions, which is no multiple of spec"):
        partitions_read(lane, {"flights": 6, "weather": 4})
    anything = ("topics: [flights]", "topics: [flights]\n      partitionedBy: any")
    of_any = load(write(FOUR, anything)).of_lane(0)
    assert partitions_read(of_any, {"flights": 6, "weather": 4})["flights"] == range(0, 6, 4)
    with pytest.raises(TopicMismatchError, match=r"has 2 partitions, fewer than spec\.lanes: 4"):
        partitions_read(of_any, {"flights": 2, "weather": 4})


def test_a_savepoint_of_each_lane_fits_that_lane_and_none_of_another_number(write: Writer, four: Manifest) -> None:
    counts = {"flights": 8, "weather": 4}
    sources = [(source.name, source.topics) for source in four.spec.sources]
    two = load(write(("replicas: 2", "replicas: 2\n  lanes: 2")))
    for lane in four.lanes:
        read = partitions_read(lane, counts)
        ends = Offsets((TopicPartition(topic, n), 5) for topic, numbers in read.items() for n in numbers)
        saved = Inputs.of(sources, Cut(7, ends, 0, 0, "o")).sources
        assert differences(saved, layout(sources, counts_read(lane, counts))) == ()
        if lane.lane is not None and lane.lane < 2:
            assert differences(saved, layout(sources, counts_read(two.of_lane(lane.lane), counts))) != ()
