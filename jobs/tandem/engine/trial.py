"""Computing a part of an epoch, to see whether it fails: on a copy of the state before the epoch; nothing is published."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException, StreamingQueryException

from tandem.checkpoint.folders import begin_after, copy_up_to, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.culprit import Attempt
from tandem.engine.query import EpochQuery, GivenUpError
from tandem.engine.rehearsal import give_own_identity

_TIMEOUT_S = 60.0


class TrialError(Exception):
    """Trials are over, or cannot be made: the text says why."""


class Trials:
    """Parameters
    ----------
    query : over the job's plan, which nobody else uses meanwhile.
    folder : for copies of the state.
    anywhere : the job keeps no state, so that a query may begin after any epoch, whatever the checkpoint holds.
    """

    def __init__(self, query: EpochQuery, folder: Path, anywhere: bool = False) -> None:
        self._query = query
        self._folder = folder
        self._anywhere = anywhere
        self._made = 0

    def of(
        self,
        checkpoint: Path,
        position: EnginePosition,
        batch: pa.RecordBatch,
        time_ms: int,
        over: Callable[[], str],
    ) -> Attempt:
        """What computes rows of the epoch at `position`; `checkpoint` stands right before it, and is not touched.

        `over` : why there shall be no further trial; "": go on. What is returned raises `TrialError`.
        """
        before = None if self._anywhere else find_newest([checkpoint], position.epoch - 1)
        after = EnginePosition(position.epoch - 1, 0) if self._anywhere else EnginePosition()
        if before is not None:
            after = before.position
        if after.epoch != position.epoch - 1:
            raise TrialError(f"the checkpoint does not stand at epoch {position.epoch - 1}")

        def attempt(rows: Sequence[int]) -> BaseException | None:
            self._made += 1
            copy = self._folder / f"trial-{self._made}" / "checkpoint"
            copy.mkdir(parents=True, exist_ok=True)
            try:
                if before is not None:
                    copy_up_to(before, copy)
                    give_own_identity(copy)
                elif after.epoch >= 0:
                    begin_after(copy, after)
                return self._failure(copy, after, position, batch.take(pa.array(rows, pa.int64())), time_ms, over)
            except (OSError, PySparkException) as error:
                raise TrialError(str(error).partition("\n")[0]) from error
            finally:
                shutil.rmtree(copy.parent, ignore_errors=True)

        return attempt

    def _failure(
        self,
        checkpoint: Path,
        after: EnginePosition,
        position: EnginePosition,
        batch: pa.RecordBatch,
        time_ms: int,
        over: Callable[[], str],
    ) -> BaseException | None:
        deadline = time.monotonic() + _TIMEOUT_S

        def give_up() -> str:
            slow = f"computing a part of the epoch took longer than {_TIMEOUT_S:.0f} s"
            return over() or (slow if time.monotonic() > deadline else "")

        self._query.begin(checkpoint, after)
        try:
            self._query.compute(position, batch, time_ms, give_up)
        except GivenUpError as error:
            raise TrialError(str(error)) from error
        except (StreamingQueryException, RuntimeError) as error:
            return error
        finally:
            self._query.stop()
        return None
