"""Making a job's plan: its module is imported, its function called, and what it gives becomes one stream."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from tandem.engine.bridge import EpochBridge
from tandem.engine.by_value import sent_whole
from tandem.engine.described import Facts
from tandem.engine.facts import facts_about
from tandem.engine.guard import Taken, guarded
from tandem.engine.imported import modules_of
from tandem.engine.kept_settings import check_effective, check_kept, kept_settings
from tandem.engine.lanes import check_columns, check_lanes, relied_on, topics_of_the_only
from tandem.engine.one_row import makes_one_row
from tandem.engine.output import by_sink, dead_letters, one_stream
from tandem.engine.plan_leaves import check_leaves
from tandem.engine.pruned import operators_of
from tandem.engine.session_state import changed_settings, copied, forget_temporaries, settings_of, temporaries_of
from tandem.engine.static_tables import StaticTables
from tandem.engine.tables.parsing import TableFrames
from tandem.formats.resolved import NO_FORMATS, Formats
from tandem.intake.parsing import Intake
from tandem.jobapi.context import JobContext
from tandem.jobapi.errors import JobError
from tandem.jobapi.frames import split_sources, wrong_schema
from tandem.jobapi.job import call, in_a_line, load_function
from tandem.logs import get_logger
from tandem.manifest import Manifest, SourceSpec
from tandem.topics.declared import DEAD_LETTER_SINK

_log = get_logger(__name__)


def intake_of(manifest: Manifest, formats: Formats = NO_FORMATS) -> Intake:
    """What takes the records of a job's sources in. `formats`: of which `manifest` is resolved. Raises `JobError`."""
    spec = manifest.spec
    schemas = {s.name: _schema(s.schema_ddl or "", s) for s in spec.sources if s.format == "json"}
    return Intake(spec.sources, spec.max_record_bytes, schemas, decoding=formats.decoding(manifest))


def _schema(ddl: str, source: SourceSpec) -> DataType:
    try:
        return StructType.fromDDL(ddl)
    except PySparkException as error:
        raise wrong_schema(source, error) from error


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of a job, over the stream of one bridge.

    `sinks`: what the job returned for each.
    `facts`: what it is made of, see `facts_about`. `constants`: place in the code, and value, of those of `F.lit`.
    `one_row`: whether it shows that each record is one row, see `makes_one_row`.
    `tables`: those of its sources that are tables.
    `relied_on`: with lanes, the sources whose partitions its state relies on.
    `batches`: the session for sinks `foreachBatch`, as the job's code left its own; None if there is no such sink.
    """

    frame: DataFrame
    sinks: Mapping[str, DataFrame]
    context: JobContext
    facts: Facts
    constants: tuple[tuple[str, Any], ...] = ()
    one_row: bool = False
    tables: tuple[TableFrames, ...] = ()
    relied_on: frozenset[str] = frozenset()
    batches: SparkSession | None = None


class Planning:
    """Makes a job's plan as often as it is asked to. Its module is imported once.

    `code` : the archive of the job's code; see `frozen_code`.
    `tables` : reads the static tables of the job.

    Raises `JobError`: the module cannot be imported, or does what is not its to do.
    """

    def __init__(self, session: SparkSession, manifest: Manifest, code: Path, tables: StaticTables) -> None:
        self._session, self._manifest, self._tables = session, manifest, tables
        self._settings, self._kept = settings_of(session), kept_settings(session)
        self._imported = Taken()
        self._function: Callable[..., object]
        with guarded(self._imported, tables), sent_whole(session):
            self._function = load_function(manifest.spec.job, code)
        self._temporaries = temporaries_of(session)
        self._modules = modules_of(manifest.spec.job, code)

    def plan(self, bridge: EpochBridge) -> Plan:
        """The job's result over a bridge's records, with the dead letters of its sources. Raises `JobError`."""
        spec = self._manifest.spec
        taken = self._imported.copy()
        context = JobContext(self._session, dict(spec.job.options), spec.sources)
        streams = [source for source in spec.sources if source.table is None]
        frames = split_sources(bridge.stream(), streams)
        topic_tables = bridge.tables()
        given = {name: frame.good for name, frame in frames.items()}
        given |= {table.source.name: table.frame for table in topic_tables}
        with guarded(taken, self._tables), sent_whole(self._session):
            result = call(self._function, context, given)
        batches = copied(self._session) if any(sink.foreach_batch for sink in spec.sinks) else None
        forget_temporaries(self._session, self._temporaries)
        check_kept(self._kept, self._session)
        changed = changed_settings(self._settings, settings_of(self._session))
        check_effective(changed)
        settings = {name: value for name, value in changed.items() if name.startswith("spark.sql.")}
        self._refuse_queries()
        try:
            sinks, stream = by_sink(result, spec.sinks), one_stream(result, spec.sinks)
            poison = [frame.poison for frame in frames.values() if frame.poison is not None]
            for letters in dead_letters(poison, DEAD_LETTER_SINK):
                stream = stream.unionByName(letters, allowMissingColumns=True)
        except PySparkException as error:
            raise JobError(f"the job's result cannot be published: {in_a_line(error)}") from error
        check_leaves(stream, bridge.source, self._tables.roots)
        relied = frozenset[str]()
        if spec.lanes > 1:
            states, operators = operators_of(stream, topics_of_the_only(spec.sources))
            check_columns(spec.sources)
            check_lanes(states, operators, spec.sources, spec.lanes)
            relied = relied_on(states, spec.sources)
        one_row = makes_one_row(result, given, spec.sources, spec.sinks)
        facts = _facts(stream, taken, settings, self._modules)
        return Plan(stream, sinks, context, facts, tuple(taken.constants), one_row, topic_tables, relied, batches)

    def _refuse_queries(self) -> None:
        active = self._session.streams.active
        if active:
            raise JobError(
                f"the job's code has started a query of its own ({active[0].name or active[0].id}). Tandem starts the "
                "query: return the DataFrame, and name where its rows go in spec.sinks"
            )


def _facts(stream: DataFrame, taken: Taken, settings: Mapping[str, str], modules: Mapping[str, str]) -> Facts:
    """None where they cannot be read: that alone refuses no job."""
    try:
        return facts_about(stream, taken, settings, modules)
    except Exception as error:
        _log.warning("plan_not_compared", reason=f"{type(error).__name__}: {error}")
        return {}
