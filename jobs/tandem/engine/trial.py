"""SparkRuntime a part of an epoch, to see whether it fails: on a copy of the state before the epoch; nothing is published.

Where state is committed at barriers, there is none right before the epoch. Then every trial first computes the epochs since
the newest barrier, as the query that failed had done, without a barrier of its own: a watermark moves only there.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException, StreamingQueryException

from tandem.checkpoint.folders import begin_after, copy_up_to, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.culprit import Attempt
from tandem.engine.query import EpochQuery, GivenUpError
from tandem.engine.rehearsal import give_own_identity

_TIMEOUT_S = 60.0
_TIMES_AS_LONG = 10
"""As the whole epoch took until it failed: what does not fail may take longer."""


class TrialError(Exception):
    """Trials are over, or cannot be made: the text says why."""


class NotSearchedError(TrialError):
    """No record can be looked for, as things are: the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Offered:
    """An epoch as a query was given it: where it is, its records, its time (Unix, ms), and whether it is a barrier."""

    position: EnginePosition
    batch: pa.RecordBatch
    time_ms: int
    barrier: bool = False


def most_s(took_s: float) -> float:
    """How long a trial may take, s, of an epoch that took `took_s` until it failed."""
    return max(_TIMEOUT_S, _TIMES_AS_LONG * took_s)


class Trials:
    """Parameters
    ----------
    query : over the job's plan, which nobody else uses meanwhile.
    folder : for copies of the state.
    anywhere : the job keeps no state, so that a query may begin after any epoch, whatever the checkpoint holds.
    at_barriers : state is committed at barriers, so that there is none right before most epochs.
    """

    def __init__(self, query: EpochQuery, folder: Path, anywhere: bool = False, at_barriers: bool = False) -> None:
        self._query = query
        self._folder = folder
        self._anywhere = anywhere
        self._at_barriers = at_barriers
        self._made = 0

    def of(
        self,
        checkpoint: Path,
        position: EnginePosition,
        batch: pa.RecordBatch,
        time_ms: int,
        over: Callable[[], str],
        earlier: Sequence[Offered] = (),
        took_s: float = 0.0,
    ) -> Attempt:
        """What computes rows of the epoch at `position`; `checkpoint` is not touched.

        `over` : why there shall be no further trial; "": go on. `earlier` : the epochs before it that `checkpoint` may not
        have, as they were computed; none where it stands right before the epoch. `took_s` : what the epoch took until it
        failed. What is returned raises `TrialError`.
        Raises `NotSearchedError` if they are not known where state is committed at barriers.
        """
        before = None if self._anywhere else find_newest([checkpoint], position.epoch - 1)
        after = EnginePosition(position.epoch - 1, 0) if self._anywhere else EnginePosition()
        if before is not None:
            after = before.position
        missing = [one for one in earlier if one.position.epoch > after.epoch]
        if [one.position.epoch for one in missing] != list(range(after.epoch + 1, position.epoch)):
            if self._at_barriers and not earlier:
                raise NotSearchedError(_between_barriers(after.epoch, position.epoch))
            raise TrialError(
                f"the checkpoint stands at epoch {after.epoch}, and not all epochs up to {position.epoch} are here"
            )

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
                tried = Offered(position, batch.take(pa.array(rows, pa.int64())), time_ms)
                return self._failure(copy, after, missing, tried, most_s(took_s), over)
            except (OSError, PySparkException) as error:
                raise TrialError(str(error).partition("\n")[0]) from error
            finally:
                shutil.rmtree(copy.parent, ignore_errors=True)

        return attempt

    def _failure(
        self,
        checkpoint: Path,
        after: EnginePosition,
        missing: Sequence[Offered],
        tried: Offered,
        timeout_s: float,
        over: Callable[[], str],
    ) -> BaseException | None:
        deadline = time.monotonic() + timeout_s

        def give_up() -> str:
            slow = f"computing a part of the epoch took longer than {timeout_s:.0f} s"
            return over() or (slow if time.monotonic() > deadline else "")

        self._query.begin(checkpoint, after)
        try:
            for one in missing:
                self._query.compute(one.position, one.batch, one.time_ms, give_up, one.barrier)
                self._query.commit()
            self._query.compute(tried.position, tried.batch, tried.time_ms, give_up)
        except GivenUpError as error:
            raise TrialError(str(error)) from error
        except (StreamingQueryException, RuntimeError) as error:
            return error
        finally:
            self._query.stop()
        return None


def _between_barriers(state: int, epoch: int) -> str:
    of = "there is no state yet" if state < 0 else f"the newest state is of epoch {state}"
    return (
        f"the record was not looked for: that takes the state of epoch {epoch - 1}, and the real-time engine keeps state at "
        f"barriers only; {of}. To have it looked for, let the job go on with spec.engine: microBatch, where "
        "spec.job.onError: deadLetter is possible, too"
    )
