"""The state of the flights example is read from snapshots, savepoints and live, while the job goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import tandem.examples.flights
from integration.engine import BEGINNING, Job, Record, kafka_sink, raw_source
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.examples.flights.feed import events
from tandem.examples.flights.job import job as flights_job
from tandem.jobapi.context import JobContext
from tandem.manifest import Manifest, SparkSpec, load
from tandem.snapshots import SnapshotHead, SnapshotStore
from tandem.snapshots.local import pin
from tandem.state import (
    BadKeyError,
    NoStateError,
    Part,
    StatelessJobError,
    StatePlace,
    StateReader,
    find_operator,
    live_state,
    parts_of,
    saved_state,
)

pytestmark = pytest.mark.integration

EPOCHS = 3
FLIGHTS = 120


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session like that of a replica."""
    folder = tmp_path_factory.mktemp("spark")
    session = build_session("tests", "replica-0", SparkSpec(), Jars.resolve().spark_classpath(), folder)
    yield session
    session.stop()


@dataclass
class Running:
    """The flights example, which has computed some epochs; its checkpoints are below `directory`."""

    job: Job
    directory: Path
    fed: list[Record]
    epochs: int = 0

    @property
    def checkpoint(self) -> Path:
        return self.directory / "flights.replica-0.1a" / "checkpoint"

    def run(self, records: list[Record]) -> None:
        """Compute another epoch."""
        self.job.run(self.epochs, records)
        self.job.committed(self.epochs)
        self.epochs += 1


@pytest.fixture(scope="module")
def flights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The example after three epochs."""
    manifest: Manifest = load(Path(tandem.examples.flights.__file__).with_name("flights.yaml"))
    fed = [Record(event.value, event.key, event.topic) for event in events(flights=FLIGHTS)]
    directory = tmp_path_factory.mktemp("checkpoints")
    job = Job(spark, directory / "flights.replica-0.1a", manifest.spec.sources, manifest.spec.sinks)
    job.start(flights_job(**job.sources, ctx=JobContext(spark, dict(manifest.spec.job.options))), BEGINNING)
    running = Running(job, directory, fed)
    for part in np.array_split(np.arange(len(fed)), EPOCHS):
        running.run([fed[index] for index in part])
    yield running
    job.stop()


@pytest.fixture(scope="module")
def place(flights: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StatePlace]:
    """The state after those epochs, from the store, with the checkpoint that it was taken from gone."""
    folder = tmp_path_factory.mktemp("snapshot")
    position = pin(flights.checkpoint, EPOCHS - 1, folder / "staging").position
    head = SnapshotHead("flights", position.epoch, position.log_offset, "c", "", 1, "", "flights.replica-0.1a")
    store = SnapshotStore(str(folder / "store"))
    snapshot = store.save(head, folder / "staging")
    with saved_state(store, snapshot) as saved:
        yield saved


def test_all_operators_are_listed_with_what_they_keep(spark: SparkSession, place: StatePlace) -> None:
    reader = StateReader(spark, place.folder, place.batch)
    operators = reader.operators()

    assert {(operator.kind, operator.partitions, operator.variables) for operator in operators} == {
        ("aggregation", 1, ()),
        ("join", 1, ()),
        ("transformWithState", 1, ("chain",)),
    }
    (chains,) = (operator for operator in operators if operator.variables)
    shape = reader.shape(chains, Part(variable="chain"))
    assert shape.columns == (
        ("key", "struct<tailnum:string>"),
        ("value", "struct<day:string,chain:int,minutes:int>"),
    )


def test_an_aggregation_is_read_by_a_part_of_its_key(spark: SparkSession, place: StatePlace) -> None:
    reader = StateReader(spark, place.folder, place.batch)
    counts = find_operator(reader.operators(), "aggregation")
    every = reader.page(counts, Part(), limit=10_000)
    page = reader.page(counts, Part(), ["carrier=UA", "origin=EWR"], limit=10_000)

    wanted = [row for row in every.rows if (row["key"]["carrier"], row["key"]["origin"]) == ("UA", "EWR")]
    assert sorted(page.rows, key=str) == sorted(wanted, key=str)
    assert 0 < len(wanted) < len(every.rows)
    assert not every.more
    assert wanted[0]["value"].keys() == {"count", "count_2", "count_3", "count_4", "sum", "count_5"}
    start = wanted[0]["key"]["window"]["start"]
    assert start.startswith("2013-01-0")
    assert start.endswith(":00:00Z")
    (row,) = reader.page(counts, Part(), [f"window.start={start}", "carrier=UA", "origin=EWR"]).rows
    assert row == wanted[0]

    limited = reader.page(counts, Part(), limit=2)
    assert (len(limited.rows), limited.more) == (2, True)


def test_a_key_of_another_type_or_with_another_field_is_refused(spark: SparkSession, place: StatePlace) -> None:
    reader = StateReader(spark, place.folder, place.batch)
    counts = find_operator(reader.operators(), "aggregation")

    with pytest.raises(BadKeyError, match=r"window.start: soon is no timestamp"):
        reader.page(counts, Part(), ["window.start=soon"])
    with pytest.raises(BadKeyError, match="the key has no field airline: it has window"):
        reader.page(counts, Part(), ["airline=UA"])
    with pytest.raises(BadKeyError, match=r"window has fields: give one of window.start"):
        reader.page(counts, Part(), ["window=2013"])


def test_both_sides_of_a_join_are_read(spark: SparkSession, place: StatePlace) -> None:
    reader = StateReader(spark, place.folder, place.batch)
    join = find_operator(reader.operators(), "join")
    left, right = (reader.page(join, part, limit=10_000) for part in parts_of(join))

    assert (left.part.side, right.part.side) == ("left", "right")
    assert {"carrier", "delay"} <= left.rows[0]["value"].keys()
    assert {"wind", "visibility"} <= right.rows[0]["value"].keys()
    assert {row["value"]["origin"] for row in left.rows} == {"EWR", "JFK", "LGA"}


def test_state_variables_are_read(spark: SparkSession, place: StatePlace) -> None:
    reader = StateReader(spark, place.folder, place.batch)
    chains = find_operator(reader.operators(), "transformWithState")
    (part,) = parts_of(chains)
    every = reader.page(chains, part, limit=10_000)
    one = every.rows[0]

    assert len(every.rows) > 30
    assert reader.page(chains, part, [one["key"]["tailnum"]]).rows == (one,)
    assert one["value"]["day"].startswith("2013-01-0")


def test_live_state_is_that_of_the_newest_epoch_and_the_job_goes_on(spark: SparkSession, flights: Running) -> None:
    with ExitStack() as stack:
        place = stack.enter_context(live_state(flights.directory, "flights"))
        assert place.epoch == flights.epochs - 1
        flights.run(flights.fed[-60:])
        reader = StateReader(spark, place.folder, place.batch)
        chains = find_operator(reader.operators(), "transformWithState")
        before = sorted(map(str, reader.page(chains, Part(variable="chain"), limit=10_000).rows))
    with live_state(flights.directory, "flights") as newer:
        assert newer.epoch == place.epoch + 1
        reader = StateReader(spark, newer.folder, newer.batch)
        assert sorted(map(str, reader.page(chains, Part(variable="chain"), limit=10_000).rows)) != before
    assert [folder.name for folder in flights.directory.iterdir()] == ["flights.replica-0.1a"]


def test_without_a_replica_on_this_machine_there_is_no_live_state(tmp_path: Path) -> None:
    with pytest.raises(NoStateError, match="there is no state below"), live_state(tmp_path / "nowhere", "flights"):
        pytest.fail("there was state")


def test_a_job_without_state_says_so(spark: SparkSession, tmp_path: Path) -> None:
    job = Job(spark, tmp_path / "j.replica-0.1a", [raw_source()], [kafka_sink()])
    job.start(job.sources["events"].select("key", "value"))
    job.run(0, [Record(b"v")])
    job.committed(0)
    job.stop()

    with live_state(tmp_path, "j") as place, pytest.raises(StatelessJobError, match="the job keeps no state"):
        StateReader(spark, place.folder, place.batch).operators()
