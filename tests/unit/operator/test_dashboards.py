"""The dashboards that the chart ships are those that the code writes, and ask only for metrics that there are."""

import json
import re

import pytest

from alerts.rules import ALERTS, metrics, read, used_in
from dashboards.write import FOLDER, choices, queries, texts

each_dashboard = pytest.mark.parametrize("name", ["fleet", "job"])
_OF_SCRAPING = {"namespace", "pod", "lane"}
"""Labels that a scraper adds, and that of a lane, which a job without lanes has not."""
_LABELS = re.compile(r"\b(?:by|on) \(([^)]*)\)")


def test_the_chart_ships_what_the_code_writes() -> None:
    shipped = {path.stem: path.read_text() for path in FOLDER.glob("*.json")}

    assert shipped == texts(), "run PYTHONPATH=operator python -m dashboards, and commit what it writes"


@each_dashboard
def test_every_query_asks_for_metrics_and_labels_that_there_are(name: str) -> None:
    known = metrics()

    for title, expression in queries(json.loads(texts()[name])):
        asked = used_in(expression)
        assert asked, title
        assert asked <= known.keys(), title
        labels = frozenset().union(*(known[metric] for metric in asked)) | _OF_SCRAPING
        grouped = {label.strip() for group in _LABELS.findall(expression) for label in group.split(",")}
        assert grouped <= labels, title


@each_dashboard
def test_every_variable_is_a_label_that_its_metric_has_and_is_used(name: str) -> None:
    known, board = metrics(), json.loads(texts()[name])
    asked = list(choices(board))

    assert asked
    for choice in asked:
        (metric,) = used_in(choice.series)
        assert choice.label in known[metric] | _OF_SCRAPING, choice
        assert choice.variable == choice.label
        assert any(f"${choice.variable}" in expression for _, expression in queries(board)), choice


@each_dashboard
def test_every_panel_says_what_it_shows_and_fits_the_grid(name: str) -> None:
    panels = json.loads(texts()[name])["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["title"]
        assert panel["type"] == "row" or panel["description"], panel["title"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24, panel["title"]


@each_dashboard
def test_panels_over_time_name_their_series(name: str) -> None:
    for panel in json.loads(texts()[name])["panels"]:
        if panel["type"] == "timeseries":
            assert panel["options"]["legend"]["showLegend"], panel["title"]
            assert all(target["legendFormat"] for target in panel["targets"]), panel["title"]


def test_the_dashed_lines_are_where_the_alerts_begin() -> None:
    limits = {"Input that is in no epoch yet": "LagGrowing", "Standby behind the published epoch": "StandbyStale"}
    boards = [json.loads(text) for text in texts().values()]
    dashed = [
        panel
        for board in boards
        for panel in board["panels"]
        if "thresholdsStyle" in panel.get("fieldConfig", {}).get("defaults", {}).get("custom", {})
    ]

    assert sorted(panel["title"] for panel in dashed) == sorted(limits)
    for panel in dashed:
        (limit,) = (step["value"] for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"] if step["value"])
        assert f"> {limit}" in read(ALERTS / f"{limits[panel['title']]}.yaml")["expr"]
