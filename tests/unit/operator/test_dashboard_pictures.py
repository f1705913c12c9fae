"""Pictures of the dashboards: what a panel shows follows from its JSON and from what Prometheus answers."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dashboards.drawing import draw
from dashboards.figures import (
    Figure,
    Line,
    Panel,
    Place,
    Run,
    Series,
    Target,
    Threshold,
    Word,
    colour,
    figure,
    legend,
    limits,
    newest,
    panels,
    runs,
    shown,
)
from dashboards.pictures import MAIN_ROWS, series, times_until
from dashboards.write import FOLDER, filled_in, queries

BOARDS = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in MAIN_ROWS}
VARIABLES = {"namespace": "shop", "job_name": "orders", "__rate_interval": "30s"}
TIMES = range(100, 141, 10)
NAN = math.nan

each_dashboard = pytest.mark.parametrize("name", MAIN_ROWS)


def lag(*targets: Target) -> Panel:
    return Panel("timeseries", "Lag", Place(0, 1, 12, 8), "s", targets)


def state(*values: float) -> Line:
    return Line("orders", values)


def test_a_panel_is_read_with_its_unit_queries_thresholds_and_words() -> None:
    found = {panel.title: panel for panel in panels(BOARDS["job"], ("Now", "State and standbys"))}

    assert next(iter(found)) == "Now"
    number, leads = found["Input that is in no epoch"], found["Leads"]
    behind = found["Standby behind the published epoch"]
    assert (number.kind, number.unit, number.place) == ("stat", "short", Place(16, 1, 4, 4))
    assert number.thresholds == (Threshold(-math.inf, "green"), Threshold(10_000, "red"))
    assert leads.words == {0.0: Word("", "yellow"), 1.0: Word("leads", "green")}
    assert [target.legend for target in behind.targets] == ["{{replica}} follows", "{{replica}} proved"]
    assert limits(behind) == (Threshold(200, "red"),)


def test_a_row_that_is_not_there_is_told() -> None:
    with pytest.raises(ValueError, match=re.escape("Tandem / Job has no row ['Later']; it has Now, How fast?")):
        panels(BOARDS["job"], ("Now", "Later"))


@each_dashboard
def test_a_picture_begins_at_the_top_and_has_no_hole(name: str) -> None:
    found = panels(BOARDS[name], MAIN_ROWS[name])
    covered = {y for panel in found for y in range(panel.place.y, panel.place.y + panel.place.height)}

    assert covered == set(range(max(covered) + 1))


@each_dashboard
def test_every_unit_of_a_dashboard_can_be_written(name: str) -> None:
    for panel in panels(BOARDS[name], [one["title"] for one in BOARDS[name]["panels"] if one["type"] == "row"]):
        assert shown(0.0, panel.unit).startswith("0"), panel.title


@each_dashboard
def test_no_variable_is_left_in_a_query_that_is_asked(name: str) -> None:
    for _, expression in queries(BOARDS[name]):
        assert "$" not in filled_in(expression, VARIABLES)
    with pytest.raises(ValueError, match="a variable without a value"):
        filled_in('up{namespace="$namespace"}', {})


def test_prometheus_answer_is_read() -> None:
    answer = {"data": {"result": [{"metric": {"replica": "replica-0"}, "values": [[100, "1.5"], [110, "NaN"]]}]}}

    (found,) = series(answer)

    assert found.labels == {"replica": "replica-0"}
    assert found.values[100] == 1.5
    assert math.isnan(found.values[110])


def test_series_are_called_by_the_legend_and_have_holes_where_prometheus_had_none() -> None:
    panel = lag(Target("lag", "{{replica}} follows"), Target("other", "p50"))
    one, two = Series({"replica": "replica-1"}, {100: 1.0, 120: 3.0}), Series({"replica": "replica-0"}, {})

    drawn = figure(panel, [[one, two], [Series({}, dict.fromkeys(TIMES, 2.0))]], TIMES)

    assert [line.name for line in drawn.lines] == ["replica-0 follows", "replica-1 follows", "p50"]
    assert drawn.lines[1].values == pytest.approx((1.0, NAN, 3.0, NAN, NAN), nan_ok=True)
    assert drawn.lines[2].values == (2.0,) * 5


def test_a_series_without_a_legend_is_called_by_its_labels() -> None:
    assert legend("", {"__name__": "up", "pod": "a", "job": "b"}) == "job=b, pod=a"
    assert legend("{{ replica }} of {{job}}", {"replica": "replica-0"}) == "replica-0 of "


def test_a_number_is_the_newest_value_in_the_colour_of_the_threshold_that_it_reached() -> None:
    thresholds = (Threshold(-math.inf, "green"), Threshold(1, "red"))

    assert newest(state(0.0, 2.0, NAN)) == 2.0
    assert math.isnan(newest(state(NAN)))
    assert [colour(value, thresholds) for value in (0.0, 1.0, NAN)] == ["green", "red", ""]


def test_a_state_lasts_until_it_changes_or_is_not_there() -> None:
    line = state(1.0, 1.0, 0.0, NAN, 0.0)

    assert runs(line, TIMES) == (Run(100, 120, 1.0), Run(120, 130, 0.0), Run(140, 150, 0.0))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "s", "0 s"),
        (0.0123, "s", "12.3 ms"),
        (2e-6, "s", "2 µs"),
        (3600.0, "s", "3600 s"),
        (12_345.0, "none", "12345"),
        (12_345.0, "short", "12.3k"),
        (999.9, "short", "1000"),
        (200.0, "recps", "200 rec/s"),
        (0.25, "ops", "0.25 ops/s"),
        (5e6, "Bps", "5M B/s"),
        (NAN, "short", "no data"),
    ],
)
def test_values_are_written_with_their_unit(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_a_picture_ends_when_it_shall_and_has_no_more_points_than_there_is_room_for() -> None:
    assert list(times_until(1_000.9, 30))[::30] == [970, 1_000]
    assert len(times_until(1_000.0, 600)) <= 301


def test_every_kind_of_panel_is_drawn(tmp_path: Path) -> None:
    number = replace(lag(), kind="stat", place=Place(0, 1, 4, 4))
    states = replace(lag(), kind="state-timeline", place=Place(4, 1, 8, 4), words={1.0: Word("leads", "green")})
    empty = replace(lag(), place=Place(12, 1, 12, 8))
    shown_ones = [
        Figure(Panel("row", "Now", Place(0, 0, 24, 1)), TIMES, ()),
        Figure(number, TIMES, (state(1, 2, 3, 4, 5),)),
        Figure(states, TIMES, (state(1, 1, NAN, 1, 1),)),
        Figure(
            replace(lag(), thresholds=(Threshold(2, "red"),), place=Place(0, 5, 12, 8)), TIMES, (state(1, 2, 3, 4, 5),)
        ),
        Figure(empty, TIMES, ()),
    ]

    draw(tmp_path / "new" / "picture.png", "Tandem / Test", shown_ones)

    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")
