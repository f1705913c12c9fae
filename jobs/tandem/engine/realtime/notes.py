"""Where a query without state stands, written down beside it now and then in the form of Spark's own logs.

Such a query has no state to commit, so Spark's checkpoint of it would stay empty for as long as it runs. A reader that asks
how far this replica's checkpoint is (retention, snapshots, those who follow) finds these notes instead. They also say that
there is no state: code that keeps some cannot go on from there (`kept_state`).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tandem.checkpoint.position import EnginePosition
from tandem.engine.kept_state import note_state

_EVERY_S: Final = 1.0
_KEPT: Final = 3


class PositionNotes:
    """`folder` : the checkpoint's."""

    def __init__(self, folder: Path, every_s: float = _EVERY_S, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._every_s, self._clock_s = folder, every_s, clock_s
        self._noted_s = clock_s()
        self._pending: EnginePosition | None = None
        for log in ("offsets", "commits"):
            (folder / log).mkdir(parents=True, exist_ok=True)
        if not (folder / "metadata").exists():
            (folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
        note_state(folder, [])
        known = [int(path.name) for path in (folder / "commits").iterdir() if path.name.isdigit()]
        self._batch = max(known, default=-1)

    def passed(self, position: EnginePosition) -> None:
        """The query has computed the epoch at `position`."""
        self._pending = position
        if self._clock_s() - self._noted_s >= self._every_s:
            self.rest()

    def rest(self) -> None:
        """Write down what was passed and is not noted: the next epoch may be long in coming."""
        if self._pending is not None:
            self._note(self._pending)
            self._pending, self._noted_s = None, self._clock_s()

    def _note(self, position: EnginePosition) -> None:
        self._batch += 1
        times = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}
        self._write("offsets", ["v1", json.dumps(times), position.text])
        self._write("commits", ["v1", json.dumps({"nextBatchWatermarkMs": 0})])
        for log in ("commits", "offsets"):
            (self._folder / log / str(self._batch - _KEPT)).unlink(missing_ok=True)

    def _write(self, log: str, lines: list[str]) -> None:
        written = self._folder / log / f".{self._batch}"
        written.write_text("\n".join(lines))
        written.replace(self._folder / log / str(self._batch))
