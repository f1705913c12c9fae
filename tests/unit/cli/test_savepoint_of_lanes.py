"""Savepoints of a job with lanes: of all or of none, as far as that can be known before; and another try goes on."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner, Result

from tandem.cli.main import app
from tandem.process.info import ExitCode
from tandem.snapshots import Savepoints
from unit.cli.kept_lanes import RUNS, Lanes
from unit.snapshots.snapshot_builders import Faults


def savepoint(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "400"}).invoke(app, ["savepoint", *arguments])


def having(lanes: Lanes, name: str = "before") -> list[int]:
    """The lanes that have a savepoint of that name."""
    return [lane for lane in range(4) if name in Savepoints(lanes.store(lane)).list().names]


def test_all_lanes_get_one(lanes: Lanes) -> None:
    result = savepoint("create", lanes.path, "before")
    assert result.exit_code == ExitCode.OK, result.output
    assert having(lanes) == [0, 1, 2, 3]
    assert "savepoint before of job orders.lane-3: epoch 7" in result.stdout


def test_if_one_lane_has_no_snapshot_none_is_made(lanes: Lanes) -> None:
    lanes.published["orders.lane-2"] = 8
    result = savepoint("create", lanes.path, "before", "--wait", "1s")
    assert result.exit_code == ExitCode.FAILED
    assert "no snapshot of epoch 8" in result.stderr
    assert having(lanes) == []


@pytest.mark.parametrize("options", [(), ("--newest",)])
def test_lanes_that_have_published_nothing_are_named_and_none_is_made(lanes: Lanes, options: tuple[str, ...]) -> None:
    del lanes.published["orders.lane-1"], lanes.configs["orders.lane-3"]
    result = savepoint("create", lanes.path, "before", *options)
    assert result.exit_code == ExitCode.FAILED
    assert "orders.lane-1, orders.lane-3 have published nothing yet" in result.stderr
    assert having(lanes) == []


def test_another_try_goes_on_with_the_lanes_that_lack_it(lanes: Lanes, faults: type[Faults]) -> None:
    def fails(operation: str, path: str) -> None:
        if operation == "name" and "orders.lane-2/savepoints/" in path:
            raise ConnectionError("no route")

    faults.set(fails)
    first = savepoint("create", lanes.path, "before")
    assert first.exit_code == ExitCode.REFUSED, "the store is to be fixed"
    assert "orders.lane-0, orders.lane-1 have savepoint before. The same command goes on" in first.stderr
    assert "no savepoint was made: orders.lane-2: cannot write" in first.stderr
    assert having(lanes) == [0, 1]

    faults.heal()
    second = savepoint("create", lanes.path, "before")
    assert second.exit_code == ExitCode.OK, second.output
    assert "orders.lane-1 has a savepoint before already, which stays: epoch 7" in second.stdout
    assert having(lanes) == [0, 1, 2, 3]

    third = savepoint("create", lanes.path, "before")
    assert third.exit_code == ExitCode.FAILED
    assert "all lanes have a savepoint before" in third.stderr


def test_all_are_deleted_and_the_lanes_without_one_are_named(lanes: Lanes) -> None:
    savepoint("create", lanes.path, "before")
    savepoint("delete", lanes.path, "before", "--lane", "1")
    result = savepoint("delete", lanes.path, "before")
    assert result.exit_code == ExitCode.OK
    assert having(lanes) == []
    assert "orders.lane-1 had no savepoint before" in result.stderr

    again = savepoint("delete", lanes.path, "before")
    assert again.exit_code == ExitCode.FAILED
    assert "no lane has a savepoint before" in again.stderr


def test_a_snapshot_of_an_earlier_run_gets_no_name(lanes: Lanes) -> None:
    """The topics were deleted, the store was kept: its newest snapshot is of an epoch that this log has not reached."""
    lanes.snapshot(0, 900, "of another run")
    assert savepoint("create", lanes.path, "before", "--lane", "0").exit_code == ExitCode.OK
    assert Savepoints(lanes.store(0)).get("before").snapshot.epoch == 7
    assert savepoint("create", lanes.path, "newest", "--lane", "0", "--newest").exit_code == ExitCode.OK
    assert Savepoints(lanes.store(0)).get("newest").snapshot.config_digest == RUNS.lineage
