"""A query of the real-time engine finds a position for each scan of its plan, as one of the micro-batch engine does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import StructType

from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.engine.realtime import query
from tandem.engine.realtime.query import RealTimeQuery

AFTER = EnginePosition(7, 70)


class Feed:
    """Remembers what a checkpoint says where its query would start."""

    def __init__(self, *_: object, **__: object) -> None:
        self.found: list[bytes] = []

    def launch(self, _plan: Any, _source: Any, checkpoint: Path, _watermarks: Any) -> None:
        self.found = (checkpoint / "offsets" / "7").read_bytes().splitlines()[2:]


@pytest.mark.parametrize("scans", [1, 2, 3])
def test_a_state_goes_on_whatever_scans_the_plan_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scans: int
) -> None:
    plan = object()
    for name, value in {
        "Feed": Feed,
        "pruned": lambda _: plan,
        "inlined": lambda _, found: found,
        "state_behind_watermark": lambda _: False,
        "states_of": lambda *_: [],
        "check_state": lambda *_: None,
        "note_state": lambda *_: None,
        "relocate": lambda _: None,
        "scans_of": lambda _, found: scans if found is plan else 0,
    }.items():
        monkeypatch.setattr(query, name, value)
    begin_after(tmp_path, AFTER)
    bridge: Any = SimpleNamespace(watermark_log=lambda *_: None, source=None)
    frame: Any = SimpleNamespace(sparkSession=None)
    started = RealTimeQuery(bridge, StructType(), frame, stateful=True, rest_s=1.0)
    started.begin(tmp_path, AFTER)
    feed: Any = started._feed
    assert feed.found == [AFTER.text.encode()] * scans
