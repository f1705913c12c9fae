"""A change of the number of lanes that stands still: who was not asked is asked first, and nothing waits without an end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pytest

from tandem.manifest import KIND
from tandem_operator.api import ApiError
from tandem_operator.lane_change import LaneJob
from unit.operator.test_lane_change import (
    ASKED,
    NOW_MS,
    STOPPED,
    TWO,
    attempt_of,
    change,
    failing,
    message_of,
    stage_of,
    step,
)
from unit.operator.tiny_changing import Changing, FromOne

HOUR_MS = 3_600_000


@pytest.mark.parametrize("lanes", [TWO, {**ASKED, 1: TWO[1]}, {0: STOPPED[0]}], ids=["none", "one", "gone"])
@pytest.mark.parametrize("away_ms", [61_000, HOUR_MS])
def test_lanes_that_nobody_has_asked_to_stop_are_asked_and_have_their_time(
    lanes: Mapping[int, LaneJob], away_ms: int
) -> None:
    asks = step(change("Stopping"), lanes, now_ms=NOW_MS + away_ms)
    assert (stage_of(asks), asks.holds) == ("Stopping", True)
    assert asks.stops == {lane for lane in range(2) if lane not in lanes or not lanes[lane].is_asked_to_stop}
    waits = step(asks.change, ASKED, now_ms=NOW_MS + away_ms + 600_000)
    assert (stage_of(waits), waits.stops) == ("Stopping", frozenset())
    late = step(asks.change, ASKED, now_ms=NOW_MS + away_ms + 601_000)
    assert "lanes 0, 1 have not stopped within 10 min" in message_of(late)


def test_lanes_that_cannot_be_asked_hold_the_others_for_a_time_only() -> None:
    asks = step(change("Stopping"), TWO, now_ms=NOW_MS + 61_000)
    again = step(asks.change, TWO, now_ms=NOW_MS + 600_000)
    assert (again.stops, again.change) == ({0, 1}, asks.change)
    assert stage_of(step(asks.change, TWO, now_ms=NOW_MS + 662_000)) == "Refused"


@pytest.mark.parametrize("changing", [Changing, FromOne])
def test_an_operator_that_was_away_when_the_lanes_were_to_stop_goes_on(changing: type[Changing]) -> None:
    one = changing()
    one.until("Stopping")
    one.world.restarts()
    one.world.now_s += 3_600
    one.goes_on()
    assert one.numbers == [4, 4, 4, 4]
    assert "LanesNotChanged" not in [reason for _, reason in one.world.api.events()]


def test_a_number_that_is_set_back_soon_ends_a_change_whose_task_cannot_be_made() -> None:
    waits = step(change("Dividing"), STOPPED, wanted=2, now_ms=NOW_MS + 300_000)
    assert (stage_of(waits), waits.task) == ("Dividing", "change")
    found = step(change("Dividing"), STOPPED, wanted=2, now_ms=NOW_MS + 301_000)
    assert stage_of(found) == "Refused"
    assert "its task could not be made. Whether the logs are those of 4 lanes by now is not known" in message_of(found)
    later = change("Dividing", attempt=2)
    assert stage_of(step(later, STOPPED, wanted=2, now_ms=NOW_MS + 301_000)) == "Dividing", "one was made"


def test_a_task_that_cannot_be_made_holds_the_lanes_for_an_hour_at_most() -> None:
    assert stage_of(step(change("Dividing"), STOPPED, now_ms=NOW_MS + HOUR_MS)) == "Dividing"
    found = step(change("Dividing"), STOPPED, now_ms=NOW_MS + HOUR_MS + 1_000)
    assert (stage_of(found), found.lanes, found.holds) == ("Refused", 2, False)
    assert "Whether the logs are those of 4 lanes by now is not known" in message_of(found)


def test_a_try_that_comes_late_is_made_all_the_same() -> None:
    hours = NOW_MS + 2 * HOUR_MS
    second = step(change("Dividing"), STOPPED, failing(), now_ms=hours).change
    waits = step(second, STOPPED, now_ms=hours + 300_000)
    assert (stage_of(waits), attempt_of(waits), waits.task) == ("Dividing", 2, "change")
    found = step(second, STOPPED, now_ms=hours + 301_000)
    assert stage_of(found) == "Refused"
    assert message_of(found).startswith("try 1 of 7 failed: no. Whether the logs")


def test_a_quota_that_takes_no_pod_of_the_change_lets_the_job_go_on_as_it_was() -> None:
    changing = Changing()
    changing.until("Dividing")

    def full(verb: str, kind: str, name: str) -> None:
        if (verb, kind) == ("create", "Pod") and "-lanes-" in name:
            raise ApiError(403, "Forbidden", "exceeded quota: pods=8")

    changing.world.api.refuse = full
    passes(changing)
    assert [lane["spec"].get("suspend") for lane in changing.lanes()] == [True, True]
    changing.world.now_s += 3_601
    passes(changing)
    assert changing.numbers == [2, 2]
    assert not any(lane["spec"].get("suspend") for lane in changing.lanes())
    assert len(changing.world.api.named(KIND)) == 3


def passes(changing: Changing) -> None:
    """Some, of which the API server may refuse what it is asked for."""
    for _ in range(10):
        changing.moves()
        with suppress(ApiError):
            changing.world.passes(30.0)
