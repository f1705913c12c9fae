"""A replica's part that makes plans; as a process of its own, it writes down the facts of its plan."""

from __future__ import annotations

import json
import os
import sys
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tandem.engine.bridge import EpochBridge
from tandem.engine.jvm.jars import Jars
from tandem.engine.planning import Plan, Planning, intake_of
from tandem.engine.prepared import PreparedJob, prepare_job
from tandem.engine.session import build_session
from tandem.engine.static_tables import StaticTables
from tandem.engine.table_files import TableFiles
from tandem.jobapi.frozen_code import folders_of, keep
from tandem.jobapi.job import make_importable
from tandem.manifest import Manifest, SparkSpec, find_code, load

_NUMBERS = count()


class Process:
    """A replica's part that makes plans."""

    def __init__(self, spark: SparkSession, manifest: Manifest, folder: Path) -> None:
        self.spark, self.manifest = spark, manifest
        self.folder = folder / f"process-{os.getpid()}-{next(_NUMBERS)}"
        self.folder.mkdir()
        self.kept = keep(manifest, find_code(manifest), self.folder)
        make_importable(self.kept, folders_of(manifest))
        self.tables = StaticTables(TableFiles(spark, folder / "tables"), {})

    def plan(self) -> Plan:
        """The plan that is compared with those of other processes."""
        planning = Planning(self.spark, self.manifest, self.kept, self.tables)
        schema = from_arrow_schema(intake_of(self.manifest).schema)
        return planning.plan(EpochBridge(self.spark, schema, self.folder / "bridge"))

    def prepare(self) -> PreparedJob:
        """All checks of a start, but for what needs another process."""
        return prepare_job(self.spark, self.manifest, self.kept, self.folder, self.tables)


def main(manifest: Path, folder: Path, result: Path) -> None:
    """Write the facts of the plan as a replica with a JVM of its own finds them."""
    spark = build_session("tests", "replica-1", SparkSpec(), Jars.resolve().spark_classpath(), folder / "scratch")
    result.write_text(json.dumps(Process(spark, load(manifest), folder).plan().facts))
    spark.stop()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
