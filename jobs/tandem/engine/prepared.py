"""A job that is ready to compute: its plan was made, checked and compared, and stands twice in this JVM."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tandem.engine.bridge import EpochBridge
from tandem.engine.causal import Causal
from tandem.engine.choice import Choice, choose_engine
from tandem.engine.described import Facts
from tandem.engine.file_columns import check_file_columns
from tandem.engine.first_epoch import check_first_epoch, check_planned
from tandem.engine.output_mode import output_mode
from tandem.engine.plan_check import check_determined, check_repeatable, check_watermarks
from tandem.engine.planned import how_joined, how_ordered, plan_facts
from tandem.engine.planning import Plan, Planning, intake_of
from tandem.engine.python_times import times_of_python
from tandem.engine.query import EpochQuery, MicroBatchQuery
from tandem.engine.realtime.query import RealTimeQuery
from tandem.engine.row_order import check_order
from tandem.engine.shared_state import stateful_operators
from tandem.engine.static_tables import StaticTables
from tandem.engine.tables.kept import KeptTables
from tandem.engine.tables.query import TableFedQuery, TableTurningQuery
from tandem.formats.encoding import NO_ENCODING, Encoding
from tandem.formats.resolved import NO_FORMATS, Formats
from tandem.formats.schemas import SchemaError
from tandem.intake.parsing import Intake
from tandem.jobapi.errors import JobError
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.manifest.going_on import accepting_command

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """What an engine computes epochs with.

    `query`, `spare` : the query that counts, and the same plan once more: to warm up with, and to rehearse epochs.
    `trial` : the plan of `spare`, each epoch a micro-batch, to find the record that makes one fail.
    `real_time` : whether `query` and `spare` run in Spark's real-time mode.
    `begins_anywhere` : the query needs no state to begin after any epoch.
    `intake` : takes the records in.
    `causal` : answers what the job asks the outside world.
    `facts` : what the plan is made of; see `facts_about`.
    `tables` : the static tables that the plan reads: name → version. `moving_tables`: those that are read where they
    are.
    `topic_tables` : the sources that are tables, which are part of the job's state.
    `command` : by which the user lets the job go on with changed code. `heap`: the manifest's
    `spec.spark.driverMemory`.
    `leaves_letters` : what the job raises about a record makes that a dead letter.
    `one_row` : whether the plan shows that each record is one row, or a dead letter.
    `choice` : the engine that the job is for, and why.
    `formats` : the schemas by which its records are read and its rows written. `encoding`: writes them.
    `relied_on` : with lanes, the sources whose partitions its state relies on.
    `batches` : the session for sinks `foreachBatch`; see `Plan`.
    """

    query: EpochQuery
    spare: EpochQuery
    trial: EpochQuery
    real_time: bool
    begins_anywhere: bool
    intake: Intake
    causal: Causal
    facts: Facts
    tables: Mapping[str, str]
    topic_tables: frozenset[str]
    moving_tables: frozenset[str]
    command: str
    heap: str
    leaves_letters: bool
    one_row: bool
    choice: Choice
    formats: Formats = NO_FORMATS
    encoding: Encoding = NO_ENCODING
    relied_on: frozenset[str] = frozenset()
    batches: SparkSession | None = None


def prepare_job(
    spark: SparkSession,
    manifest: Manifest,
    code: Path,
    near: Path,
    tables: StaticTables,
    compare: Callable[[Plan], None] = lambda _: None,
    formats: Formats = NO_FORMATS,
) -> PreparedJob:
    """Make the job's plan and check it. Raises `JobError`.

    `code` : the archive of the job's code; see `frozen_code`.
    `near` : a folder on this machine, in memory if there is any, for an epoch's rows on their way.
    `tables` : reads the static tables of the job.
    `compare` : called with the plan, raises `JobError` if it would be another one elsewhere.
    `formats` : the schemas of the job.
    """
    manifest = formats.resolved(manifest)
    planning, intake, spec = Planning(spark, manifest, code, tables), intake_of(manifest, formats), manifest.spec
    schema = from_arrow_schema(intake.schema)
    bridge = EpochBridge(spark, schema, near, spec.sources)
    spare = EpochBridge(spark, schema, near / "warm-up", spec.sources, counts=False)
    plan = planning.plan(bridge)
    check_determined(plan.frame)
    check_watermarks(plan.frame)
    check_order(plan.frame)
    check_file_columns(plan.frame)
    check_first_epoch(plan.frame)
    second = planning.plan(spare)
    again = second.frame
    check_repeatable(plan.frame, again)
    compare(plan)
    mode = output_mode(plan.frame, plan.sinks, spec.job.output_mode)
    check_planned(plan.frame, mode)
    stateful = bool(stateful_operators(plan.frame) or plan.tables)
    formats, encoding = _sink_formats(formats, manifest, plan.frame)
    choice = choose_engine(lambda: plan_facts(plan.frame, mode), manifest)
    _log.info("engine_chosen", engine=choice.engine, reason=choice.reason or "spec.engine names it")
    real_time = choice.engine == "realTime"

    def micro_batches(over: EpochBridge, of: Plan) -> EpochQuery:
        query = MicroBatchQuery(over, of.frame, mode)
        return TableFedQuery(query, KeptTables(of.tables)) if of.tables else query

    def query(over: EpochBridge, of: Plan) -> EpochQuery:
        if not real_time:
            return micro_batches(over, of)
        rest_s = spec.ordering.barrier_interval.ms / 1000
        if not of.tables:
            return RealTimeQuery(over, schema, of.frame, stateful, rest_s)
        kept = KeptTables(of.tables)
        return TableTurningQuery(RealTimeQuery(over, schema, of.frame, stateful, rest_s, kept.write), kept)

    return PreparedJob(
        query=query(bridge, plan),
        spare=query(spare, second),
        trial=micro_batches(spare, second),
        real_time=real_time,
        begins_anywhere=real_time and not stateful,
        intake=replace(intake, times_us=times_of_python(plan.frame)),
        causal=Causal(tuple(plan.context.questions.values())),
        facts=plan.facts | how_ordered(plan.frame) | ({} if real_time else how_joined(plan.frame)),
        tables=dict(tables.versions),
        topic_tables=frozenset(table.source.name for table in plan.tables),
        moving_tables=tables.moving,
        command=accepting_command(manifest.path),
        heap=spec.spark.driver_memory,
        leaves_letters=spec.job.on_error == "deadLetter",
        one_row=plan.one_row,
        choice=choice,
        formats=formats,
        encoding=encoding,
        relied_on=plan.relied_on,
        batches=plan.batches,
    )


def _sink_formats(formats: Formats, manifest: Manifest, frame: DataFrame) -> tuple[Formats, Encoding]:
    """With the schemas of the sinks; what could not be written by them is a mistake of the job."""
    try:
        return formats.with_sinks(manifest, frame.schema)
    except SchemaError as error:
        raise JobError(str(error)) from error
