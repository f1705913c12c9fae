"""What a job reads and what it writes."""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field

from tandem.manifest.ddl import DdlError, column_names
from tandem.manifest.iceberg import IcebergSink
from tandem.manifest.postgres import PostgresSink
from tandem.manifest.problems import refusal
from tandem.manifest.values import Duration, Flag, FunctionName, Identifier, PathText, Section, Topic, Within

Format = Literal["raw", "json"]
StartingOffsets = Literal["earliest", "latest"]
IsolationLevel = Literal["read_committed", "read_uncommitted"]


def _schema(ddl: str) -> str:
    try:
        column_names(ddl)
    except DdlError as error:
        raise refusal(
            f"no schema in Spark's DDL: {error}", "Write columns with types, e.g. carrier STRING, delay DOUBLE"
        ) from error
    return ddl


def _source_name(name: str) -> str:
    if name == "ctx":
        raise refusal("'ctx' is the job's context", "Choose another name for the source")
    return name


class SourceSpec(Section):
    """One input of the job: the parameter of the job function with this name."""

    name: Annotated[Identifier, AfterValidator(_source_name)] = Field(description="The parameter's name")
    topics: tuple[Topic, ...] = Field(min_length=1, description="Kafka topics, each of one source only")
    format: Format = Field(default="raw", description="raw: key and value as bytes. json: columns by `schema`")
    schema_ddl: Annotated[str, AfterValidator(_schema)] | None = Field(
        default=None, alias="schema", description="Columns in Spark's DDL; needed with, and only with, format json"
    )
    starting_offsets: StartingOffsets = Field(
        default="earliest", description="Where the job begins when it has never run"
    )
    include_headers: Flag = Field(
        default=False, description="Whether rows have a column headers, as with Spark's Kafka source"
    )
    isolation_level: IsolationLevel = Field(
        default="read_committed", description="Whether records of transactions that are not committed are read too"
    )
    idle_timeout: Annotated[Duration, Within(100, 86_400_000)] | None = Field(
        default=None,
        description="A watermark that got no row of this source for so long, by the epochs' time, no longer holds back "
        "others, e.g. that of the other input of a join; rows that come later may be late. Default: it always waits",
    )


class FileSink(Section):
    """A table of files, written once per epoch."""

    path: PathText = Field(
        description="A folder, or a URI: s3://, gs://, abfss://, hdfs:// and others; a relative one starts from the "
        "manifest. Keys and endpoint come from the replicas' environment, e.g. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
        "AWS_ENDPOINT_URL; on Kubernetes set it in podTemplate, for the container `replica`"
    )


SinkKind = Literal["topic", "parquet", "delta", "iceberg", "postgres", "foreachBatch"]
KINDS: Final[tuple[SinkKind, ...]] = get_args(SinkKind)
_FIELDS: Final = {"foreachBatch": "foreach_batch"}


class SinkSpec(Section):
    """One output of the job: exactly one of its kinds."""

    name: Identifier = Field(description="The key of its rows in what the job function returns")
    topic: Topic | None = Field(
        default=None, description="A Kafka topic; all topics of an epoch are written in one transaction"
    )
    parquet: FileSink | None = Field(default=None, description="A folder of Parquet files")
    delta: FileSink | None = Field(
        default=None, description="A Delta table; needs the package deltalake, which Tandem's image has not got"
    )
    iceberg: IcebergSink | None = Field(default=None, description="An Iceberg table; needs the package pyiceberg")
    postgres: PostgresSink | None = Field(
        default=None, description="A table of PostgreSQL; an epoch is one transaction of the database"
    )
    foreach_batch: FunctionName | None = Field(
        default=None,
        description="module:function, called with a DataFrame of each epoch's rows and the epoch, as by Spark's "
        "foreachBatch: at least once, before the epoch is published",
    )

    @property
    def kind(self) -> SinkKind:
        """Which of its kinds it is."""
        return next(iter(self.kinds), "topic")

    @property
    def kinds(self) -> tuple[SinkKind, ...]:
        """All that are given; in a good manifest one."""
        return tuple(kind for kind in KINDS if getattr(self, _FIELDS.get(kind, kind)) is not None)

    @property
    def files(self) -> FileSink | None:
        """The table's folder; None for what is no table of files."""
        return self.parquet or self.delta
