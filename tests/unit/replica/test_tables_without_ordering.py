"""Without ordering, each replica has epochs of its own: no table takes those of one for those of another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql.types import LongType, StructField, StructType

from tandem.manifest import load
from tandem.replica import old_names
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
    Path(old_names.of_the_job(mine[0]).path).mkdir(exist_ok=True)
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
@pytest.mark.parametrize(("mode", "replicas"), [("heartbeat", 2), ("heartbeat", 1)])
def test_where_epochs_are_the_jobs_so_is_the_table(kind: str, mode: str, replicas: int, tmp_path: Path) -> None:
    assert sinks(tmp_path, kind, "replica-0", mode, replicas) == (TableSink("archive", kind, str(tmp_path / "table")),)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_epochs_of_an_earlier_run_of_a_replica_are_refused_at_its_start(kind: str, tmp_path: Path) -> None:
    mine = sinks(tmp_path, kind, "replica-0")
    write(mine, 5, 1)

    prepare_tables(SinkTables(mine), "orders", lambda: 5, lambda: "run")
    with pytest.raises(TableError, match="has epochs up to 5 of an earlier run, and the job begins again"):
        prepare_tables(SinkTables(mine), "orders", lambda: -1, lambda: "run")


def test_a_replica_that_is_alone_writes_under_its_own_name_as_there_may_be_more_later(tmp_path: Path) -> None:
    assert sinks(tmp_path, "parquet", "replica-0", replicas=1) == sinks(tmp_path, "parquet", "replica-0", replicas=2)
    assert sinks(tmp_path, "delta", "replica-0", replicas=1) == sinks(tmp_path, "delta", "replica-0", replicas=2)


def test_a_folder_that_is_not_there_is_not_made_for_a_replicas_part_of_it(tmp_path: Path) -> None:
    mine = SinkTables(sinks(tmp_path, "parquet", "replica-0"))
    with pytest.raises(TableError, match="the folder or volume with it is not here"):
        make_tables(mine, SINKS, lambda: False)
    assert not (tmp_path / "table").exists()

    (tmp_path / "table").mkdir()
    make_tables(mine, SINKS, lambda: False)
    assert (tmp_path / "table" / "replica=replica-0").is_dir()


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_epochs_under_the_jobs_name_are_reported(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(old_names._log, "warning", lambda event, **words: said.append((event, words["newest"])))
    write(sinks(tmp_path, kind, "", mode="heartbeat"), 5, 1)
    for mode in ("heartbeat", "none"):
        prepare_tables(SinkTables(sinks(tmp_path, kind, "replica-0", mode)), "orders", lambda: 5, lambda: "run")
    assert said == [("written_under_the_jobs_name", 5)]
