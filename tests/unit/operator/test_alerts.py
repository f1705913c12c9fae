"""Each alert has one file, one runbook page and its tests, and asks only for metrics that there are."""

from pathlib import Path

import pytest

from alerts.rules import ALERTS, ROOT, TESTS, alert_files, metrics, read, used_in

RUNBOOKS = ROOT / "docs" / "alerts"
ALERT_NAMES = [
    "CallsFail",
    "InputHeldBack",
    "KeysInTwoLanes",
    "LagGrowing",
    "LeaderFlapping",
    "NamespaceClosed",
    "OperatorDown",
    "OrderingStalled",
    "PublicationStalled",
    "RecordsUnread",
    "ReplicaDiverged",
    "ReplicationDegraded",
    "RowsTooLate",
    "StandbyStale",
    "StillWaiting",
]
HEADINGS = ["## What readers notice", "## What to look at", "## What to do"]

each_alert = pytest.mark.parametrize("path", alert_files(), ids=lambda path: path.stem)


def test_there_are_these_alerts_and_each_has_a_page_and_tests() -> None:
    assert [path.stem for path in alert_files()] == ALERT_NAMES
    assert sorted(path.stem for path in RUNBOOKS.glob("*.md")) == ALERT_NAMES
    assert sorted(path.name.removesuffix(".test.yaml") for path in TESTS.glob("*.test.yaml")) == ALERT_NAMES


@each_alert
def test_an_alert_is_called_as_its_file_and_says_what_is_wrong_and_where_to_read_on(path: Path) -> None:
    rule = read(path)

    assert rule["alert"] == path.stem
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert (ROOT / rule["annotations"]["runbook_url"]).stem == path.stem


@each_alert
def test_an_alert_asks_only_for_metrics_that_there_are(path: Path) -> None:
    asked = used_in(read(path)["expr"])

    assert asked
    assert asked <= metrics().keys()


@each_alert
def test_an_alerts_tests_see_it_fire_and_feed_it_only_metrics_and_labels_that_there_are(path: Path) -> None:
    tests = read(TESTS / f"{path.stem}.test.yaml")["tests"]
    outcomes = [check["exp_alerts"] for test in tests for check in test["alert_rule_test"]]
    known = metrics()

    assert any(outcomes)
    assert not all(outcomes)
    assert {check["alertname"] for test in tests for check in test["alert_rule_test"]} == {path.stem}
    for test in tests:
        for series in test["input_series"]:
            name, _, rest = series["series"].partition("{")
            labels = {label.split("=")[0].strip() for label in rest.rstrip("}").split(",") if label}
            given = {"namespace", "pod", "lane"}  # by the scraper; a job without lanes has none
            assert labels - given == known[name] - given, series["series"]


@pytest.mark.parametrize("name", ALERT_NAMES)
def test_a_runbook_page_says_what_it_means_and_what_to_do(name: str) -> None:
    page = (RUNBOOKS / f"{name}.md").read_text()

    assert page.startswith(f"# {name}\n")
    assert [heading for heading in HEADINGS if heading not in page] == []
    assert used_in(page) <= metrics().keys()


@pytest.mark.parametrize("path", sorted((ALERTS.parent / "recording").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_recorded_of_a_job_is_made_of_metrics_that_there_are(path: Path) -> None:
    rule = read(path)

    assert rule["record"].startswith("tandem:job_")
    assert used_in(rule["expr"]) <= metrics().keys()


def test_the_chart_takes_the_alerts_from_their_files() -> None:
    assert 'Glob "alerts/*.yaml"' in (ALERTS.parent / "templates" / "_helpers.tpl").read_text()
