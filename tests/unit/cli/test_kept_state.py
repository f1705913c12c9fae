"""Which state gets a name: the newest of the generation that runs; before that has any, the one that it began with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.cli import upgrade as command
from tandem.cli.kept import Generation, known_lineages, name_for
from tandem.cli.state import _place
from tandem.cli.stores import Screen
from tandem.cli.upgrade import _Lane, _savepoint
from tandem.kafka.errors import ConnectionFailedError, LostInputError
from tandem.local import snapshot_inputs
from tandem.local.snapshot_inputs import inputs_of
from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.replica.local_savepoints import LINEAGE
from tandem.snapshots import DamagedSavepoint, Listing, NoSnapshotError, Savepoint, Savepoints, SnapshotManifest
from unit.cli.kept_lanes import RUNS, Lanes
from unit.snapshots.savepoint_builders import INPUTS

NEXT = replace(RUNS, generation=1, digest="beef", base=7, savepoint="generation-1")


def of(lanes: Lanes) -> Generation:
    return Generation.of(lanes.job.lanes[0])


def test_before_its_first_snapshot_a_generation_has_the_state_that_it_began_with(lanes: Lanes) -> None:
    savepoints = Savepoints(lanes.store(0))
    begun = savepoints.create("generation-1", lanes.snapshot(0), INPUTS)
    lanes.snapshot(0, 30)  # of the generation before, whose code computed it
    lanes.configs["orders.lane-0"] = NEXT

    assert of(lanes).newest().keep("kept").snapshot == begun.snapshot

    newer = lanes.snapshot(0, 20, NEXT.lineage)
    assert of(lanes).newest().keep("later").snapshot == newer


def test_without_any_state_there_is_none_to_name(lanes: Lanes) -> None:
    lanes.configs["orders.lane-0"] = replace(NEXT, savepoint="")
    with pytest.raises(NoSnapshotError, match="there is no snapshot of the generation that runs now"):
        of(lanes).newest()


def test_what_runs_is_not_known_where_kafka_does_not_answer(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_lineages(lanes.job.lanes[0]) == RUNS.lineages

    def away(*_: object) -> None:
        raise ConnectionFailedError("nobody")

    monkeypatch.setattr("tandem.cli.kept.current_config", away)
    assert known_lineages(lanes.job.lanes[0]) is None


def shown(lanes: Lanes, live: bool) -> int:
    """The epoch whose state `tandem state` shows."""
    with _place(Screen(), lanes.job.lanes[0], None, live) as place:
        return place.epoch


@pytest.mark.parametrize("live", [False, True], ids=["snapshots", "live"])
def test_state_is_shown_of_what_runs_and_without_kafka_of_any_run(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], live: bool
) -> None:
    lanes.snapshot(0, 900, "of another run")
    for epoch, lineage in ((7, RUNS.lineage), (900, "of another run")):
        folder = lanes.job.lanes[0].checkpoint_directory / f"orders.lane-0.replica-0.{epoch}"
        begin_after(folder / "checkpoint", EnginePosition(epoch, epoch))
        (folder / LINEAGE).write_text(lineage)

    assert shown(lanes, live) == 7
    assert capsys.readouterr().err == ""

    monkeypatch.setattr("tandem.cli.state.known_lineages", lambda _: None)
    assert shown(lanes, live) == 900
    assert "Kafka does not say what orders.lane-0 runs" in capsys.readouterr().err


def upgrading(lanes: Lanes) -> _Lane:
    job = lanes.job.lanes[0]
    return _Lane(job, job, None, None, RUNS, "the code")  # type: ignore[arg-type]


def test_an_upgrade_takes_no_savepoint_of_a_try_that_failed_long_ago(lanes: Lanes) -> None:
    assert _savepoint(upgrading(lanes)) == ("generation-1", 7)
    assert _savepoint(upgrading(lanes)) == ("generation-1", 7), "the very state"
    lanes.snapshot(0, 900)
    assert _savepoint(upgrading(lanes)) == ("generation-1-2", 900)
    assert Savepoints(lanes.store(0)).list().names == ("generation-1", "generation-1-2")


def test_an_upgrade_says_of_which_epoch_its_state_is(lanes: Lanes, capsys: pytest.CaptureFixture[str]) -> None:
    class Upgraded:
        def __init__(self, *_: object, **__: object) -> None: ...

        def run(self) -> int:
            return 1

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "Upgrade", Upgraded)
        patched.setattr(command, "has_other_files", lambda *_: True)
        command._upgrade(Screen(), upgrading(lanes), "", ())
    assert "savepoint generation-1 of epoch 7: the code" in " ".join(capsys.readouterr().out.split())


def test_a_name_is_used_again_for_the_same_state_only(lanes: Lanes) -> None:
    mine, other = lanes.snapshot(0, 8), lanes.snapshot(0, 8, "of another run")

    def named(*given: tuple[str, SnapshotManifest], damaged: tuple[str, ...] = ()) -> Listing:
        made = tuple(Savepoint(name, 1, INPUTS, snapshot) for name, snapshot in given)
        return Listing(made, tuple(DamagedSavepoint(name, "torn") for name in damaged))

    assert name_for(mine, "a", named()) == "a"
    assert name_for(mine, "a", named(("a", mine))) == "a"
    assert name_for(mine, "a", named(("a", other))) == "a-2"
    assert name_for(mine, "a", named(("a", other), ("a-2", mine))) == "a-2"
    assert name_for(mine, "a", named(("a", other), damaged=("a-2",))) == "a-3"


ENDS = Offsets({TopicPartition("orders", 0): 5})


def test_a_cut_of_another_epoch_is_of_another_log(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    job, snapshot = lanes.job.lanes[0], lanes.snapshot(0, 9)
    there = of(lanes).connection
    monkeypatch.setattr(snapshot_inputs, "cut_at", lambda *_: Cut(9, ENDS, 1, 0, "orderer-0"))
    assert inputs_of(job, there, snapshot).positions == ENDS

    monkeypatch.setattr(snapshot_inputs, "cut_at", lambda *_: Cut(3, ENDS, 1, 0, "orderer-0"))
    with pytest.raises(NoSnapshotError, match=r"the cut at offset 90 is of epoch 3, not 9: .* is of another topic"):
        inputs_of(job, there, snapshot)

    def short(*_: object) -> Cut:
        raise LostInputError("no record at offset 90")

    monkeypatch.setattr(snapshot_inputs, "cut_at", short)
    with pytest.raises(NoSnapshotError, match="no record at offset 90"):
        inputs_of(job, there, snapshot)
