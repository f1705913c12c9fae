"""What a job reads and what it writes."""

from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, Field

from tandem.manifest.ddl import DdlError, column_names
from tandem.manifest.formats import RegistrySchema
from tandem.manifest.iceberg import IcebergSink
from tandem.manifest.postgres import PostgresSink
from tandem.manifest.problems import refusal
from tandem.manifest.values import Count, Duration, Flag, FunctionName, Identifier, PathText, Section, Topic, Within

Format = Literal["raw", "json", "avro", "protobuf"]
KeyFormat = Literal["raw", "avro", "protobuf"]
PartitionBy = Literal["key", "lane"]
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


class TableSpec(Section):
    """A source as a table: in each epoch the latest row of every key, to be joined with a stream."""

    key: tuple[Identifier, ...] = Field(
        min_length=1,
        description="Columns that identify a row: a later one replaces it. A record without a value deletes the row that "
        "came with its key",
    )
    max_rows: Count = Field(
        default=100_000,
        ge=1,
        le=10_000_000,
        description="Rows that the table may have; a record of one more becomes a dead letter. Each replica keeps all of "
        "them in memory",
    )


class SourceSpec(Section):
    """One input of the job: the parameter of the job function with this name."""

    name: Annotated[Identifier, AfterValidator(_source_name)] = Field(description="The parameter's name")
    topics: tuple[Topic, ...] = Field(min_length=1, description="Kafka topics, each of one source only")
    format: Format = Field(
        default="raw",
        description="Of the values. raw: bytes. json: columns by `schema`. avro, protobuf: columns by a schema of the "
        "registry",
    )
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
    key_format: KeyFormat = Field(
        default="raw", description="Of the keys. raw: bytes. avro, protobuf: by a schema of the registry"
    )
    value_schema: RegistrySchema | None = Field(
        default=None, description="What values are read by; only with format avro or protobuf"
    )
    key_schema: RegistrySchema | None = Field(
        default=None, description="What keys are read by; only with keyFormat avro or protobuf"
    )
    partitioned_by: Identifier = Field(
        default="key",
        description="What the topics' partitions follow, so that equal values are in one lane: key (the record's key), a "
        "column, or any (nothing). The keys of state, joins and deduplication of a job with lanes have it among them",
    )
    table: TableSpec | None = Field(
        default=None,
        description="The job gets the latest row of every key, as a DataFrame to join with, instead of a stream of records",
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

    format: Format = Field(
        default="raw",
        description="Of the values. raw: the column `value`, text or bytes. json, avro, protobuf: the column `value`, or "
        "all columns but key, partition and headers; avro and protobuf by a schema of the registry. For topics only",
    )
    partition_by: PartitionBy = Field(
        default="key",
        description="To which partition of the topic a row goes that does not say so itself. key: by its key, as Kafka's "
        "producers do; lane: by its key among the partitions p with p mod lanes = l, so that a lane's rows stay together",
    )
    key_format: KeyFormat = Field(
        default="raw", description="Of the keys. raw: text or bytes. avro, protobuf: by a schema of the registry"
    )
    value_schema: RegistrySchema | None = Field(
        default=None, description="What values are written by; only with format avro or protobuf"
    )
    key_schema: RegistrySchema | None = Field(
        default=None, description="What keys are written by; only with keyFormat avro or protobuf"
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
