"""Records, the order of runs, metrics and targets of the bench."""

from itertools import islice
from pathlib import Path

import pytest
from bench.analysis import Faults, Latency
from bench.measures import Kill, KillRun, Row, Target
from bench.metrics import parse, phases_between
from bench.plan import CONFIGURATIONS, SCALES, Run, changed, kill_runs, steady_runs
from bench.records import VALUE_BYTES, decode, encode, first_keys, key_bytes, keys
from bench.systems import Place, manifest_of
from bench.targets import targets

from tandem.manifest import load

TANDEM = [name for name, configuration in CONFIGURATIONS.items() if not configuration.peer]


def row(configuration: str, p50: float, memory: float = 500, number: int = 0, faults: Faults | None = None) -> Row:
    of = Latency(1, p50, p50, p50, p50, p50, p50)
    return Row(
        configuration, "identity", 5_000, number, of, 1, 5_000, None, memory, 1, 0, 0, {}, faults or Faults(0, 0, 0)
    )


def kill(gap: float, before: float, at_head_s: float | None = 20.0) -> Kill:
    return Kill(0, "replica-0", None, gap, before, 0, 1, 2, at_head_s, 0)


def kill_run(*kills: Kill, faults: Faults | None = None) -> KillRun:
    return KillRun("tandem-2-leader", "identity", 5_000, 0, kills, faults or Faults(0, 0, 0))


def target(name: str, found: list[Target]) -> Target:
    return next(one for one in found if one.name.startswith(name))


@pytest.mark.parametrize("name", TANDEM)
def test_the_manifest_of_each_configuration_is_accepted(name: str, tmp_path: Path) -> None:
    place = Place("bench-1", "localhost:9092", "localhost:2181", "in", "out", tmp_path, tmp_path / "memory")

    spec = load(manifest_of(Run(CONFIGURATIONS[name], "count", 0), place, 0)).spec

    assert (spec.replicas, spec.standbys) == (CONFIGURATIONS[name].replicas, CONFIGURATIONS[name].standbys)


def test_a_value_has_200_bytes_and_comes_back_whole() -> None:
    value = encode(123_456, 1_700_000_000_123_456_789)
    assert len(value) == VALUE_BYTES == 200
    assert decode(key_bytes(17), value) == (123_456, 1_700_000_000_123_456_789, 17)


def test_spark_finds_the_time_of_creation_at_its_place() -> None:
    assert encode(1, 1_700_000_000_123_456_789)[13 : 13 + 19] == b"1700000000123456789"


def test_a_count_comes_back_whole() -> None:
    assert decode(b"key-9999", b"12 1700000000123456789") == (12, 1_700_000_000_123_456_789, 9_999)


def test_the_same_seed_gives_the_same_keys() -> None:
    assert list(islice(keys(1), 70_000)) == first_keys(1, 70_000).tolist()
    assert first_keys(1, 100).tolist() != first_keys(2, 100).tolist()


def test_every_round_begins_with_another_configuration_and_has_all() -> None:
    settings = changed(SCALES["laptop"], rounds=2, jobs=("identity",), only=("plain-tuned", "tandem-1"))
    names = [(run.round, run.configuration.name) for run in steady_runs(settings)]
    assert names == [(0, "plain-tuned"), (0, "tandem-1"), (1, "tandem-1"), (1, "plain-tuned")]


def test_no_kills_are_asked_for_means_no_kill_runs() -> None:
    assert kill_runs(changed(SCALES["laptop"], kills=0, alone_kills=0)) == []


def test_a_phase_counts_per_epoch_not_per_call() -> None:
    text = 'tandem_phase_seconds_sum{phase="publish"} %s\ntandem_phase_seconds_count{phase="publish"} %s\ntandem_epoch %s\n'
    before, after = parse(text % (1.0, 10, 100)), parse(text % (1.6, 40, 200))
    assert phases_between(before, after) == {"publish": 6.0}


def test_a_replica_is_compared_with_the_best_tuned_plain_spark_of_its_round() -> None:
    rows = [row("plain-tuned", 50), row("plain-compiled", 40), row("tandem-1", 60), row("plain-default", 100)]
    rows += [row("plain-tuned", 100, number=1), row("tandem-1", 150, number=1)]
    found = target("p50 of 1 replica / best tuned", targets(rows, []))
    assert (found.value, found.reached) == (1.5, True)


def test_what_was_not_measured_is_no_target() -> None:
    assert [one.name for one in targets([row("tandem-1", 60)], [])] == ["lost, duplicated or reordered by Tandem"]


def test_gaps_are_compared_by_their_medians_and_the_worst_counts_too() -> None:
    found = targets([], [kill_run(kill(100, 100), kill(140, 100), kill(1_200, 100))])
    assert target("median gap", found).value == pytest.approx(1.4)
    assert target("worst gap", found).reached is False


def test_a_replica_that_did_not_come_back_misses_its_target() -> None:
    found = targets([], [kill_run(kill(100, 100), kill(100, 100, at_head_s=None))])
    assert target("restarted to head", found).reached is False


def test_one_lost_record_of_tandem_is_a_miss_and_one_of_plain_spark_is_not() -> None:
    assert target("lost", targets([row("tandem-1", 1, faults=Faults(1, 0, 0))], [])).reached is False
    rows = [row("tandem-1", 1), row("plain-tuned", 1, faults=Faults(1, 5, 0))]
    assert target("lost", targets(rows, [])).reached is True
