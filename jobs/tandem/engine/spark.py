"""Spark's micro-batch engine: every epoch is one micro-batch whose batch id is the epoch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from tandem.engine import lasting
from tandem.engine.blame import Failed, explained
from tandem.engine.bridge import EpochBridge
from tandem.engine.causal import Causal, Proposer, StoppedError
from tandem.engine.checkpoint import find_newest, take_back
from tandem.engine.culprit import Attempt
from tandem.engine.described import Facts
from tandem.engine.faults import job_fault
from tandem.engine.fetch import EpochFetcher, Fetched
from tandem.engine.intake import Counts, EpochRecords, Intake
from tandem.engine.interface import EnginePosition, JobError, OnEpoch
from tandem.engine.isolation import isolated
from tandem.engine.job import in_a_line
from tandem.engine.memory import EpochSize, jvm_exit_code
from tandem.engine.plan_check import check_determined, check_repeatable
from tandem.engine.planning import Plan, Planning, intake_of
from tandem.engine.python_times import times_of_python
from tandem.engine.rehearsal import Rehearsal
from tandem.engine.shared_state import stateful_operators
from tandem.engine.static_tables import StaticTables
from tandem.engine.trial import Trials
from tandem.engine.warm_up import WarmUp
from tandem.manifest import Manifest, OutputMode
from tandem.waits import Task

CUT_TIMEOUT_S = 0.5

MakeFetcher = Callable[[EnginePosition], EpochFetcher]
OnCounts = Callable[[Mapping[str, Counts]], None]


class MicroBatchEngine:
    """Runs a job as one streaming query; see `interface.Engine`.

    Parameters
    ----------
    bridge, frame, output_mode : the query's source and sink, its plan, and Spark's output mode; made by `prepare`.
    checkpoint : the query's checkpoint folder.
    make_fetcher : makes what fetches epochs after a position.
    phase : called with the name of a phase, gives a context that times it.
    causal : answers what the job asks the outside world.
    command : by which the user lets the job go on with changed code.
    leaves_letters : what the job raises about a record makes that a dead letter.
    warm_up, rehearsal, trials : the same plan once more: to warm up with, to rehearse epochs, and to find the record that
        makes one fail.
    intake, count : takes the records in; called with what each source had in an epoch.
    """

    def __init__(
        self,
        bridge: EpochBridge,
        frame: DataFrame,
        output_mode: str,
        checkpoint: Path,
        make_fetcher: MakeFetcher,
        phase: Callable[[str], Any],
        causal: Causal,
        warm_up: WarmUp,
        rehearsal: Rehearsal,
        trials: Trials,
        intake: Intake,
        count: OnCounts,
        command: str,
        leaves_letters: bool,
    ) -> None:
        self._command = command
        self._leaves_letters = leaves_letters
        self._rehearsal = rehearsal
        self._trials = trials
        self._intake = intake
        self._count = count
        self._bridge = bridge
        self._warm_up = warm_up
        self._frame = frame
        self._output_mode = output_mode
        self._checkpoint = checkpoint
        self._make_fetcher = make_fetcher
        self._phase = phase
        self._causal = causal
        self.task = Task()
        """Says what an epoch waits for."""
        self.first_epoch: dict[str, int] = {}
        """Of the first epoch: ms from `start` to what happened. Where a promotion's time goes."""
        self.given: EpochSize | None = None
        """The epoch that Spark was given last."""
        self.heap = "1g"
        """The manifest's `spec.spark.driverMemory`."""
        self.facts: Facts = {}
        """What the plan is made of; see `facts_about`."""
        self.tables: dict[str, str] = {}
        """The static tables that the plan reads: name → version."""
        self.moving_tables: frozenset[str] = frozenset()
        """Those that are read where they are."""
        self._started_s = 0.0
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @classmethod
    def prepare(
        cls,
        spark: SparkSession,
        manifest: Manifest,
        code: Path,
        folder: Path,
        near: Path,
        make_fetcher: MakeFetcher,
        phase: Callable[[str], Any],
        proposer: Proposer,
        tables: StaticTables,
        compare: Callable[[Plan], None] | None = None,
        count: OnCounts = lambda _: None,
    ) -> MicroBatchEngine:
        """Build the job's plan and check it; `folder`/checkpoint is its checkpoint. Raises `JobError`.

        `code` : the archive of the job's code; see `kept_code`.
        `tables` : reads the static tables of the job.
        `compare` : called with the plan, raises `JobError` if it would be another one elsewhere.
        `near` : a folder on this machine, in memory if there is any, for an epoch's rows on their way.
        """
        planning = Planning(spark, manifest, code, tables)
        intake = intake_of(manifest)
        bridge = EpochBridge(spark, from_arrow_schema(intake.schema), near, manifest.spec.sources)
        plan = planning.plan(bridge)
        stream, context = plan.frame, plan.context
        check_determined(stream)
        rehearsal = EpochBridge(spark, from_arrow_schema(intake.schema), near / "warm-up", manifest.spec.sources)
        again = planning.plan(rehearsal).frame
        check_repeatable(stream, again)
        if compare is not None:
            compare(plan)
        intake = replace(intake, times_us=times_of_python(stream))
        causal = Causal(tuple(context.questions.values()), proposer)
        mode = output_mode(stream, manifest.spec.job.output_mode)
        leaves_letters = manifest.spec.job.on_error == "deadLetter"
        warm_up = WarmUp(rehearsal, again, mode, causal, folder / "warm-up", intake)
        rehearsed = Rehearsal(rehearsal, again, mode, causal, intake, leaves_letters)
        trials = Trials(rehearsal, again, mode, folder)
        command = f"tandem run {manifest.path} --accept-changes"
        parts = (make_fetcher, phase, causal, warm_up, rehearsed, trials, intake, count, command, leaves_letters)
        engine = cls(bridge, stream, mode, folder / "checkpoint", *parts)
        engine.facts, engine.tables, engine.moving_tables = plan.facts, dict(tables.versions), tables.moving
        engine.heap = manifest.spec.spark.driver_memory
        return engine

    @property
    def stateful_operators(self) -> list[str]:
        """The operators of the job that keep state."""
        return stateful_operators(self._frame)

    def warm_up(self, after: EnginePosition) -> None:
        """Run a few epochs after `after`, and drop what comes out: the first epochs of a JVM take seconds."""
        self._warm_up.run(self._make_fetcher(after), self._stopped.is_set)

    def rehearse(
        self, checkpoint: Path, after: EnginePosition, stopped: Callable[[], bool]
    ) -> Generator[tuple[int, pa.Table], None, None]:
        """The epochs after `after`, on a copy of a state; see `Rehearsal.run`. Not while `warm_up` runs."""
        return self._rehearsal.run(checkpoint, after, self._make_fetcher(after), stopped)

    def start(self, after: EnginePosition, on_epoch: OnEpoch) -> None:
        """Start the query, and the thread that feeds it. Raises `JobError` if Spark refuses the plan, or
        the state is another one's.

        Both take some time, so they start at the same time.
        """
        self._on_epoch = on_epoch
        self._after = after
        self._started_s = time.monotonic()
        self._bridge.stand_at(after)
        self._thread.start()
        try:
            self._query = self._bridge.launch(self._frame, self._checkpoint, self._output_mode)
            self._passed("query")
        except PySparkException as error:
            self._stopped.set()
            raise JobError(f"Spark refuses the job's plan: {in_a_line(error)}") from error
        except JobError:
            self._stopped.set()
            raise

    def failure(self) -> BaseException | None:
        """Why it stopped by itself; None while it runs, or still finds out why it does not."""
        if self._failure is not None or self._thread.is_alive() or self._stopped.is_set():
            return self._failure
        query = self._query
        if query is not None and not query.isActive:
            return query.exception() or RuntimeError("the query has stopped")
        return None

    def stop(self) -> None:
        """Stop fetching and the query."""
        self._stopped.set()
        self._causal.stop()
        if self._thread.is_alive():
            self._thread.join(5)
        if self._query is not None and jvm_exit_code() is None and self._query.isActive:
            self._query.stop()

    def _run(self) -> None:
        fetcher = self._make_fetcher(self._after)
        self._passed("fetcher")
        try:
            while not self._stopped.is_set():
                with self._phase("wait"):
                    epoch = fetcher.next_cut(CUT_TIMEOUT_S)
                if epoch is None:
                    self._check_query()
                else:
                    self._passed("cut")
                    self.task.begins(*lasting.begun(epoch))
                    with self._phase("fetch"):
                        fetched = fetcher.fetch(epoch)
                    self._passed("fetched")
                    if self._causal.questions:
                        with self._phase("ask"):
                            fetched = self._causal.answered(fetched, fetcher, self.task.at)
                    self._compute(fetched)
        except StoppedError:
            pass
        except BaseException as error:
            self._failure = error
        finally:
            self.task.ends()
            fetcher.close()

    def _compute(self, fetched: Fetched) -> None:
        epoch = fetched.range.epoch
        self.task.at("Spark, which takes it when it has committed the epoch before")
        with self._phase("offer"):
            position = EnginePosition(epoch, fetched.range.log_offset)
            records = self._intake.take(fetched)
            self.given = EpochSize(epoch, records.batch.num_rows, records.batch.nbytes)
            self._bridge.offer(position, records.batch, fetched.range.time_ms)
        self._passed("offered")
        self.task.at("Spark, which computes it", self._why)
        with self._phase("compute"):
            try:
                taken = self._taken()
            except StreamingQueryException as error:
                self.task.at("the record that makes it fail, which is looked for", self._why)
                records = self._without_culprits(fetched, Failed(fetched.range, records.batch, error))
                taken = self._computed_again(position, records, fetched.range.time_ms)
        if taken is None:
            return
        computed, table = taken
        if computed != epoch:
            raise RuntimeError(
                f"Spark ran epoch {epoch} as batch {computed}: the checkpoint is not at epoch {epoch - 1}"
            )
        self._passed("computed")
        table, counts = records.completed(table)
        self._count(counts)
        self.task.at("the publisher, which takes it when it has published others")
        self._on_epoch(epoch, table)
        self._bridge.acknowledge()
        self.task.ends()

    def _why(self) -> str:
        return lasting.remedy(self._command, self.given, self.heap)

    def _taken(self) -> tuple[int, pa.Table] | None:
        """The epoch that Spark has computed; None if this engine is stopped. Raises what the query failed with."""
        while (taken := self._bridge.take()) is None:
            if self._stopped.is_set():
                return None
            self._check_query()
        return taken

    def _without_culprits(self, fetched: Fetched, failed: Failed) -> EpochRecords:
        """The records of a failed epoch without those that make it fail, if these become dead letters.

        Raises what else stops the job.
        """

        def begin(over: Callable[[], str]) -> Attempt:
            return self._trials.of(self._checkpoint, failed.position, failed.batch, failed.epoch.time_ms, over)

        if not self._leaves_letters or job_fault(failed.error) is None:
            raise explained(failed, begin, self._stopped.is_set, self._command) from failed.error
        attempt = begin(lambda: "the replica was stopped" if self._stopped.is_set() else "")
        return self._intake.take(fetched, isolated(failed, attempt, self._command))

    def _computed_again(
        self, position: EnginePosition, records: EpochRecords, time_ms: int
    ) -> tuple[int, pa.Table] | None:
        """A new query on the state before the epoch, as if it had not been tried yet."""
        self._bridge.unload_state()
        take_back(self._checkpoint, position.epoch - 1)
        before = find_newest([self._checkpoint], position.epoch - 1)
        self._bridge.stand_at(EnginePosition() if before is None else before.position)
        self._query = self._bridge.launch(self._frame, self._checkpoint, self._output_mode)
        self._bridge.offer(position, records.batch, time_ms)
        return self._taken()

    def _check_query(self) -> None:
        if self._query is not None and not self._query.isActive and not self._stopped.is_set():
            raise self._query.exception() or RuntimeError("the query has stopped")

    def _passed(self, what: str) -> None:
        if "computed" not in self.first_epoch:
            self.first_epoch.setdefault(what, round(1_000 * (time.monotonic() - self._started_s)))


def output_mode(frame: DataFrame, wished: OutputMode | None = None) -> str:
    """The mode that is wished; else `Append` where Spark allows it (windows, joins, processors), else `Update`.

    Raises `JobError` if Spark refuses the mode that is wished for this plan, or both if none is.
    """
    if wished is None:
        if not _refusal(frame, "Append"):
            return "Append"
        if (refusal := _refusal(frame, "Update")) is not None:
            raise JobError(f"Spark refuses the job's plan: {in_a_line(refusal)}") from refusal
        return "Update"
    mode = wished.capitalize()
    refusal = _refusal(frame, mode)
    if refusal is not None:
        raise JobError(f"spec.job.outputMode: {wished} does not suit the job: {in_a_line(refusal)}") from refusal
    return mode


def _refusal(frame: DataFrame, mode: str) -> PySparkException | None:
    """Why Spark refuses a plan in an output mode; None if it does not."""
    jvm: Any = frame.sparkSession._jvm
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        checker.checkForStreaming(
            frame._jdf.queryExecution().analyzed(), getattr(jvm.org.apache.spark.sql.streaming.OutputMode, mode)()
        )
    except PySparkException as error:
        return error
    return None
