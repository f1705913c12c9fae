"""Rehearsing: epochs of the log through the job's plan, on a copy of a state; nothing is published."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Generator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame

from tandem.engine.bridge import EpochBridge
from tandem.engine.causal import Causal
from tandem.engine.faults import job_fault
from tandem.engine.fetch import EpochFetcher
from tandem.engine.intake import Intake
from tandem.engine.interface import EnginePosition

_CUT_TIMEOUT_S = 5.0
_FETCH_TIMEOUT_S = 30.0


class StateUnusableError(Exception):
    """Spark cannot go on from the state that it was given."""


class Rehearsal:
    """Runs the job's plan once more, beside the query that counts.

    Parameters
    ----------
    bridge, frame, output_mode : a query of its own over the job's plan.
    causal : the job's questions; nobody is asked, only what is recorded is used.
    intake : takes the records in.
    leaves_letters : what the job raises about a record makes that a dead letter: such an epoch ends a rehearsal.
    timeout_s : for an epoch.
    """

    def __init__(
        self,
        bridge: EpochBridge,
        frame: DataFrame,
        output_mode: str,
        causal: Causal,
        intake: Intake,
        leaves_letters: bool = False,
        timeout_s: float = 60.0,
    ) -> None:
        self._bridge = bridge
        self._frame = frame
        self._output_mode = output_mode
        self._causal = causal
        self._intake = intake
        self._leaves_letters = leaves_letters
        self._timeout_s = timeout_s

    def run(
        self,
        checkpoint: Path,
        after: EnginePosition,
        fetcher: EpochFetcher,
        stopped: Callable[[], bool],
    ) -> Generator[tuple[int, pa.Table], None, None]:
        """The epochs after `after` and their rows, as long as the caller asks for more and the log has more.

        `checkpoint` is the caller's to spoil; `fetcher` stands at `after`, and is closed in the end. Raises
        `StateUnusableError`, `LostInputError`, `ReadTimeoutError`.
        """
        give_own_identity(checkpoint)
        try:
            query = self._bridge.start(self._frame, checkpoint, self._output_mode, after)
            try:
                while (cut := fetcher.next_cut(_CUT_TIMEOUT_S)) is not None:
                    fetched = self._causal.recorded(fetcher.fetch(cut, _FETCH_TIMEOUT_S), fetcher)
                    position = EnginePosition(cut.epoch, cut.log_offset)
                    records = self._intake.take(fetched)
                    self._bridge.offer(position, records.batch, cut.time_ms)
                    deadline = time.monotonic() + self._timeout_s
                    while (taken := self._bridge.take()) is None:
                        if stopped():
                            return
                        if not query.isActive or time.monotonic() > deadline:
                            error = query.exception()
                            if self._leaves_letters and error is not None and job_fault(error) is not None:
                                return
                            why = error or f"epoch {cut.epoch} took longer than {self._timeout_s:.0f} s"
                            raise StateUnusableError(str(why).partition("\n")[0])
                    yield taken[0], records.completed(taken[1])[0]
                    self._bridge.acknowledge()
            finally:
                query.stop()
        finally:
            fetcher.close()


def give_own_identity(checkpoint: Path) -> None:
    """Spark ends a running query when another of its identity starts: the one that counts must not wait for that."""
    metadata = checkpoint / "metadata"
    if metadata.exists():
        metadata.unlink()  # it may be a hard link
        metadata.write_text(json.dumps({"id": str(uuid.uuid4())}))
