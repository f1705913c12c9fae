"""The Kafka connector of plain Spark, for the bench only: a mix of versions that nobody supports, but that runs.

The connector of Spark 4.3.0 itself cannot be had from Maven Central; this one ran micro-batches on 4.3.0.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tandem.engine.jvm.errors import JarsError
from tandem.engine.jvm.jars import default_cache
from tandem.engine.jvm.pyspark_files import spark_home
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline

ARTIFACTS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
_FOLDER = "jars-bench-connector-4.2.0"
# What the artifacts need is either in Spark already or one of the other three, in a version that would not go with it.
_NOT_ALONG = (
    "org.apache.spark:spark-token*,org.apache.kafka:*,org.apache.commons:*,com.google.code.findbugs:*,"
    "org.scala-lang.modules:*,org.scala-lang:*,com.github.luben:*,org.lz4:*,at.yawk.lz4:*,org.xerial.snappy:*,org.slf4j:*"
)


def connector_jars(deadline_s: float = 600.0) -> list[Path]:
    """The jars, each fetched singly by Spark's own resolver if the cache lacks it (once, about a minute).

    Raises `JarsError` if one cannot be had; with the end of the resolver's output.
    """
    folder = default_cache().absolute() / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    deadline = Deadline(deadline_s)
    return [fetch_artifact(artifact, folder, deadline) for artifact in ARTIFACTS]


def fetch_artifact(artifact: str, folder: Path, deadline: Deadline, not_along: str = _NOT_ALONG) -> Path:
    """The jar of an artifact (group:name:version) in `folder`, fetched by Spark's own resolver if it lacks it.

    `not_along`: patterns, by comma, of what it needs and what is not to be fetched.

    Raises `JarsError` if it cannot be had; with the end of the resolver's output.
    """
    group, name, version = artifact.split(":")
    jar = folder / f"{name}-{version}.jar"
    if not jar.exists():
        with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder, ignore_cleanup_errors=True) as temporary:
            _resolve(artifact, Path(temporary), deadline, not_along)
            found = Path(temporary, "ivy", "jars", f"{group}_{name}-{version}.jar")
            if not found.exists():
                raise JarsError(f"the resolver ended well but left no {artifact}: check its Ivy settings")
            shutil.move(found, jar)
    return jar


def _resolve(artifact: str, work: Path, deadline: Deadline, not_along: str) -> None:
    group, name, _ = artifact.split(":")
    along = ",".join(
        pattern for pattern in not_along.split(",") if not f"{group}:{name}".startswith(pattern.rstrip("*"))
    )
    (work / "nothing.py").write_text("")
    settings = {
        "spark.jars.ivy": str(work / "ivy"),
        "spark.jars.packages": artifact,
        "spark.jars.excludes": along,
        "spark.log.level": "WARN",
    }
    options = (word for key, value in settings.items() for word in ("--conf", f"{key}={value}"))
    submit = (str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]", *options, str(work / "nothing.py"))
    env = {"SPARK_HOME": str(spark_home()), "PYSPARK_PYTHON": sys.executable}
    process = ChildProcess("the resolver", Command(submit, work / "resolver.log", env))
    try:
        process.wait(deadline.remaining_s)
        if process.exit_code != 0:
            raise JarsError(f"Spark could not fetch {artifact}: {process.story()}")
    finally:
        process.kill()
