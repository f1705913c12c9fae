"""What a job with lanes has left: of those that it has, and of those that another number of lanes has ended."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.manifest import Manifest
from tandem.topics.lanes_left import gone_lanes, left_by_lanes
from unit.topics.test_drift import manifest

LOGS = [f"flights.lane-{lane}.{log}" for lane in range(4) for log in ("commits", "ordering")]
OTHERS = ["flights", "flights2.lane-9.ordering", "orders.lane-7.commits", "flights.lane-x.ordering", "a.lane-3"]


def flights(lanes: int, **topics: Any) -> Manifest:
    return manifest(lanes=lanes, kafka={"bootstrapServers": "kafka:9092", "topics": topics})


def names(lanes: tuple[Manifest, ...]) -> list[str]:
    return [lane.name for lane in lanes]


def test_lanes_that_a_job_no_longer_has_are_known_by_their_logs() -> None:
    there = [*LOGS, *OTHERS, "flights.dead-letter"]
    assert names(gone_lanes(flights(4), there)) == []
    assert names(gone_lanes(flights(2), there)) == ["flights.lane-2", "flights.lane-3"]
    assert names(gone_lanes(flights(1), there)) == [f"flights.lane-{lane}" for lane in range(4)]


def test_a_job_that_had_no_lanes_is_known_by_its_log() -> None:
    assert names(gone_lanes(flights(4), ["flights.dead-letter", *OTHERS])) == []
    (once,) = gone_lanes(flights(4), ["flights.commits", "flights.dead-letter", *OTHERS])
    assert (once.name, once.lane) == ("flights", None)


def test_logs_that_the_manifest_names_are_known_too() -> None:
    job = flights(2, ordering="o", commits="c", checkpoints="s", deadLetter="d")
    assert names(gone_lanes(job, ["o.lane-3", "s.lane-5", "o", *OTHERS])) == [
        "flights",
        "flights.lane-3",
        "flights.lane-5",
    ]


def test_a_job_leaves_what_all_its_lanes_have_left() -> None:
    job, there = flights(2), [*LOGS, *OTHERS, "flights.ordering", "flights.dead-letter"]
    lanes = (*job.lanes, *gone_lanes(job, there))
    assert left_by_lanes(job, lanes, there) == sorted([*LOGS, "flights.ordering", "flights.dead-letter"])


@pytest.mark.parametrize("lane", [0, 1])
def test_a_lane_that_is_deleted_by_itself_leaves_the_dead_letters_to_the_others(lane: int) -> None:
    job, there = flights(2), [*LOGS, "flights.dead-letter"]
    left = left_by_lanes(job, [job.of_lane(lane)], there)
    assert left == [f"flights.lane-{lane}.commits", f"flights.lane-{lane}.ordering"]


def test_a_job_without_lanes_leaves_its_dead_letters() -> None:
    job, there = flights(1), ["flights.ordering", "flights.dead-letter", *OTHERS]
    assert left_by_lanes(job, job.lanes, there) == ["flights.dead-letter", "flights.ordering"]
