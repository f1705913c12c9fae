"""Settings that a state was begun with: another value is refused, since Spark would pass over it in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.engine.state_settings import check_settings
from tandem.jobapi.errors import JobError

AFTER = EnginePosition(7, 70)
POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT = {POLICY: "min", PARTITIONS: "200"}.get


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """It stands at `AFTER`, behind a batch that was begun with settings of its own."""
    begin_after(tmp_path, AFTER)
    conf = {POLICY: "min", PROVIDER: "a.Provider", PARTITIONS: "1"}
    for batch, noted in ((6, {POLICY: "max"}), (7, conf), (8, {POLICY: "max"})):  # the last was not committed
        times = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": noted})
        position = EnginePosition(batch, AFTER.log_offset).text
        (tmp_path / "offsets" / str(batch)).write_text("\n".join(["v1", times, position]))
    return tmp_path


@pytest.mark.parametrize("session", [{}, {POLICY: " MIN"}, {PARTITIONS: "2"}, {"spark.sql.ansi.enabled": "false"}])
def test_what_is_as_it_was_or_not_the_state_s_has_its_effect(checkpoint: Path, session: dict[str, str]) -> None:
    check_settings(checkpoint, AFTER, session, DEFAULT)


def test_another_value_is_refused_with_the_one_that_the_state_keeps(checkpoint: Path) -> None:
    with pytest.raises(JobError, match=rf"begun with {POLICY}: min, .*; max, as .* Set it back to min; or give"):
        check_settings(checkpoint, AFTER, {POLICY: "max"}, DEFAULT)


def test_a_setting_that_is_no_longer_set_would_have_sparks_default_and_is_refused(checkpoint: Path) -> None:
    with pytest.raises(
        JobError,
        match=rf"begun with {POLICY}: min, .*; it is not set now, and Spark's default, max, .* Set it to min in",
    ):
        check_settings(checkpoint, AFTER, {}, {POLICY: "max"}.get)


def test_a_value_that_is_refused_by_now_cannot_be_set_back(checkpoint: Path) -> None:
    with pytest.raises(
        JobError, match=r"providerClass: a\.Provider, .*; but it must be b\.Provider: .*\. Give the changed"
    ):
        check_settings(checkpoint, AFTER, {PROVIDER: "b.Provider"}, DEFAULT)


def test_a_checkpoint_that_no_query_of_spark_s_has_written_has_no_settings(tmp_path: Path) -> None:
    check_settings(tmp_path, AFTER, {POLICY: "max"}, DEFAULT)
    begin_after(tmp_path, AFTER)
    check_settings(tmp_path, AFTER, {POLICY: "max"}, DEFAULT)
