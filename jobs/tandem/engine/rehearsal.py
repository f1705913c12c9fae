"""Rehearsing: epochs of the log through the job's plan, on a copy of a state; nothing is published."""

import json
import time
import uuid
from collections.abc import Callable, Generator
from pathlib import Path

import pyarrow as pa
from pyspark.errors import StreamingQueryException

from tandem.checkpoint.position import EnginePosition
from tandem.engine.faults import any_fault, job_fault, record_fault
from tandem.engine.prepared import PreparedJob
from tandem.engine.query import GivenUpError
from tandem.intake.fetch import Fetched
from tandem.intake.fetcher import EpochFetcher
from tandem.kafka.errors import ReadTimeoutError
from tandem.protocol.values import EpochRange

_CUT_TIMEOUT_S = 5.0
_FETCH_TIMEOUT_S = 30.0


class StateUnusableError(Exception):
    """Spark cannot go on from the state that it was given. `fault`: what the job's code raised; "": it was not that."""

    def __init__(self, message: str, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault


class Rehearsal:
    """Runs the job's plan once more, beside the query that counts.

    Nobody is asked the job's questions: only what is recorded is used. Where what the job raises about a record makes that a
    dead letter, such an epoch ends a rehearsal.

    `timeout_s` : for an epoch.
    """

    def __init__(self, job: PreparedJob, timeout_s: float = 60.0) -> None:
        self._job = job
        self._timeout_s = timeout_s

    def run(
        self,
        checkpoint: Path,
        after: EnginePosition,
        fetcher: EpochFetcher,
        stopped: Callable[[], bool],
    ) -> Generator[tuple[int, pa.Table], None, None]:
        """The epochs after `after` and their rows, as long as the caller asks for more and the log has more.

        They end in batches where the log has common barriers: a watermark moves only there. `checkpoint` is the caller's to
        spoil; `fetcher` stands at `after`, and is closed in the end. Raises
        `StateUnusableError`, `LostInputError`, `ReadTimeoutError`; `TimeoutError` if an epoch lasts, which says nothing of
        the state.
        """
        give_own_identity(checkpoint)
        query = self._job.spare
        try:
            query.begin(checkpoint, after)
            while (cut := fetcher.next_cut(_CUT_TIMEOUT_S)) is not None:
                fetched = self._job.causal.answered(fetcher.fetch(cut, _FETCH_TIMEOUT_S), fetcher.cuts)
                self._await_schemas(fetched, stopped)
                records = self._job.intake.take(fetched)
                rows = self._rows(cut, records.batch, stopped)
                if rows is None:
                    return
                yield cut.epoch, self._job.encoding.encoded(records.completed(rows)[0])
                query.commit()
        finally:
            query.stop()
            fetcher.close()

    def _await_schemas(self, fetched: Fetched, stopped: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self._timeout_s

        def wait(what: str) -> None:
            if stopped() or time.monotonic() > deadline:
                raise ReadTimeoutError(f"a rehearsed epoch waits for {what}")

        self._job.intake.await_schemas(fetched, wait)

    def _rows(self, cut: EpochRange, batch: pa.RecordBatch, stopped: Callable[[], bool]) -> pa.Table | None:
        """Of an epoch; None if the rehearsal ends here, and nothing is wrong with the state."""
        deadline = time.monotonic() + self._timeout_s

        def give_up() -> str:
            return "it was stopped, or takes long" if stopped() or time.monotonic() > deadline else ""

        try:
            position = EnginePosition(cut.epoch, cut.log_offset)
            return self._job.spare.compute(position, batch, cut.time_ms, give_up, cut.barrier)
        except GivenUpError as error:
            if stopped():
                return None
            raise TimeoutError(f"epoch {cut.epoch} took longer than {self._timeout_s:.0f} s") from error
        except (StreamingQueryException, RuntimeError) as error:
            if self._job.leaves_letters and record_fault(error) is not None:
                return None
            raise StateUnusableError(any_fault(error), job_fault(error) or "") from error


def give_own_identity(checkpoint: Path) -> None:
    """Spark ends a running query when another of its identity starts: the one that counts must not wait for that."""
    metadata = checkpoint / "metadata"
    if metadata.exists():
        metadata.unlink()  # it may be a hard link
        metadata.write_text(json.dumps({"id": str(uuid.uuid4())}))
