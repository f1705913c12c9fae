"""Without ordering, each replica has epochs of its own: no table takes those of one for those of another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql.types import LongType, StructField, StructType

from tandem.manifest import load
from tandem.replica.made_tables import SinkTables, make_tables, prepare_tables
from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableError, TableSink, TableWriter, table_sinks

MANIFEST = """\
apiVersion: tandem.dev/v1alpha1
kind: ReplicatedStreamJob
metadata: {{name: orders}}
spec:
  job: {{file: job.py, function: orders}}
  replicas: {replicas}
  delivery: atLeastOnce
  ordering: {{mode: {mode}}}
  kafka: {{bootstrapServers: "localhost:9092"}}
  sources: [{{name: orders, topics: [orders]}}]
  sinks: [{{name: archive, {kind}: {{path: table}}}}]
"""
SINKS = StructType([StructField("table_archive", StructType([StructField("n", LongType())]))])


def sinks(folder: Path, kind: str, replica: str, mode: str = "none", replicas: int = 2) -> tuple[TableSink, ...]:
    (folder / "job.yaml").write_text(MANIFEST.format(kind=kind, mode=mode, replicas=replicas))
    return table_sinks(load(folder / "job.yaml"), replica)


def write(mine: tuple[TableSink, ...], epoch: int, number: int) -> None:
    """As a replica does of a job whose generation has begun long ago."""
    make_tables(SinkTables(mine), SINKS, lambda: mine[0].kind == "delta")
    values = pa.array([{"n": number}], pa.struct([("n", pa.int64())]))
    columns = {"sink": ["archive"], "key": pa.nulls(1, pa.binary()), "value": pa.nulls(1, pa.binary())}
    rows = EpochRows.of(epoch, pa.table({**columns, "table_archive": values}), ordered=True)
    TableWriter("orders", mine).write(rows)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_epochs_of_one_replica_are_not_taken_for_those_of_another(kind: str, tmp_path: Path) -> None:
    for replica, number in (("replica-0", 1), ("replica-1", 2)):
        for _ in range(2):
            write(sinks(tmp_path, kind, replica), 0, number)

    folder = tmp_path / "table"
    table = DeltaTable(str(folder)).to_pyarrow_table() if kind == "delta" else pq.read_table(folder)
    assert sorted(table["n"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("kind", ["parquet", "delta"])
@pytest.mark.parametrize(("mode", "replicas"), [("heartbeat", 2), ("none", 1)])
def test_where_epochs_are_the_jobs_so_is_the_table(kind: str, mode: str, replicas: int, tmp_path: Path) -> None:
    assert sinks(tmp_path, kind, "replica-0", mode, replicas) == (TableSink("archive", kind, str(tmp_path / "table")),)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_epochs_of_an_earlier_run_of_a_replica_are_refused_at_its_start(kind: str, tmp_path: Path) -> None:
    mine = sinks(tmp_path, kind, "replica-0")
    write(mine, 5, 1)

    prepare_tables(SinkTables(mine), "orders", lambda: 5, lambda: "run")
    with pytest.raises(TableError, match="has epochs up to 5 of an earlier run, and the job begins again"):
        prepare_tables(SinkTables(mine), "orders", lambda: -1, lambda: "run")
