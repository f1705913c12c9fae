"""The runs of an evaluation: which, in which order, what is left of them, and for how long."""

from __future__ import annotations

from typing import Any

from bench.evaluation.models import Scale, Scenario
from bench.evaluation.plan import RunSpec, left_s, planned, to_do

SCALE = Scale.model_validate(
    {
        "serversWarmUp": 60,
        "warmUp": 10,
        "window": 20,
        "rounds": 2,
        "kills": 3,
        "aloneKills": 1,
        "after": 10,
        "aloneAfter": 30,
    }
)
CASE: dict[str, Any] = {
    "workloads": ["identity"],
    "configurations": ["leader", "no-replication"],
    "rates": [1000],
    "scales": ["smoke"],
}


def specs(*cases: dict[str, Any], scale: Scale = SCALE) -> list[RunSpec]:
    tree = {"name": "one", "about": "What?", "cases": [{**CASE, **case} for case in cases]}
    return planned([Scenario.model_validate(tree)], "smoke", scale)


def test_each_round_has_all_and_begins_with_another() -> None:
    assert [spec.id for spec in specs({})] == [
        "identity.leader.1000.none.1",
        "identity.no-replication.1000.none.1",
        "identity.no-replication.1000.none.2",
        "identity.leader.1000.none.2",
    ]


def test_what_two_cases_ask_for_is_run_once() -> None:
    assert specs({}, {"configurations": ["leader"]}) == specs({})


def test_a_case_of_another_scale_is_left_out() -> None:
    assert specs({"scales": ["paper"]}) == []


def test_names_tell_everything_apart() -> None:
    found = specs(
        {"engines": ["microBatch", "realTime"], "lanes": [1, 2], "rates": [1000, 5000], "faults": ["none", "kill"]},
        {"configurations": ["flink-tuned"]},
        {"configurations": ["flink-tuned"], "checkpointMs": 20},
    )
    assert len(found) == 2 * (2 * 2 * 2 * 2 * 2 + 2)
    assert len({spec.id for spec in found}) == len(found)


def test_what_nobody_takes_over_from_is_killed_less_often_and_followed_for_longer() -> None:
    by_name = {spec.configuration: spec for spec in specs({"faults": ["kill"]})}
    assert (by_name["leader"].kills, by_name["leader"].after_s) == (3, 10.0)
    assert (by_name["no-replication"].kills, by_name["no-replication"].after_s) == (1, 30.0)


def test_what_is_done_is_not_to_do() -> None:
    first, *rest = specs({})
    assert to_do([first, *rest], {first.id: first}) == rest


def test_what_was_done_under_other_settings_is_to_do_again() -> None:
    found = specs({})
    done = {spec.id: spec for spec in specs({}, scale=SCALE.model_copy(update={"window": 5.0}))}
    assert to_do(found, done) == found


def test_what_was_done_for_another_scenario_is_done() -> None:
    found = specs({})
    assert to_do(found, {spec.id: spec.model_copy(update={"scenario": "another"}) for spec in found}) == []


def test_more_processes_take_longer_to_start() -> None:
    by_name = {spec.configuration: spec.expected_s for spec in specs({"lanes": [2]})}
    assert by_name["leader"] - by_name["no-replication"] == 2 * 8


def test_the_time_left_is_that_of_the_runs_left() -> None:
    one, two, *_ = specs({})
    assert left_s([], []) == 0
    assert left_s([one, two], []) == one.expected_s + two.expected_s


def test_runs_that_took_longer_than_expected_make_the_rest_longer() -> None:
    one, two, *_ = specs({})
    assert left_s([two], [(one, 3 * one.expected_s)]) == 3 * two.expected_s


def test_a_run_with_kills_is_as_long_as_these() -> None:
    steady, killed = specs({})[0], specs({"faults": ["kill"]})[0]
    assert killed.expected_s - steady.expected_s == 3 * (2 + 10 + 1 + 20) - 20
