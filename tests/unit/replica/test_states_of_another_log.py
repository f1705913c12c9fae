"""A state whose epoch has its cut elsewhere than the job's log is of a log that is gone, and no replica goes on from it."""

from __future__ import annotations

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import Boundary, MovedLane, marker
from tandem.protocol.values import Config, Marker, Offsets
from tandem.replica import kafka_clients
from tandem.replica.kafka_clients import check_same_lanes, check_same_log, find_place

PUBLISHED = Marker(7, 0, "orders.replica-0.aaaa", "digest", 3, log_offset=41)


def test_the_state_of_the_very_log_is_right() -> None:
    check_same_log("orders.ordering", EnginePosition(7, 41), PUBLISHED)


@pytest.mark.parametrize("offset", [0, 40, 42])
def test_a_state_of_another_log_is_refused_with_what_to_do(offset: int) -> None:
    with pytest.raises(
        RefusedError, match=rf"epoch 7 is of another log: .* offset {offset}, .* at 41.* Choose a savepoint"
    ):
        check_same_log("orders.ordering", EnginePosition(7, offset), PUBLISHED)


def test_the_state_of_a_new_lane_stands_where_its_log_begins_again() -> None:
    """As a change of lanes writes both: the config at the log's end, the cut behind it, and the state at that cut."""
    boundary, end = Boundary(2, 20), 113
    cut_at = end + 1
    check_same_log("orders.lane-0.ordering", EnginePosition(20, cut_at), marker(boundary, "orders", end, cut_at))


def test_no_place_is_found_for_a_state_of_another_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_clients, "watermarks", lambda *_: (0, 100))
    monkeypatch.setattr(kafka_clients, "markers_back_to", lambda *_: [(5, PUBLISHED)])
    monkeypatch.setattr(kafka_clients, "decisions_after", lambda *_: Decisions())
    connection = kafka_clients.KafkaConnection({})
    with pytest.raises(RefusedError, match="of another log"):
        find_place(connection, "orders.ordering", "orders.commits", EnginePosition(7, 12))
    assert find_place(connection, "orders.ordering", "orders.commits", EnginePosition(7, 41)).head == 8


def moved(lane: int, lanes: int) -> Config:
    return MovedLane(lane, lanes, "c0ffee", Offsets()).config(Boundary(3, 31), "orders.lanes")


@pytest.mark.parametrize(
    ("config", "where"), [(moved(0, 1), "the only lane"), (moved(2, 4), "lane 2 of 4")], ids=["one", "four"]
)
def test_a_state_from_before_another_number_of_lanes_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, config: Config, where: str
) -> None:
    """As a savepoint of one lane, when the job has had two and then one again: its log goes on behind the others'."""
    later = [Marker(8, 0, "orders.replica-0.aaaa", "digest", 3, log_offset=44)]
    boundary = marker(Boundary(3, 31), "orders.lanes.3", 90, 91)
    markers = [PUBLISHED, *later, boundary, Marker(32, 0, "orders.replica-0.bbbb", "digest", 3, log_offset=95)]
    monkeypatch.setattr(kafka_clients, "watermarks", lambda *_: (0, 100))
    monkeypatch.setattr(kafka_clients, "markers_back_to", lambda *_: [*enumerate(markers)])
    monkeypatch.setattr(kafka_clients, "decisions_after", lambda *_: Decisions())
    monkeypatch.setattr(kafka_clients, "config_at", lambda *asked: {90: config}[asked[2]])
    connection = kafka_clients.KafkaConnection({})

    def place(epoch: int, offset: int) -> int:
        return find_place(connection, "orders.ordering", "orders.commits", EnginePosition(epoch, offset)).head

    with pytest.raises(RefusedError) as refused:
        place(7, 41)
    said = str(refused.value)
    assert "the state of epoch 7 is from before a change of spec.lanes: with generation 3, which began with" in said
    assert f"epoch 31, orders.ordering goes on as the log of {where}." in said
    assert "Choose a savepoint that was made since (tandem savepoint list), or none" in said
    assert (place(31, 91), place(32, 95)) == (32, 33), "what the change itself has left, and what came since"


def test_an_epoch_without_rows_is_no_change_of_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    markers = [PUBLISHED, Marker(8, 0, "orders.replica-0.aaaa", "", 0, log_offset=44, config_offset=3)]
    monkeypatch.setattr(kafka_clients, "config_at", lambda *_: Config(1, "c0ffee", Offsets(), "orders.replica-0"))
    check_same_lanes(kafka_clients.KafkaConnection({}), "orders.ordering", EnginePosition(7, 41), markers)
