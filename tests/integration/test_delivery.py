"""What each delivery guarantee promises, on real processes, around a kill at the worst moment: rows out, marker not."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from integration.small_job import COPY, HEARTBEAT, SmallJob
from integration.waiting import for_a_while
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.process.info import ExitCode
from tandem.protocol.values import Claim, Cut

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

MakeJob = Callable[..., SmallJob]

SIZED = """
from pyspark.sql import functions as F

def job(events):
    text = F.concat(F.col("id").cast("string"), F.lit(":"), F.expr("repeat('x', size)"))
    topics = {"ids": F.col("id").cast("string"), "copies": text}
    tables = dict.fromkeys(("archive", "lake"), events.select("id"))
    return {name: events.select(value.alias("value")) for name, value in topics.items()} | tables
"""


@pytest.fixture(scope="module")
def make_job(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeJob]:
    """Makes jobs of one replica that run until the end of the file. NAME in a spec is the job's name."""
    made: list[SmallJob] = []

    def make(kind: str, code: str = COPY, **spec: object) -> SmallJob:
        folder, name = tmp_path_factory.mktemp(kind), f"{kind}-{uuid.uuid4().hex[:6]}"
        usual = {"sinks": [{"name": "copies", "topic": "NAME-copies"}], "ordering": HEARTBEAT}
        given = json.loads(json.dumps(usual | spec).replace("NAME", name))
        job = SmallJob(folder, Cluster(kafka, zookeeper), name, code, replicas=1, **given)
        made.append(job)
        job.local.start()
        return job

    yield make
    for job in made:
        job.local.stop()


# Exactly once --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exact(make_job: MakeJob) -> SmallJob:
    """JSON records with a number, to two topics and two tables; those over 600,000 bytes are dead letters."""
    return make_job(
        "exact",
        SIZED,
        sources=[{"name": "events", "topics": ["NAME-in"], "format": "json", "schema": "id INT, size INT"}],
        sinks=[
            {"name": "ids", "topic": "NAME-ids"},
            {"name": "copies", "topic": "NAME-copies"},
            {"name": "archive", "parquet": {"path": "archive"}},
            {"name": "lake", "delta": {"path": "lake"}},
        ],
        maxRecordBytes=600_000,
    )


def sized(number: int, size: int = 0) -> str:
    """An input record that becomes one of about `size` bytes."""
    return json.dumps({"id": number, "size": size})


def numbers(job: SmallJob, sink: str = "copies", isolation_level: str = "read_committed") -> list[int]:
    """What came out, without the padding."""
    return [int(row.value.partition(":")[0]) for row in job.rows(f"{job.name}-{sink}", isolation_level)]


def written(job: SmallJob, number: int) -> bool:
    """Whether both topics hold `number`, if only in a transaction that is not committed."""
    return all(number in numbers(job, sink, "read_uncommitted") for sink in ("ids", "copies"))


def letters(job: SmallJob) -> list[dict[str, object]]:
    return [json.loads(value) for value in job.values(job.dead_letter)]


def tables(job: SmallJob) -> tuple[list[int], list[int]]:
    """The numbers in the Parquet and in the Delta table; nothing while a table is not there."""
    archive, lake = job.folder / "archive", job.folder / "lake"
    parquet = pq.read_table(archive)["id"].to_pylist() if any(archive.glob("*.parquet")) else []
    delta = DeltaTable(str(lake)).to_pyarrow_table()["id"].to_pylist() if DeltaTable.is_deltatable(str(lake)) else []
    return sorted(parquet), sorted(delta)


def test_a_poison_record_becomes_a_dead_letter_with_its_coordinates_and_the_job_goes_on(exact: SmallJob) -> None:
    exact.feed(sized(1), "{not json", sized(2))

    exact.wait(lambda: numbers(exact) == [1, 2] and len(letters(exact)) == 1, "two records and a dead letter")
    (letter,) = letters(exact)
    assert letter["topic"] == exact.input
    assert (letter["partition"], letter["offset"], letter["value"]) == (0, 1, "{not json")
    assert "no JSON of the schema id INT, size INT" in str(letter["reason"])


def test_a_record_over_the_limit_becomes_a_dead_letter_and_the_job_goes_on(exact: SmallJob) -> None:
    before = numbers(exact)
    exact.feed(sized(3, 700_000), sized(4, 599_000))

    exact.wait(lambda: numbers(exact) == [*before, 4], "the record after the large one")
    letter = letters(exact)[-1]
    assert letter["sink"] == "copies"
    assert letter["reason"] == "the record has 700002 bytes, over spec.maxRecordBytes"


def test_after_a_kill_in_the_middle_of_an_epoch_every_sink_holds_each_epoch_once(exact: SmallJob) -> None:
    exact.feed(sized(10), sized(11))
    exact.wait(lambda: numbers(exact)[-2:] == [10, 11], "records before the kill")
    with exact.withheld(exact.commits):
        exact.feed(sized(12), sized(13))
        exact.wait(lambda: all(12 in numbers for numbers in tables(exact)), "an epoch in the tables")
        exact.wait(lambda: written(exact, 12), "an epoch in both topics")
        assert 12 not in numbers(exact), "the epoch is published, so the kill would come too late"
        assert 12 not in numbers(exact, "ids"), "half of an epoch is published"
        exact.local.kill("replica-0")
    exact.feed(sized(14))

    exact.wait(lambda: 14 in numbers(exact) and all(14 in numbers for numbers in tables(exact)), "records after it")
    published, ids = numbers(exact), numbers(exact, "ids")
    assert published[-5:] == ids[-5:] == [10, 11, 12, 13, 14]
    assert len(set(published)) == len(published)
    assert [number for number in ids if number != 3] == published  # 3 is too large in the one topic only
    assert tables(exact) == (sorted(ids), sorted(ids))


def test_records_that_the_broker_refuses_are_dead_letters_and_the_job_goes_on(exact: SmallJob) -> None:
    exact.configure(f"{exact.name}-copies", max_message_bytes="300000")
    exact.feed(
        sized(20), sized(21, 400_000), sized(22, 400_000), sized(23), *(sized(24 + n, 150_000) for n in range(4))
    )

    exact.wait(lambda: 27 in numbers(exact), "the rows after those that are too large")

    assert [number for number in numbers(exact) if number >= 20] == [20, 23, 24, 25, 26, 27]
    assert [number for number in numbers(exact, "ids") if number >= 20] == list(range(20, 28)), (
        "the other topic takes all"
    )
    reasons = [str(letter["reason"]) for letter in letters(exact)[-2:]]
    assert all(f"the broker does not take it into {exact.name}-copies" in reason for reason in reasons), reasons
    assert all("its max.message.bytes is 300000" in reason for reason in reasons), reasons


# At least once, and without ordering ---------------------------------------------------------------------------------


@pytest.mark.thorough
def test_at_least_once_repeats_after_a_kill_and_the_consumer_drops_what_is_repeated(make_job: MakeJob) -> None:
    two_records = str(2 * (256 + len("1")))
    job = make_job("least", delivery="atLeastOnce", ordering={"mode": "none", "maxBytesPerEpoch": two_records})
    job.feed("1", "2")
    job.wait_for("1", "2")
    with job.withheld(job.commits):
        job.feed("3", "4")
        job.wait_for("3", "4")
        job.local.kill("replica-0")
    job.feed("5", "6", "7", "8", "9")
    job.wait_for("5", "6", "7", "8", "9")

    ids = Counter(row.id for row in job.rows(f"{job.name}-copies"))
    assert max(ids.values()) > 1, "nothing was repeated: the kill did not come between rows and marker"
    assert job.distinct(until="9") == list("123456789")
    cuts = {cut.epoch: sum(cut.ends.values()) for cut in reversed(job.proposals()) if isinstance(cut, Cut)}
    ends = [0, *(cuts[epoch] for epoch in sorted(cuts))]
    assert max(after - before for before, after in itertools.pairwise(ends)) == 2, "an epoch has so many bytes"
    assert job.ordering == f"{job.name}.ordering.replica-0", "without ordering, a replica has logs of its own"
    assert [marker.epoch for marker in job.markers()] == list(range(len(job.markers())))


# At most once --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def most(make_job: MakeJob) -> SmallJob:
    """At most once."""
    return make_job("most", delivery="atMostOnce")


def claimed_to_the_end_of_the_input(job: SmallJob, end: int) -> bool:
    """Whether an epoch that reads the input up to `end` is claimed."""
    log = job.proposals()
    covering = {cut.epoch for cut in log if isinstance(cut, Cut) and sum(cut.ends.values()) >= end}
    return any(isinstance(claim, Claim) and claim.epoch in covering for claim in log)


@pytest.mark.thorough
def test_at_most_once_gives_up_what_was_claimed_when_its_owner_died_and_says_so(most: SmallJob) -> None:
    most.feed("1", "2")
    most.wait_for("1", "2")
    with most.withheld(most.commits):
        most.feed("3")
        most.wait_for("3")
        most.feed("4")  # claimed, but behind the marker that does not come: nobody has seen it
        most.wait(lambda: claimed_to_the_end_of_the_input(most, 4), "a claim of the last record's epoch")
        most.local.kill("replica-0")
    most.feed("5")
    most.wait_for("5")

    assert most.values() == ["1", "2", "3", "5"]
    markers = most.markers()
    assert [marker.epoch for marker in markers] == list(range(len(markers)))
    skipped = {marker.epoch for marker in markers if marker.skipped}
    cuts = {cut.epoch: sum(cut.ends.values()) for cut in reversed(most.proposals()) if isinstance(cut, Cut)}
    assert {cuts[epoch] for epoch in skipped} == {3, 4}, "the epochs of the records 3 and 4, and no other"


@pytest.mark.thorough
def test_a_running_replica_refuses_when_its_input_is_deleted_unread(most: SmallJob) -> None:
    most.wait_for("5")
    most.local.pause("replica-0")
    for_a_while(1, "a fetch that was under way comes back, without the next records")
    most.feed("6", "7", "8")
    most.wait(lambda: any(isinstance(p, Cut) and sum(p.ends.values()) >= 8 for p in most.proposals()), "a cut")
    most.delete_input_before(7)
    most.local.resume("replica-0")

    outcome = most.end()

    assert outcome.code == ExitCode.REFUSED
    assert f"{most.input}/0: offset 5 was deleted before it was read. Nothing was skipped" in outcome.reason
    assert most.values()[-1] == "5"
