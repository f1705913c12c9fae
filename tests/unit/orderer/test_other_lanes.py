"""An orderer that was started with another number of lanes than the job runs with refuses: it would cut others' records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.orderer.main import _check_lanes
from tandem.process.ending import EndKind, kind_of
from tandem.process.entry import REFUSALS
from tandem.process.info import RefusedError
from tandem.replica.lanes_before import with_lanes
from unit.local.test_lane_checks import JOB, begun, written


def test_a_first_config_says_of_how_many_lanes_by_its_digest(tmp_path: Path) -> None:
    job = written(tmp_path, JOB)
    config = begun(job.lanes[0])
    assert config.lanes == 0, "it does not say so otherwise"
    _check_lanes(config, 4)
    with pytest.raises(RefusedError, match=r"the job runs with spec\.lanes: 4, by replica-0, and not with 2"):
        _check_lanes(config, 2)
    with pytest.raises(RefusedError, match=r"the job runs with spec\.lanes: 1"):
        _check_lanes(begun(with_lanes(job, 1)), 2)


def test_one_that_has_changed_says_so_itself(tmp_path: Path) -> None:
    config = replace(begun(written(tmp_path, JOB).lanes[0]), lanes=2, lane=0)
    _check_lanes(config, 2)
    with pytest.raises(RefusedError, match=r"spec\.lanes: 2"):
        _check_lanes(config, 4)


def test_before_the_job_has_begun_any_number_will_do() -> None:
    _check_lanes(None, 8)


def test_the_refusal_is_one_that_a_restart_does_not_change() -> None:
    assert kind_of(RefusedError("the job runs with spec.lanes: 2"), REFUSALS) is EndKind.REFUSED
