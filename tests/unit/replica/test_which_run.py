"""Which run of a job this is, all replicas take from their log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import pytest

from tandem.kafka import topic_ids
from tandem.kafka.topics import Topics
from tandem.protocol.values import Config
from tandem.replica.kafka_clients import KafkaClients
from tandem.replica.made_tables import SinkTables
from tandem.replica.tables import TableSink
from tandem.replica.which_run import NOT_BEGUN, run_of
from tandem.topics.declared import LogTopics
from unit.protocol.builders import config


class Brokers(Topics):
    """Name one id of the commits topic after the other, the last one from then on."""

    def __init__(self, *answers: str) -> None:
        self._answers = [*answers]

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        """One answer."""
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return dict.fromkeys(names, answer)


class Clients:
    """Those of a replica whose log begins with a config."""

    logs = LogTopics("ordering", "commits")

    def __init__(self, first: Config | None) -> None:
        self._first = first

    def newest_config(self) -> Config | None:
        """The one given."""
        return self._first


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_ids, "_PAUSE_S", 0.0)
    monkeypatch.setattr(topic_ids, "_NAMED_WITHIN_S", 0.2)


def run(first: Config | None, *answers: str) -> str:
    return run_of(cast(KafkaClients, Clients(first)), Brokers(*answers))


def test_the_run_is_the_one_that_the_log_names_whatever_a_broker_says() -> None:
    first = replace(config(0), topic_ids=(("commits", "agreed"), ("in", "other")))
    assert run(first, "old") == "agreed"
    assert run(first, "") == "agreed"


def test_a_job_that_has_not_begun_has_written_no_epoch() -> None:
    assert run(None, "old") == NOT_BEGUN


def test_where_the_log_does_not_say_an_id_has_to_be_seen_several_times() -> None:
    assert run(config(0), "old", "", "new", "old", "new") == "new"
    assert run(config(0), "") == ""


def test_a_job_begins_with_the_settled_id_of_its_commits_topic() -> None:
    found = (("commits", "old"), ("in", "a"))
    assert topic_ids.with_settled(Brokers("old", "new"), found, "commits") == (("commits", "new"), ("in", "a"))
    assert topic_ids.with_settled(Brokers(""), found, "commits") == (("in", "a"),)


def test_tables_are_written_in_the_run_that_was_agreed_on() -> None:
    tables = SinkTables(files=[TableSink("archive", "parquet", "/t")])
    assert [table.run for table in tables.of_run(lambda: "agreed").files] == ["agreed"]
    assert SinkTables().of_run(lambda: pytest.fail("was asked")) == SinkTables()
