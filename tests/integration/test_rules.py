"""The rules example on the engine that a replica has, against what plain Python counts of BetterCloud's events."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import tandem.examples.rules
from integration.rules_reference import Control, Reference, shared
from tandem.examples.rules.feed import CONTROL, EVENTS, SHARED, events
from tandem.testing import Result, assert_replicas_agree, run_epochs

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("spark")]

EPOCHS, OF_AN_EPOCH = 8, 150


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's own, with three buckets: so a rule has to reach all of them."""
    yaml = YAML(typ="safe")
    body = yaml.load(Path(tandem.examples.rules.__file__).with_name("rules.yaml").read_text())
    body["spec"]["job"]["options"]["buckets"] = "3"
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    yaml.dump(body, path)
    return path


SIZES = shared("Sizes", when="event.audience == 'public'", aggregation="sum", value="event.size", windowSeconds=1)
CHANGED = shared(when="event.audience == 'domain'")
BETWEEN: Mapping[int, Sequence[Control]] = {
    1: [shared(), SIZES],
    2: [
        ("broken", "no JSON"),
        shared("odd", when="event.audiense == 'public'"),
        (None, {}),
        shared("loud", when="event.title"),
    ],
    3: [(SHARED, None), ("Sizes", "{")],
    4: [CHANGED, shared("fails", scope={"customer": "customer-007"}, when="1 / event.size > 2")],
    5: [shared(), shared("divides", when="1 / (event.size % 2) == 1")],
    6: [(SHARED, None), shared(), ("divides", None)],
}
"""Epoch → what comes beside the generator's rules."""


@dataclass(frozen=True)
class Inputs:
    """By epoch; `of_jobs` is what `run_epochs` takes."""

    controls: list[list[Control]]
    events: list[list[dict[str, Any]]]

    @property
    def of_jobs(self) -> dict[str, list[list[Any]]]:
        return {"control": [list(one) for one in self.controls], "events": [list(one) for one in self.events]}


def inputs(epochs: int = EPOCHS, of_an_epoch: int = OF_AN_EPOCH) -> Inputs:
    """The generator's records in its order, but without global rules, which the tests send themselves."""
    found = Inputs([[] for _ in range(epochs)], [[] for _ in range(epochs)])
    taken = 0
    for record in events(epochs * of_an_epoch, per_second=300, rules_per_second=30, seed=3):
        epoch = min(taken // of_an_epoch, epochs - 1)
        if record.topic == EVENTS:
            found.events[epoch].append(json.loads(record.value))
            taken += 1
        elif record.topic == CONTROL and record.key != SHARED.encode():
            found.controls[epoch].append((record.key.decode(), json.loads(record.value)))
    for epoch, more in BETWEEN.items():
        if epoch < epochs:
            found.controls[epoch] += more
    return found


@pytest.fixture(scope="module")
def given() -> Inputs:
    return inputs()


@pytest.fixture(scope="module")
def found(spark: object, manifest: Path, given: Inputs) -> Result:  # noqa: ARG001 - the session is shared
    return run_epochs(manifest, given.of_jobs)


def counted(found: Result, epoch: int) -> list[str]:
    """The rows of the sink `results` of an epoch, but those of windows, as `Reference` has them."""
    rows = [row for row in found.rows("results", epoch) if not str(row.key).startswith("Sizes/")]
    return [
        f"{row.key!s}: gone" if row.value is None else f"{row.key!s}: {row.value['count']} since {row.value['since']}"
        for row in rows
    ]


def test_each_rule_counts_what_plain_python_counts_epoch_by_epoch(found: Result, given: Inputs) -> None:
    reference, tombstones = Reference(), 0
    for epoch in range(EPOCHS):
        rows = counted(found, epoch)
        assert len(rows) == len(set(rows)), f"epoch {epoch}: a total is published twice"
        assert set(rows) == reference.epoch(epoch, given.controls[epoch], given.events[epoch]), f"epoch {epoch}"
        tombstones += sum(row.endswith("gone") for row in rows)
    assert tombstones > 30, "rules ended that had counted something"
    assert found.dead_letters() == []


def test_a_rule_holds_in_the_epoch_that_takes_it_in_and_its_state_ends_with_it(found: Result, given: Inputs) -> None:
    public = [[event["customer"] for event in of_epoch if event["audience"] == "public"] for of_epoch in given.events]
    begun = {row.key: row.value["count"] for row in found.rows("results", 1) if str(row.key).startswith(f"{SHARED}/")}
    assert begun == {f"{SHARED}/{customer}": public[1].count(customer) for customer in public[1]}
    again = [row for row in found.rows("results", 6) if str(row.key).startswith(f"{SHARED}/")]
    counts = {row.key: row.value["count"] for row in again if row.value is not None}
    assert counts == {f"{SHARED}/{customer}": public[6].count(customer) for customer in public[6]}
    assert any(row.value is None for row in again)
    assert not [row for row in found.rows("results", 3) if str(row.key).startswith(f"{SHARED}/") and row.value]


def test_a_window_adds_up_what_its_events_have(found: Result, given: Inputs) -> None:
    expected: dict[tuple[str, str], int] = defaultdict(int)
    for of_epoch in given.events[1:]:
        for event in of_epoch:
            if event["audience"] == "public":
                expected[event["customer"], f"{event['time'][:19]}Z"] += event["size"]
    rows = [row.value for row in found.rows("results") if str(row.key).startswith("Sizes/")]
    assert {(row["customer"], row["window"]): row["sum"] for row in rows} == expected
    assert {row["since"] for row in rows} == {1}, "a broken record for its id has not ended it"


def test_what_is_no_rule_and_what_has_no_answer_is_rejected_with_its_place(found: Result, given: Inputs) -> None:
    rejected = {epoch: found.values("rejected", epoch) for epoch in range(EPOCHS)}
    before = len(given.controls[0]) + len(given.controls[1])
    of_generator = len(given.controls[2]) - len(BETWEEN[2])
    bad = rejected[2]
    assert [(one["source"], one["topic"], one["offset"]) for one in bad] == [
        ("control", CONTROL, before + of_generator + n) for n in range(4)
    ]
    reasons = ["Invalid JSON", "undeclared reference to 'event.audiense'", "the record has no key", "not bool"]
    for one, reason in zip(bad, reasons, strict=True):
        assert reason in one["reason"]
    even = [event for event in given.events[5] if event["size"] % 2 == 0]
    assert [json.loads(one["value"])["title"] for one in sorted(rejected[5], key=lambda one: one["offset"])] == [
        event["title"] for event in even
    ]
    assert {(one["rule"], one["reason"], one["source"]) for one in rejected[5]} == {
        ("divides", "divide by zero", "events")
    }
    assert [len(rejected[epoch]) for epoch in (0, 1, 3, 4, 6, 7)] == [0, 0, 1, 0, 0, 0]


@pytest.mark.thorough
def test_replicas_agree(manifest: Path) -> None:
    few = inputs(epochs=6, of_an_epoch=60)
    assert_replicas_agree(manifest, few.of_jobs)
