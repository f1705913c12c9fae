"""BetterCloud's workload: the same for everybody, with the odds of the paper; and the columns that rules may name."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from ruamel.yaml import YAML

import tandem.examples.rules
from tandem.examples.rules.expressions import activation, compiled
from tandem.examples.rules.feed import BEGIN_S, CONTROL, CUSTOMERS, EVENTS, SHARED, WHEN, events
from tandem.examples.rules.job import variables_of
from tandem.examples.rules.rule import parse


def test_the_same_seed_gives_the_same_records() -> None:
    assert list(events(200)) == list(events(200)) != list(events(200, seed=2))
    assert list(itertools.islice(events(), 50)) == list(events(200))[:50]


def test_the_odds_are_those_of_the_paper() -> None:
    sent = list(events(40_000, per_second=200, rules_per_second=5))
    bodies = [json.loads(event.value) for event in sent if event.topic == EVENTS]
    public = sum(body["audience"] == "public" for body in bodies)
    assert abs(public / len(bodies) - 0.0725) < 0.005
    assert len({body["customer"] for body in bodies}) == CUSTOMERS
    controls = [event for event in sent if event.topic == CONTROL]
    assert abs(len(controls) - len(bodies) / 40) <= 1, "five a second, in 200 s"
    assert abs(sum(event.key == SHARED.encode() for event in controls) / len(controls) - 0.2) < 0.04


def test_events_and_rules_are_in_the_order_of_their_times_and_rules_are_rules() -> None:
    sent = list(events(1_000, per_second=100))
    assert [event.time_s for event in sent] == sorted(event.time_s for event in sent)
    assert json.loads(sent[1].value)["time"] == "2026-01-01T00:00:00.000Z"
    assert sent[0].time_s == BEGIN_S
    rules = {event.key: parse(event.value) for event in sent if event.topic == CONTROL}
    assert all(key.decode() == rule.id for key, rule in rules.items())
    assert Counter(rule.when for rule in rules.values()) == {WHEN: len(rules)}


def test_its_rules_fit_the_columns_of_the_manifest() -> None:
    body = YAML(typ="safe").load(Path(tandem.examples.rules.__file__).with_name("rules.yaml").read_text())
    (schema,) = [source["schema"] for source in body["spec"]["sources"] if source["name"] == "events"]
    types = {"STRING": "string", "TIMESTAMP": "timestamp", "BIGINT": "int"}
    columns = [column.split() for column in schema.split(",")]
    variables = tuple((name, types[kind]) for name, kind in columns)
    sent = [event for event in events(200) if event.topic == EVENTS]
    assert {name for name, _ in variables} == set(json.loads(sent[0].value))
    rule = compiled(parse(next(event.value for event in events(200) if event.topic == CONTROL)), variables)
    bodies = [{**json.loads(event.value), "time": 0} for event in sent]
    met = [body for body in bodies if rule.matches(activation(body, variables))]
    assert met == [body for body in bodies if body["audience"] == "public"] != []


CUSTOMER, TIME = StructField("customer", StringType()), StructField("time", TimestampType())


def test_columns_of_plain_types_can_be_named() -> None:
    more = [
        StructField("size", LongType()),
        StructField("share", DoubleType()),
        StructField("tags", ArrayType(StringType())),
        StructField("local", TimestampNTZType()),
        StructField("two words", StringType()),
        StructField("key", StringType()),
        StructField("metadata", StructType()),
    ]
    assert variables_of(StructType([CUSTOMER, TIME, *more])) == (
        ("customer", "string"),
        ("time", "timestamp"),
        ("size", "int"),
        ("share", "double"),
    )


@pytest.mark.parametrize("fields", [[CUSTOMER], [TIME], [CUSTOMER, StructField("time", StringType())]])
def test_events_have_a_customer_and_a_time(fields: list[StructField]) -> None:
    with pytest.raises(ValueError, match=r"the events have no column .*: add it to their schema"):
        variables_of(StructType(fields))
