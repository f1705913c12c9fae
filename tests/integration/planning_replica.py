"""A replica's part that makes plans, of jobs that are written line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tandem.engine.bridge import EpochBridge
from tandem.engine.plan_check import check_repeatable
from tandem.engine.planning import Plan, Planning, intake_of
from tandem.engine.second_plan import SecondPlan
from tandem.engine.static_tables import StaticTables
from tandem.engine.table_files import TableFiles
from tandem.jobapi.frozen_code import keep
from tandem.manifest import Manifest, find_code, load

_NUMBERS = count()
HEAD = "from pyspark.sql import functions as F\n"


class Replica:
    """A replica's part that makes plans. `agreed`: versions of static tables, as its generation has them."""

    def __init__(self, spark: SparkSession, folder: Path, code: str, agreed: Mapping[str, str] | None = None) -> None:
        self.manifest = written(folder, code)
        self.spark, self.folder = spark, folder / f"replica-{next(_NUMBERS)}"
        self.folder.mkdir()
        self.kept = keep(self.manifest, find_code(self.manifest), self.folder)
        self.tables = StaticTables(TableFiles(spark, folder / "tables"), agreed or {})
        self.planning = Planning(spark, self.manifest, self.kept, self.tables)
        self.bridges = 0

    def plan(self) -> Plan:
        self.bridges += 1
        folder = self.folder / str(self.bridges)
        return self.planning.plan(EpochBridge(self.spark, from_arrow_schema(intake_of(self.manifest).schema), folder))

    def prepared(self) -> Plan:
        """As the engine does it: the plan is made twice, and compared."""
        plan = self.plan()
        check_repeatable(plan.frame, self.plan().frame)
        return plan

    def tried(self) -> Plan:
        """As a replica does that begins a job: the plan is compared with that of another process."""
        plan = self.prepared()
        self.second(plan)
        return plan

    @property
    def second(self) -> SecondPlan:
        return SecondPlan(self.spark, self.manifest, self.kept, self.folder / "second-plan", self.tables)


def written(folder: Path, code: str) -> Manifest:
    (folder / "job.py").write_text(code)
    spec = {
        "job": {"file": "job.py", "options": {"rates": str(folder / "rates")}},
        "kafka": {"bootstrapServers": "localhost:1"},
        "zookeeper": {"connect": "localhost:2"},
        "sources": [{"name": "events", "topics": ["in"]}],
        "sinks": [{"name": "out", "topic": "out"}],
    }
    path = folder / "job.yaml"
    tree = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "x"}, "spec": spec}
    path.write_text(json.dumps(tree))
    return load(path)


def body(*lines: str, before: str = "", returns: str = "events.select('key', 'value')") -> str:
    """A job of these lines."""
    inside = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}{before}\n\ndef job(events, ctx):\n{inside}    return {returns}\n"


def add(folder: Path, name: str, **rates: float) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"currency": list(rates), "rate": list(rates.values())}), folder / name)
