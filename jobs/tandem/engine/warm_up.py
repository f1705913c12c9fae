"""Warming up: a few epochs through the job's plan and a state of no consequence, before the real state is restored.

The first micro-batches of a JVM cost seconds (classes, code generation, Python workers, the state store's library). A
replica that restored first and warmed up afterwards would fall behind by all the epochs of that time.
"""

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tandem.checkpoint.position import EnginePosition
from tandem.engine.faults import any_fault
from tandem.engine.memory import EpochSize
from tandem.engine.prepared import PreparedJob
from tandem.engine.query import GivenUpError
from tandem.intake.fetch import Fetched
from tandem.intake.fetcher import EpochFetcher
from tandem.logs import get_logger

_log = get_logger(__name__)

_CUT_TIMEOUT_S = 0.5

_MOST_BYTES = 8 * 2**20
_EPOCHS, _LASTING_EPOCHS = 4, 100


class WarmUp:
    """Runs the job's plan on epochs of the past; their rows are dropped.

    Nobody is asked the job's questions: only what is recorded is used.

    `folder` : for its checkpoint; removed afterwards.
    `timeout_s` : how long to run epochs at most.
    """

    def __init__(self, job: PreparedJob, folder: Path, timeout_s: float = 15.0) -> None:
        self._job = job
        self._folder = folder
        self._timeout_s = timeout_s
        self.given: EpochSize | None = None
        """What Spark was given last, if that has failed: it is the epoch's fault rather than the plan's."""

    def run(self, make_fetcher: Callable[[], EpochFetcher], stopped: Callable[[], bool] = lambda: False) -> None:
        """Run a few epochs; an empty one if there is no cut yet. Whatever fails here only costs the warmth.

        In real-time mode an epoch costs nearly nothing, and the JVM needs many before it is fast: the last one is repeated.
        Only a few of them change tables.
        """
        with ExitStack() as stack:
            try:
                fetcher = make_fetcher()
                stack.callback(fetcher.close)
                self._run(fetcher, stopped)
            except Exception as error:
                _log.warning("warm_up_failed", reason=any_fault(error))
            finally:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, fetcher: EpochFetcher, stopped: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self._timeout_s
        self._folder.mkdir(parents=True, exist_ok=True)

        def give_up() -> str:
            return "it was stopped, or takes long" if stopped() or time.monotonic() > deadline else ""

        def wait(what: str) -> None:
            if reason := give_up():
                raise GivenUpError(f"{reason}: it waits for {what}")

        query, intake = self._job.spare, self._job.intake
        query.begin(self._folder / "checkpoint", EnginePosition())
        try:
            more, batch, time_ms = True, intake.nothing, 0
            for number in range(_LASTING_EPOCHS if self._job.real_time else _EPOCHS):
                fetched = self._next(fetcher) if more else None
                more = fetched is not None
                if fetched is not None:
                    intake.await_schemas(fetched, wait)
                    batch, time_ms = intake.take(fetched).batch, fetched.range.time_ms
                elif number > 0 and not self._job.real_time:
                    return
                if batch.nbytes > _MOST_BYTES:
                    return  # it may not fit, and who computes it says so
                if fetched is None or number >= _EPOCHS:
                    batch = self._of_streams(batch)
                if fetched is not None:
                    self.given = EpochSize(fetched.range.epoch, batch.num_rows, batch.nbytes)
                query.compute(EnginePosition(number, 0), batch, time_ms, give_up)
                self.given = None
                query.commit()
        finally:
            query.stop()

    def _of_streams(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without records of tables: each change of a table ends Spark's batch, which takes tenths of a second."""
        tables = [topic for source in self._job.intake.sources if source.table is not None for topic in source.topics]
        if not tables:
            return batch
        return batch.filter(pc.invert(pc.is_in(batch["topic"], pa.array(tables, pa.string()))))

    def _next(self, fetcher: EpochFetcher) -> Fetched | None:
        epoch = fetcher.next_cut(_CUT_TIMEOUT_S)
        if epoch is None:
            return None
        return self._job.causal.answered(fetcher.fetch(epoch, self._timeout_s), fetcher.cuts)
