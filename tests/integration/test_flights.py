"""The flights example on the engine that a replica has, against the same computed with pandas over the whole slice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

import tandem.examples.flights
from integration.engine import Job, Record
from tandem.engine.jvm.jars import Jars
from tandem.engine.session import build_session
from tandem.examples.feeding import Event
from tandem.examples.flights.feed import FLIGHTS, events
from tandem.examples.flights.job import job
from tandem.jobapi.job import JobContext
from tandem.manifest import Manifest, load

pytestmark = pytest.mark.integration

SLICE = 2_400
EPOCHS = 12
LATE_MINUTES, CHAIN_LENGTH = 15, 2
PARTITIONS = 3


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    """The example's own."""
    return load(Path(tandem.examples.flights.__file__).with_name("flights.yaml"))


@pytest.fixture(scope="module")
def slice_of_days() -> list[Event]:
    """A little over two days, until no flight of them is missing in the windows that are due."""
    return list(events(flights=SLICE))


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, manifest: Manifest, slice_of_days: list[Event]
) -> Iterator[dict[str, list[dict[str, object]]]]:
    """What the job writes to each sink, in order, as JSON with its `key`, and nothing into the dead-letter topic."""
    folder = tmp_path_factory.mktemp("flights")
    spark = build_session("flights", "replica-0", manifest.spec.spark, Jars.resolve().spark_classpath(), folder)
    try:
        yield run(spark, folder / "job", manifest, slice_of_days)
    finally:
        spark.stop()


def run(spark: SparkSession, folder: Path, manifest: Manifest, fed: list[Event]) -> dict[str, list[dict[str, object]]]:
    flights = Job(spark, folder, manifest.spec.sources, manifest.spec.sinks)
    flights.start(job(**flights.sources, ctx=JobContext(spark, dict(manifest.spec.job.options))))
    found: dict[str, list[dict[str, object]]] = {"delays": [], "alerts": []}
    try:
        for epoch, part in enumerate(np.array_split(np.arange(len(fed)), EPOCHS)):
            table = flights.run(epoch, [record(fed[index]) for index in part])
            if table.num_rows:
                for sink, key, value in zip(*(table[n].to_pylist() for n in ("sink", "key", "value")), strict=True):
                    found[sink].append({"key": key.decode(), **json.loads(value)})
    finally:
        flights.stop()
    return found


def record(event: Event) -> Record:
    return Record(event.value, event.key, event.topic, crc32(event.key) % PARTITIONS if event.topic == FLIGHTS else 0)


def tables(fed: list[Event]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Flights and weather as tables, in the order of the feed; times in seconds."""
    rows: dict[str, list[dict[str, object]]] = {"flights": [], "weather": []}
    for event in fed:
        rows[event.topic].append({**json.loads(event.value), "time_s": event.time_s})
    return pd.DataFrame(rows["flights"]), pd.DataFrame(rows["weather"])


def expected_delays(fed: list[Event]) -> pd.DataFrame:
    """By hour, airline and airport, over all flights that have an observation of their hour."""
    flights, weather = tables(fed)
    gust = weather.gust.fillna(weather.wind)
    weather = weather.assign(rough=(weather.visibility < 3) | (weather.precipitation > 0) | (gust >= 30))
    flights = flights.assign(hour_s=flights.time_s // 3_600 * 3_600)
    joined = flights.merge(
        weather[["origin", "time_s", "rough"]], left_on=["origin", "hour_s"], right_on=["origin", "time_s"]
    )
    joined = joined.assign(late=joined.delay >= LATE_MINUTES, cancelled=joined.delay.isna())
    counts = joined.groupby(["hour_s", "carrier", "origin"]).agg(
        flights=("flight", "size"),
        late=("late", "sum"),
        cancelled=("cancelled", "sum"),
        in_rough_weather=("rough", "sum"),
        mean_delay=("delay", "mean"),
    )
    return counts.reset_index()


def expected_alerts(fed: list[Event]) -> list[tuple[str, str, str, int, int]]:
    """(tailnum, day, flight, chain, minutes) of every alert, sorted, by one walk over the flights of each aircraft."""
    flights, _ = tables(fed)
    known = flights[flights.tailnum.notna() & flights.delay.notna()]
    found = []
    for (tailnum, day), of_day in known.groupby(["tailnum", "day"], sort=False):
        for late, stretch in groupby(zip(of_day.flight, of_day.delay, strict=True), lambda f: f[1] >= LATE_MINUTES):
            in_a_row = list(stretch)
            for length in range(CHAIN_LENGTH, len(in_a_row) + 1) if late else ():
                minutes = int(sum(delay for _, delay in in_a_row[:length]))
                found.append((str(tailnum), str(day), str(in_a_row[length - 1][0]), length, minutes))
    return sorted(found)


def hour_s(row: dict[str, object]) -> int:
    return int(pd.Timestamp(str(row["hour"])).timestamp())


def test_delays_are_those_that_pandas_computes_up_to_the_last_hour_that_is_due(
    results: dict[str, list[dict[str, object]]], slice_of_days: list[Event]
) -> None:
    rows = results["delays"]
    last_s = max(map(hour_s, rows))
    expected = expected_delays(slice_of_days)
    due = expected[expected.hour_s <= last_s]
    assert len(due) > 300
    found = {(hour_s(row), row["carrier"], row["origin"]): row for row in rows}
    assert len(found) == len(rows), "an hour of an airline was written twice"
    assert set(found) == set(zip(due.hour_s, due.carrier, due.origin, strict=True))
    for wanted in due.itertuples(index=False):
        row = found[wanted.hour_s, wanted.carrier, wanted.origin]
        counts = [row[name] for name in ("flights", "late", "cancelled", "in_rough_weather")]
        assert counts == [wanted.flights, wanted.late, wanted.cancelled, wanted.in_rough_weather]
        assert row.get("mean_delay") == pytest.approx(wanted.mean_delay, abs=0.051) or np.isnan(wanted.mean_delay)
        assert row["key"] == f"{wanted.carrier}/{wanted.origin}"


def test_all_hours_come_but_those_that_may_still_change(
    results: dict[str, list[dict[str, object]]], slice_of_days: list[Event]
) -> None:
    behind_s = slice_of_days[-1].time_s - max(map(hour_s, results["delays"]))
    # Two hours of lateness, the hour itself, an hour for the join, and the last epoch, whose watermark comes after it.
    an_epoch_s = (slice_of_days[-1].time_s - slice_of_days[0].time_s) / EPOCHS
    assert behind_s < 5 * 3_600 + 3 * an_epoch_s


def test_alerts_are_the_chains_that_a_walk_over_each_aircraft_finds(
    results: dict[str, list[dict[str, object]]], slice_of_days: list[Event]
) -> None:
    wanted = expected_alerts(slice_of_days)
    assert len(wanted) > 20
    found = [(row["tailnum"], row["day"], row["flight"], row["chain"], row["minutes"]) for row in results["alerts"]]
    assert sorted(found) == wanted
    assert all(row["key"] == row["tailnum"] for row in results["alerts"])


def test_a_chain_grows_in_the_order_of_departures(results: dict[str, list[dict[str, object]]]) -> None:
    lengths: dict[tuple[object, object], list[object]] = {}
    for row in results["alerts"]:
        lengths.setdefault((row["tailnum"], row["day"]), []).append(row["chain"])
    longest = max(lengths.values(), key=len)
    assert longest[:2] == [CHAIN_LENGTH, CHAIN_LENGTH + 1]
