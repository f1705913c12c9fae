"""A state whose epoch has its cut elsewhere than the job's log is of a log that is gone, and no replica goes on from it."""

from __future__ import annotations

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import Boundary, marker
from tandem.protocol.values import Marker
from tandem.replica import kafka_clients
from tandem.replica.kafka_clients import check_same_log, find_place

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
