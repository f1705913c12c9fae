"""A source whose records mostly become dead letters is named, within a minute and not over and over."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from tandem.intake.parsing import Counts
from tandem.local.reported import source_statuses
from tandem.local.scrape import parse
from tandem.local.screen import progress_line
from tandem.local.status import JobStatus, SourceStatus
from tandem.replica.lately import Lately
from tandem.replica.unread import UnreadRecords
from tandem.status.metrics import ReplicaMetrics

BAD = Counts(10, 10, "it begins like a record of a schema registry")
GOOD = Counts(10, 0)


class Replica:
    """What a replica counts, at times of the test's own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.registry = CollectorRegistry()
        metrics = ReplicaMetrics(self.registry, "cdc", "replica-0")
        self.unread = UnreadRecords(metrics, "cdc.dead-letter", lambda: self.now_s)

    def computes(self, *counts: Counts, source: str = "rows", every_s: float = 1.0) -> list[str]:
        """Which events are logged."""
        with capture_logs() as logs:
            for one in counts:
                self.now_s += every_s
                self.unread.count({source: one})
        return [str(entry["event"]) for entry in logs]

    @property
    def sources(self) -> tuple[SourceStatus, ...]:
        return source_statuses([parse(generate_latest(self.registry).decode())])


def test_a_source_of_dead_letters_is_named_once_with_the_reason_and_when_it_is_over() -> None:
    replica = Replica()

    assert replica.computes(*[BAD] * 30) == ["most_records_are_dead_letters"]
    assert replica.sources == (SourceStatus("rows", 300, 300, unread=True),)
    assert replica.computes(*[GOOD] * 70) == ["records_are_read_again"]
    assert replica.sources == (SourceStatus("rows", 1_000, 300, unread=False),)


def test_it_is_said_again_every_ten_minutes_while_it_lasts() -> None:
    assert Replica().computes(*[BAD] * 21, every_s=60.0) == ["most_records_are_dead_letters"] * 3


def test_the_warning_says_what_why_and_where_to_look() -> None:
    replica = Replica()
    with capture_logs() as logs:
        replica.unread.count({"rows": Counts(52, 51, "it begins like gzip"), "others": GOOD})

    (entry,) = logs
    assert (entry["source"], entry["reason"]) == ("rows", "it begins like gzip")
    assert (
        "51 of the last 52 records of source rows are not processed, but in the topic cdc.dead-letter"
        in entry["remedy"]
    )


def test_a_few_bad_records_among_good_ones_are_no_pattern() -> None:
    assert Replica().computes(*[Counts(100, 49)] * 5, *[Counts(1, 1)] * 9) == []


def test_records_that_come_rarely_are_counted_however_old_they_are() -> None:
    assert Replica().computes(*[Counts(1, 1, "no JSON")] * 10, every_s=900.0) == ["most_records_are_dead_letters"]


def test_no_more_is_kept_than_a_minute() -> None:
    last = Lately()
    for second in range(1_000):
        last.add(10, 0, float(second))

    assert last.records <= 62 * 10


def test_the_screen_says_which_source_is_not_read() -> None:
    sources = (SourceStatus("rows", 52, 51, unread=True), SourceStatus("others", 9, 1, unread=False))

    line = progress_line(JobStatus("cdc", 0.0, (), (), sources=sources))

    assert "source rows: 51 of 52 records are dead letters; the dead-letter topic has each with its reason" in line
    assert "others" not in line


def test_each_source_has_figures_of_its_own_also_that_it_has_no_dead_letter() -> None:
    replica = Replica()
    replica.computes(GOOD, GOOD, source="good")
    replica.computes(BAD, source="bad")

    assert set(replica.sources) == {
        SourceStatus("good", 20, 0, unread=False),
        SourceStatus("bad", 10, 10, unread=True),
    }
