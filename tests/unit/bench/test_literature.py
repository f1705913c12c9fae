"""The workloads of the literature as the bench measures them: fed, traced from their rows, and judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench import tracing
from bench.analysis import Faults, faults_of_rows_in_order
from bench.definition import Came, Workload
from bench.evaluation.configurations import Combination, configuration_of, reasons_against
from bench.literature import OF_THE_LITERATURE, Ahead
from bench.measured import WORKLOADS
from bench.nexmark.encode import first_values
from bench.nexmark.events import Stream
from bench.nexmark.reference import answer
from bench.plan import Run
from bench.records import ARRIVAL, PARTITIONS, Arrivals
from bench.systems import Place, manifest_of
from bench.workloads import BLOCK, Block, Record, Row
from bench.workloads import base as literature
from bench.workloads.base import FIRST_MS
from bench.workloads.latency import JOIN, NUMBERED_COUNT, TRANSFORM
from bench.workloads.lines import GREP, GROUPING
from bench.workloads.replication import MIB1, MIB3
from bench.workloads.sequences import SEQUENCES

from tandem.manifest import find_code, load

SEED = 3
SENT = BLOCK + 500
BORN_NS = 1_700_000_000_000_000_000
"""When record 0 was created; each next one a microsecond later."""
DEFINED = {
    "suite-a": TRANSFORM,
    "suite-b": NUMBERED_COUNT,
    "suite-c": JOIN,
    "grep": GREP,
    "grouping": GROUPING,
    "mib1": MIB1,
    "mib3": MIB3,
    **{f"mib1-{length}": MIB1.at(length) for length in ("length-2", "length-3", "length-4")},
    "sequences": SEQUENCES,
}
NEXMARK = ("q0", "q1", "q2")
ORDERED = {*DEFINED, "q1"} - {"suite-b", "grep"}
CREATED = BORN_NS + 1_000 * np.arange(SENT)


def fed(name: str, count: int = SENT) -> list[Record]:
    make = WORKLOADS[name].feed(SEED)
    return [Record("source", one.partition, one.key, one.value, FIRST_MS) for one in (make(n, 0) for n in range(count))]


def rows_of(name: str, records: Sequence[Record]) -> list[Row]:
    """By the reference."""
    if name in DEFINED:
        return DEFINED[name].reference([records], "microBatch")[0]
    if name == "q0":
        return [Row(record.key, record.value) for record in records]
    rows = answer(name, [record.value for record in records], until_ms=0)
    return [Row(b"%d" % row["auction"], json.dumps({**row, "price": int(row["price"])}).encode()) for row in rows]


def came(workload: Workload, rows: Sequence[Row]) -> Arrivals:
    """The rows as they are read, one after the other, all in the same partition of the sink."""
    told = [workload.row(row.key, row.value) for row in rows]
    late = CREATED[-1] + 1_000_000_000
    return np.array([(one.number, 0, late + at, one.key, 0) for at, one in enumerate(told)], ARRIVAL)


def resolved(workload: Workload, rows: Sequence[Row], sent: int = SENT) -> Arrivals:
    assert workload.resolved is not None
    return workload.resolved(came(workload, rows), SEED, CREATED[:sent])


@pytest.fixture(scope="module")
def rows() -> Callable[[str], list[Row]]:
    made: dict[str, list[Row]] = {}

    def of(name: str) -> list[Row]:
        if name not in made:
            made[name] = rows_of(name, fed(name))
        return list(made[name])

    return of


def test_all_of_them_are_measured() -> None:
    assert {*DEFINED, *NEXMARK} == set(OF_THE_LITERATURE) < set(WORKLOADS)


@pytest.mark.parametrize("name", sorted(set(DEFINED) - {"mib3"}))
def test_a_feed_sends_what_the_workload_defines(name: str) -> None:
    (feed,) = DEFINED[name].feeds
    assert feed.partitions == PARTITIONS
    wanted = [(one.partition, one.key, one.value) for one in feed.records(SEED, SENT)]
    assert [(one.partition, one.key, one.value) for one in fed(name)] == wanted


def test_two_sources_are_fed_in_the_ratio_of_their_rates() -> None:
    first, second = MIB3.feeds
    assert first.rate / second.rate == tracing.FIRST
    make = WORKLOADS["mib3"].feed(SEED)
    sent = [make(number, 0) for number in range(3 * (tracing.FIRST + 1))]
    for place, feed in enumerate((first, second)):
        own = [(one.partition, one.key, one.value) for one in sent if one.source == place]
        assert own == [(one.partition, one.key, one.value) for one in feed.records(SEED, len(own))]
    assert [one.source for one in sent].count(1) == 3
    assert [WORKLOADS["mib3"].row(one.key, one.value).number for one in sent] == list(range(len(sent)))


def test_nexmark_sends_its_events_round_the_partitions() -> None:
    sent = fed("q1", 2_500)
    assert [record.value for record in sent] == first_values(Stream(seed=SEED), 2_500)
    assert [record.partition for record in sent[:4]] == [0, 1, 0, 1]


def test_blocks_are_made_ahead_one_after_the_other() -> None:
    made: list[int] = []

    def make(number: int) -> Block:
        made.append(number)
        return Block([], [b"%d" % number], [])

    blocks = Ahead(make)
    assert [blocks.get(number).values for number in (0, 0, 1, 2, 2)] == [[b"0"], [b"0"], [b"1"], [b"2"], [b"2"]]
    assert made[:3] == [0, 1, 2]


@pytest.mark.parametrize("name", OF_THE_LITERATURE)
def test_the_rows_of_the_reference_are_faultless(name: str, rows: Callable[[str], list[Row]]) -> None:
    workload = WORKLOADS[name]
    arrivals = resolved(workload, rows(name))
    assert len(arrivals) > 25
    assert workload.faults(arrivals, SEED, SENT) == Faults(0, 0, 0)
    assert workload.copies == (len(arrivals) == SENT)


@pytest.mark.parametrize("name", OF_THE_LITERATURE)
def test_a_row_is_as_old_as_the_record_that_caused_it_and_has_its_partition(
    name: str, rows: Callable[[str], list[Row]]
) -> None:
    workload, records = WORKLOADS[name], fed(name)
    arrivals = resolved(workload, rows(name))
    numbers = (arrivals["created_ns"] - BORN_NS) // 1_000
    assert set(numbers) <= set(range(SENT))
    assert [records[number].partition for number in numbers] == (arrivals["key"] % PARTITIONS).tolist()
    for number, row in list(zip(numbers.tolist(), rows(name), strict=True))[:25]:
        if name != "sequences":  # of which a record has a row only behind others
            assert rows_of(name, [records[number]]) == [row]


@pytest.mark.parametrize("name", OF_THE_LITERATURE)
@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (lambda rows: [*rows[:20], *rows[21:]], Faults(1, 0, 0)),
        (lambda rows: rows[:-1], Faults(1, 0, 0)),
        (lambda rows: [*rows, rows[20]], Faults(0, 1, 0)),
        (lambda rows: [*rows[:30], rows[20], *rows[30:]], Faults(0, 1, 0)),
    ],
    ids=["lost", "last lost", "repeated", "repeated soon"],
)
def test_a_row_that_is_missing_or_repeated_is_found(
    name: str, change: Callable[[list[Row]], list[Row]], faults: Faults, rows: Callable[[str], list[Row]]
) -> None:
    workload = WORKLOADS[name]
    assert workload.faults(resolved(workload, change(rows(name))), SEED, SENT) == faults


@pytest.mark.parametrize("name", OF_THE_LITERATURE)
def test_rows_out_of_order_are_found_where_they_have_an_order(name: str, rows: Callable[[str], list[Row]]) -> None:
    workload, turned = WORKLOADS[name], rows(name)[::-1]
    found = workload.faults(resolved(workload, turned), SEED, SENT)
    assert (found.lost, found.duplicated, found.reordered > 0) == (0, 0, name in ORDERED)


def test_rows_of_different_users_have_no_order(rows: Callable[[str], list[Row]]) -> None:
    workload = WORKLOADS["sequences"]
    by_user = sorted(rows("sequences"), key=lambda row: row.key or b"")
    assert workload.faults(resolved(workload, by_user), SEED, SENT) == Faults(0, 0, 0)


def test_an_alert_in_the_place_of_a_visit_and_a_visit_of_another_length_are_found(
    rows: Callable[[str], list[Row]],
) -> None:
    workload, all_rows = WORKLOADS["sequences"], rows("sequences")
    at = next(at for at, row in enumerate(all_rows) if (row.value or b"").startswith(b"visit"))
    _, number, events = (all_rows[at].value or b"").split()
    for value in (b"alert %s usage-login" % number, b"visit %s %d" % (number, int(events) - 1)):
        changed = [*all_rows[:at], all_rows[at]._replace(value=value), *all_rows[at + 1 :]]
        assert workload.faults(resolved(workload, changed), SEED, SENT) == Faults(1, 1, 0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("suite-b", lambda row: row._replace(value=b"Mi" + (row.value or b"")[2:])),
        ("suite-c", lambda row: row._replace(key=b"9999999")),
        ("grouping", lambda row: row._replace(key=b"k9999999")),
    ],
)
def test_a_row_with_a_wrong_content_is_lost_and_one_too_many(
    name: str, change: Callable[[Row], Row], rows: Callable[[str], list[Row]]
) -> None:
    workload, (first, *others) = WORKLOADS[name], rows(name)
    assert workload.faults(resolved(workload, [change(first), *others]), SEED, SENT) == Faults(1, 1, 0)


def test_a_row_of_a_record_that_nobody_sent_is_as_old_as_its_arrival() -> None:
    arrivals = np.array([(5, 0, 70, 0, 0), (-1, 0, 80, 0, 0), (1, 0, 90, 0, 0)], ARRIVAL)
    assert tracing.timed(arrivals, np.array([10, 20]))["created_ns"].tolist() == [70, 80, 20]
    assert tracing.timed(arrivals, np.empty(0, np.int64))["created_ns"].tolist() == [70, 80, 90]


def test_rows_that_look_alike_are_those_of_their_records_in_turn() -> None:
    arrivals = np.array([(code, 0, at, 0, 0) for at, code in enumerate([7, 9, 7, 8, 7, 7])], ARRIVAL)
    found = tracing.matched(arrivals, np.array([7, 9, 7, 7]), np.array([2, 3, 5, 6]))
    assert found["number"].tolist() == [2, 3, 5, -1, 6, -1]
    assert found["key"].tolist() == [0, 1, 1, 0, 0, 0]


def test_only_expected_rows_have_an_order() -> None:
    arrivals = np.array([(number, 0, 0, 0, 0) for number in (1, -1, 2, 9, 3, 2)], ARRIVAL)
    assert faults_of_rows_in_order(arrivals, np.array([1, 2, 3]), np.zeros(6, np.int64)) == Faults(0, 3, 0)
    assert faults_of_rows_in_order(arrivals, np.array([1, 2, 3, 9]), np.array([0, 0, 0, 0, 1, 0])).reordered == 0


def test_a_record_of_nexmark_is_known_by_its_id() -> None:
    values = first_values(Stream(), 200)
    assert [tracing.of_event(None, value) for value in values] == [Came(n, 0, n % PARTITIONS) for n in range(200)]


@pytest.mark.parametrize("engine", ["microBatch", "realTime"])
@pytest.mark.parametrize("name", OF_THE_LITERATURE)
def test_tandem_takes_the_manifest_of_each_and_finds_its_job(name: str, engine: Any, tmp_path: Path) -> None:
    workload, what = WORKLOADS[name], Combination(name, "leader", engine, 1, "kill")
    place = Place("run-1", "localhost:9092", "localhost:2181", "in", "out", tmp_path, tmp_path / "memory")

    manifest = load(manifest_of(Run(configuration_of(what), name, 0), place, 0))

    spec = manifest.spec
    assert (spec.engine, spec.job.function) == (engine, workload.job.function.__name__)
    assert [source.name for source in spec.sources] == list(workload.job.sources)
    assert [source.topics for source in spec.sources][1:] == ([("in-second",)] if name == "mib3" else [])
    assert dict(spec.job.options) == dict(workload.job.options)
    assert find_code(manifest).path == Path(workload.job.function.__code__.co_filename)
    assert list(reasons_against(what)) == (
        ["engine realTime cannot run sequences: it refuses processors in Python"]
        if (name, engine) == ("sequences", "realTime")
        else []
    )


def test_the_manifests_have_the_settings_that_the_workloads_have(tmp_path: Path) -> None:
    def spec(name: str) -> Any:
        place = Place("run-1", "localhost:9092", "localhost:2181", "in", "out", tmp_path, tmp_path / "memory")
        what = Combination(name, "leader", "microBatch", 1, "none")
        return load(manifest_of(Run(configuration_of(what), name, 0), place, 0)).spec

    assert spec("suite-b").job.output_mode == "update"
    assert spec("suite-a").spark.conf == {"spark.sql.chunkBase64String.enabled": "false"}
    assert spec("q1").sources[0].format == "json"
    assert "bid STRUCT<id: BIGINT" in (spec("q2").sources[0].schema_ddl or "")
    assert spec("q0").sources[0].format != "json"


@pytest.mark.parametrize(
    ("configuration", "engine", "lanes", "workload", "reason"),
    [
        ("spark-tuned", None, 1, "sequences", "it needs the order of an epoch's records"),
        ("flink-tuned", None, 1, "suite-c", "has no SQL of it"),
        ("leader", "microBatch", 2, "suite-b", "grouped by payload, which is in all partitions"),
    ],
)
def test_what_cannot_be_run_is_refused(configuration: str, engine: Any, lanes: int, workload: str, reason: str) -> None:
    (found,) = reasons_against(Combination(workload, configuration, engine, lanes, "none"))
    assert reason in found


@pytest.mark.parametrize("name", sorted(set(OF_THE_LITERATURE) - {"suite-b"}))
def test_lanes_run_what_they_can_compute_alone(name: str) -> None:
    assert not list(reasons_against(Combination(name, "leader", "microBatch", 2, "none")))


def test_a_feed_goes_on_over_all_blocks() -> None:
    feed = DEFINED["mib1"].feeds[0]
    assert isinstance(feed, literature.Feed)
    last = list(islice(feed.records(SEED, SENT), SENT - 1, None))
    assert last[0].value == fed("mib1")[-1].value
