"""The engine on Spark: the loop that fetches an epoch, gives it to the job's query, and hands on its rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException, StreamingQueryException

from tandem.checkpoint.position import EnginePosition
from tandem.core.batches import Batches
from tandem.engine import slow_epoch
from tandem.engine.blame import Failed, explained, not_found, repeated
from tandem.engine.culprit import Attempt
from tandem.engine.faults import record_fault
from tandem.engine.foreach_batch import BatchFunctions
from tandem.engine.interface import OnEpoch, OnFailure, StoppedError
from tandem.engine.isolation import isolated
from tandem.engine.memory import EpochSize
from tandem.engine.one_row import check_one_row
from tandem.engine.prepared import PreparedJob
from tandem.engine.query import GivenUpError
from tandem.engine.rehearsal import Rehearsal
from tandem.engine.repeated import MOST_TRIES, FailedEpochs
from tandem.engine.shared_state import state_behind_watermark, stateful_operators
from tandem.engine.trial import TrialError, Trials
from tandem.engine.warm_up import WarmUp
from tandem.intake.fetch import Epochs, Fetched
from tandem.intake.fetcher import EpochFetcher
from tandem.intake.parsing import Counts, EpochRecords
from tandem.jobapi.errors import JobError
from tandem.jobapi.job import in_a_line
from tandem.logs import get_logger
from tandem.waits import Task

_log = get_logger(__name__)

CUT_TIMEOUT_S = 0.5

MakeFetcher = Callable[[EnginePosition], EpochFetcher]
OnCounts = Callable[[Mapping[str, Counts], int], None]


class SparkEngine:
    """Runs a job as one streaming query, epoch by epoch: in micro-batches or in real-time mode, as the query does.

    Parameters
    ----------
    job : the job's queries and what they need.
    folder : folder/checkpoint is the query's checkpoint; other folders in it are removed after use.
    make_fetcher : makes what fetches epochs after a position.
    phase : called with the name of a phase, gives a context that times it.
    count : called with what each source had in an epoch, and with how many rows came too late for a watermark.
    """

    def __init__(
        self,
        job: PreparedJob,
        folder: Path,
        make_fetcher: MakeFetcher,
        phase: Callable[[str], Any],
        count: OnCounts = lambda *_: None,
    ) -> None:
        self.job = job
        self._warm_up = WarmUp(job, folder / "warm-up")
        self._rehearsal = Rehearsal(job)
        self._trials = Trials(job.trial, folder, job.begins_anywhere, at_barriers=job.real_time)
        self._checkpoint = folder / "checkpoint"
        self._make_fetcher = make_fetcher
        self._phase = phase
        self._count = count
        self.task = Task()
        """Says what an epoch waits for."""
        self.failed_epochs = FailedEpochs()
        """Of this replica, over restarts."""
        self._first_epoch: dict[str, int] = {}  # ms from `start` to what happened: where a promotion's time goes
        self.functions = BatchFunctions(job.query.frame.sparkSession, {}, job.query.frame.schema)
        """Of the job's sinks `foreachBatch`."""
        self.given: EpochSize | None = None
        """The epoch that Spark was given last."""
        self._started_s = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @property
    def batches(self) -> Batches:
        """Where it ends its batches."""
        frame = self.job.query.frame
        return Batches(self.job.real_time, self.keeps_state, state_behind_watermark(frame))

    @property
    def stateful_operators(self) -> list[str]:
        """The operators of the job that keep state."""
        return stateful_operators(self.job.query.frame)

    @property
    def keeps_state(self) -> bool:
        """Whether an epoch's rows depend on those before it."""
        return bool(self.stateful_operators or self.job.topic_tables)

    def warm_up(self, after: EnginePosition) -> None:
        """Run a few epochs after `after`, and drop what comes out: the first epochs of a JVM take seconds."""
        self._warm_up.run(lambda: self._make_fetcher(after), self._stopped.is_set)
        self.given = self._warm_up.given

    def rehearse(
        self, checkpoint: Path, after: EnginePosition, stopped: Callable[[], bool]
    ) -> Generator[tuple[int, pa.Table], None, None]:
        """The epochs after `after`, on a copy of a state; see `Rehearsal.run`. Not while `warm_up` runs."""
        return self._rehearsal.run(checkpoint, after, self._make_fetcher(after), stopped)

    def start(self, after: EnginePosition, epochs: Epochs, on_epoch: OnEpoch, on_failure: OnFailure) -> None:
        """Start the query, and the thread that feeds it. Raises `JobError` if Spark refuses the plan, or
        the state is another one's.

        `epochs` : gives what comes after `after`, and is closed in the end.

        Both take some time, so they start at the same time.
        """
        self._on_epoch = on_epoch
        self._on_failure = on_failure
        self._fetcher = epochs
        self._started_s = time.monotonic()
        self.job.query.stand_at(after)
        self._thread.start()
        try:
            self.job.query.launch(self._checkpoint)
            self._passed("query")
        except PySparkException as error:
            self._stopped.set()
            raise JobError(f"Spark refuses the job's plan: {in_a_line(error)}") from error
        except JobError:
            self._stopped.set()
            raise

    def stop(self) -> None:
        """Stop fetching and the query."""
        self._stopped.set()
        self.job.causal.stop()
        if self._thread.is_alive():
            self._thread.join(5)
        self.job.query.stop()

    def _run(self) -> None:
        fetcher = self._fetcher
        try:
            while not self._stopped.is_set():
                with self._phase("wait"):
                    epoch = fetcher.next_cut(CUT_TIMEOUT_S)
                if epoch is None:
                    if (error := self.job.query.failure()) is not None:
                        raise error
                    self.job.query.rest(self._give_up)
                else:
                    self._passed("cut")
                    self.task.begins(*slow_epoch.begun(epoch))
                    with self._phase("fetch"):
                        fetched = fetcher.fetch(epoch)
                        self.job.intake.await_schemas(fetched, self._wait_for)
                    self._passed("fetched")
                    if self.job.causal.questions:
                        with self._phase("ask"):
                            fetched = self.job.causal.answered(fetched, fetcher.cuts, self.task.at)
                    self._compute(fetched)
        except (StoppedError, GivenUpError):
            pass
        except BaseException as error:
            self._on_failure(error)
        finally:
            self.task.ends()
            fetcher.close()

    def _compute(self, fetched: Fetched) -> None:
        epoch = fetched.range.epoch
        self.task.at("Spark, which takes it when it has committed the epoch before")
        with self._phase("offer"):
            position = EnginePosition(epoch, fetched.range.log_offset)
            records = self.job.intake.take(fetched)
            self.given = EpochSize(epoch, records.batch.num_rows, records.batch.get_total_buffer_size())
            time_ms, barrier = fetched.range.time_ms, fetched.range.barrier
            given_s = time.monotonic()
            self.job.query.offer(position, records.batch, time_ms, self._give_up, barrier)
        self._passed("offered")
        self.task.at("Spark, which computes it", self._why)
        with self._phase("compute"):
            try:
                table = self.job.query.take(position, self._give_up)
            except StreamingQueryException as error:
                self.task.at("the record that makes it fail, which is looked for", self._why)
                failed = Failed(fetched.range, records.batch, error, time.monotonic() - given_s)
                records = self._without_culprits(fetched, failed)
                self.job.query.begin_again(self._checkpoint, epoch)
                table = self.job.query.compute(position, records.batch, time_ms, self._give_up, barrier)
        self._passed("computed")
        table, counts = records.completed(table)
        table = self.job.encoding.encoded(table)
        if self.job.one_row:
            check_one_row(epoch, len(records.messages), table.num_rows)
        self._count(counts, self.job.query.late_rows)
        self.task.at("the publisher, which takes it when it has published others")
        self._on_epoch(epoch, table, fetched.inputs)
        self.job.query.commit()
        self.task.ends()

    def _why(self) -> str:
        return slow_epoch.remedy(self.job.command, self.given, self.job.heap)

    def _wait_for(self, what: str) -> None:
        self.task.at(what)
        if self._stopped.is_set():
            raise StoppedError

    def _give_up(self) -> str:
        return "the replica was stopped" if self._stopped.is_set() else ""

    def _without_culprits(self, fetched: Fetched, failed: Failed) -> EpochRecords:
        """The records of a failed epoch without those that make it fail, if these become dead letters.

        Raises what else stops the job.
        """

        def begin(over: Callable[[], str]) -> Attempt:
            epoch = failed.position, failed.batch, failed.epoch.time_ms
            return self._trials.of(self._checkpoint, *epoch, over, took_s=failed.took_s)

        if not (self.job.leaves_letters and failed.concerns_records and record_fault(failed.error)):
            takes_letters = not (self.job.real_time and self.keeps_state)
            found = explained(failed, begin, self._stopped.is_set, self.job.command, takes_letters)
            raise self._if_repeated(failed, found) from failed.error
        try:
            culprits = isolated(failed, begin(self._give_up), self.job.command)
        except TrialError as trouble:
            if self._stopped.is_set():
                raise StoppedError from trouble
            raise self._if_repeated(failed, not_found(failed, trouble, self.job.command)) from failed.error
        return self.job.intake.take(fetched, culprits)

    def _if_repeated(self, failed: Failed, found: Exception) -> Exception:
        """`found`; or, where that says nothing of its cause and has come too often, an `EpochError`."""
        if found is not failed.error or not failed.concerns_records:
            return found
        said = self.failed_epochs.is_of_the_job(failed.epoch.epoch, failed.error)
        if said is None:
            return found
        nothing = "each with a restart behind it; no record was found that makes it fail"
        return repeated(failed, said, MOST_TRIES, nothing, self.job.command)

    def _passed(self, what: str) -> None:
        if "computed" not in self._first_epoch:
            self._first_epoch.setdefault(what, round(1_000 * (time.monotonic() - self._started_s)))
            if what == "computed" and self.given is not None:
                _log.info("first_epoch", epoch=self.given.epoch, ms=self._first_epoch)
