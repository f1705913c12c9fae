"""What an incarnation computes with: a Spark session, executors if it was given any, and the engine on top."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tandem.engine.executors import Executors
from tandem.engine.foreach_batch import BatchFunctions, load_functions
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.prepared import prepare_job
from tandem.engine.refused_settings import blaming
from tandem.engine.registering import await_executors, end
from tandem.engine.repeated import FOLDER, FailedEpochs
from tandem.engine.second_plan import SecondPlan
from tandem.engine.session import LASTING_TASKS, build_session
from tandem.engine.shared_state import check_shared
from tandem.engine.spark import MakeFetcher, OnCounts, SparkEngine
from tandem.engine.stacks import keep_in
from tandem.engine.static_tables import StaticTables
from tandem.engine.table_files import TableFiles
from tandem.formats.resolved import NO_FORMATS, Formats
from tandem.jobapi.frozen_code import folders_of, keep
from tandem.jobapi.job import make_importable
from tandem.manifest import Code, Manifest
from tandem.manifest.going_on import how_to_accept
from tandem.manifest.models import default_checkpoint_directory
from tandem.process.info import RefusedError
from tandem.replica.folders import SCRATCH

TABLES = "static-tables"
"""The folder, beside the checkpoints, of what static tables held when a generation began; one in it for each job."""


class SparkRuntime:
    """Everything in it that is slow happens in `prepare`.

    `folder` : the incarnation's, with the checkpoint.
    `environment` : says whether there are executors.
    `java_files` : a folder for what the JVM leaves behind if it is killed, None: where it puts that by itself.
    """

    def __init__(
        self,
        manifest: Manifest,
        name: str,
        incarnation: str,
        folder: Path,
        environment: Mapping[str, str],
        java_files: Path | None = None,
    ) -> None:
        self._manifest = manifest
        self._name = name
        self._folder, self._java_files = folder, java_files
        self._executors = Executors.of(environment, incarnation)
        self._how = how_to_accept(manifest.path, environment)
        # With executors the checkpoint may lie on a volume far away. What only the driver reads stays near.
        near = folder if self._executors is None else default_checkpoint_directory(manifest.name) / incarnation
        self.near = near
        """A folder on this machine for files of the moment."""
        self.copies = folder.parent / TABLES / manifest.name
        """Of the job's static tables."""
        self._session: SparkSession | None = None

    def prepare(
        self,
        code: Code,
        make_fetcher: MakeFetcher,
        phase: Callable[[str], Any],
        count: OnCounts,
        agreed: Mapping[str, str] | None,
        begins: Callable[[str], None],
        formats: Formats = NO_FORMATS,
    ) -> SparkEngine:
        """The JVM, its executors, then the plan. Raises `JobError`, `RefusedError`.

        `agreed` : the static tables of the generation, name → version; None if this replica may begin it, which has to
        show that the plan is the same elsewhere. `begins`: called with each step. `formats`: the job's schemas.
        """
        manifest, executors = self._manifest, self._executors
        if executors is not None and manifest.spec.job.on_error != "stop":
            raise RefusedError(
                "spec.job.onError: deadLetter does not work with executors: they hold state that cannot be taken back. "
                "Leave out spec.executors, or let the job's code handle such records"
            )
        scratch = self.near / SCRATCH
        scratch.mkdir(parents=True, exist_ok=True)
        kept = keep(manifest, code, scratch)
        make_importable(kept, folders_of(manifest))
        keep_in(scratch)
        begins("the JVM")
        session = build_session(
            manifest.name,
            self._name,
            manifest.spark,
            file_system_jar(),
            scratch,
            executors=executors,
            slots=0 if manifest.spec.engine == "microBatch" or executors is not None else LASTING_TASKS,
            java_files=self._java_files,
        )
        self._session = session
        if executors is not None:
            session.sparkContext.addPyFile(str(kept))
            begins("executors")
            await_executors(session, executors)
        begins("the job's module and function, which make its plan")
        # Executors cannot read this machine's files.
        copies = self.copies if executors is None else None
        tables = StaticTables(TableFiles(session, copies), agreed or {}, self._how)
        folder = self.near / "second-plan"
        second = SecondPlan(session, manifest, kept, folder, tables, formats.pins) if agreed is None else None
        compare = second if second is not None else lambda _: None
        with blaming(manifest.spark.conf):
            job = prepare_job(session, manifest, kept, self.near, tables, compare, formats)
        engine = SparkEngine(job, self._folder, make_fetcher, phase, count)
        engine.failed_epochs = FailedEpochs(self._folder.parent / FOLDER / f"{manifest.name}-{self._name}.json")
        if job.batches is not None:
            functions = load_functions(session, manifest)
            engine.functions = BatchFunctions(job.batches, functions, job.query.frame.schema, job.command)
        if executors is not None and engine.stateful_operators:
            check_shared(session, self._folder, engine.stateful_operators, executors.count)
        return engine

    def close(self) -> None:
        """Let executors go; remove what is of no use to a successor."""
        if self._session is not None and self._executors is not None:
            end(self._session)
        shutil.rmtree(self.near / SCRATCH, ignore_errors=True)
