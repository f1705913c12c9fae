"""From a table's records to its rows, by Spark: a table's records are read as those of a stream with the same schema are."""

from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tandem.engine.jvm_plans import dataset, java_type, singleton
from tandem.engine.tables.content import columns_of, content_schema
from tandem.jobapi.table_frames import KEY, POISON, RECORD_KEY, SEQ, table_rows
from tandem.manifest import SourceSpec

_RECORDS: Final = "{name} (records)"


class TableFrames:
    """A table of one plan: the DataFrame that the job joins with, and the way from records to rows.

    `tables` : the JVM's tables of the plan's query.
    `records` : the schema of an epoch's records. `folder`: in memory, for what is on its way to the JVM.

    Raises `JobError`: Spark does not take the source's schema.
    """

    def __init__(self, spark: SparkSession, tables: Any, source: SourceSpec, records: StructType, folder: Path) -> None:
        self.source = source
        self._spark, self._tables, self._folder = spark, tables, folder
        self._rows = table_rows(self._leaf(_RECORDS.format(name=source.name), records), source)
        own = (SEQ, POISON, KEY)
        self._schema = StructType([field for field in self._rows.schema if field.name not in own])
        self.columns: pa.Schema = to_arrow_schema(self._schema, timezone="UTC")
        """Those that the job sees."""
        self.frame = self._leaf(source.name, self._schema)
        """The table, for the job."""

    def show(self, content: pa.Table) -> None:
        """From the next epoch on the table holds `content`."""
        self._set(self.source.name, columns_of(content))

    def parsed(self, batch: pa.RecordBatch) -> tuple[pa.Table, list[int], dict[int, str]]:
        """The rows of an epoch's records of the table, in order; the `seq` of each; and, of those that are no rows, `seq` →
        which columns were not read (see `jobapi.frames`)."""
        self._set(_RECORDS.format(name=self.source.name), pa.Table.from_batches([batch]))
        plan = self._rows._jdf.queryExecution().analyzed()
        rows = DataFrame(dataset(self._spark, plan), self._spark).toArrow().sort_by(SEQ)
        seqs, marks = rows[SEQ].to_pylist(), rows[POISON].to_pylist()
        poison = {seq: mark for seq, mark in zip(seqs, marks, strict=True) if mark is not None}
        taken, record_keys = [seq for seq in seqs if seq not in poison], batch["key"]
        places = {seq: place for place, seq in enumerate(batch["seq"].to_pylist())}
        own = record_keys.take(pa.array([places[seq] for seq in taken], pa.int64()))
        good = rows.filter(rows[POISON].is_null()).append_column(RECORD_KEY, own)
        schema = content_schema(self.columns)
        return good.select(schema.names).cast(schema), taken, poison

    def _leaf(self, name: str, schema: StructType) -> DataFrame:
        types = singleton(self._spark, "org.apache.spark.sql.catalyst.types.DataTypeUtils")
        columns = types.toAttributes(java_type(self._spark, schema))
        return DataFrame(self._tables.table(name, columns), self._spark)

    def _set(self, name: str, rows: pa.Table) -> None:
        path = self._folder / "table.arrow"
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
            writer.write_table(rows)
        self._tables.set(name, str(path))
