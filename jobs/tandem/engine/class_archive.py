"""An archive of Spark's classes, parsed and verified once: with it a session starts, and computes its first epoch, a third
sooner (JEP 350, dynamic class-data sharing). Made by `python -m tandem.engine.class_archive`, and used if it is there.

The JVM itself checks that an archive was made by the same JVM from the same jars, and does without it otherwise.
"""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Final

import typer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from tandem.engine.jvm.classes import classes_jar
from tandem.engine.jvm.jars import file_system_jar
from tandem.engine.session import ARCHIVE_PREFIX, archive_of, build_session
from tandem.manifest import SparkSpec
from tandem.waiting import Deadline, wait_until

_TRAINING_S: Final = 180.0
_EPOCHS: Final = 4
_KEPT_OTHERS: Final = 2


class ArchiveError(Exception):
    """The archive could not be made; everything works without it, more slowly."""


def make(jar: Path, scratch: Path) -> Path:
    """Run a small streaming query and archive the classes that it needed; returns the archive. Replaces an older one.

    `jar` : that of the checkpoint's file system; the archive goes beside it.
    `scratch` : a folder for temporary files.

    Raises `ArchiveError`: the JVM wrote none.
    """
    archive = archive_of(jar, classes_jar())
    made = archive.with_name(f".{archive.name}.{os.getpid()}")
    spec = SparkSpec(conf={"spark.driver.extraJavaOptions": f'"-XX:ArchiveClassesAtExit={made}" -Xlog:cds=off'})
    session = build_session("training", "replica-0", spec, jar, scratch, use_archive=False)
    try:
        _train(session, scratch / "checkpoint")
    finally:
        gateway = session.sparkContext._gateway
        session.stop()
    assert gateway is not None  # noqa: S101
    gateway.shutdown()
    jvm = gateway.proc
    jvm.stdin.close()
    if not wait_until(lambda: jvm.poll() is not None, Deadline(_TRAINING_S)) or not made.is_file():
        raise ArchiveError(f"the JVM wrote no {made}; its exit code is {jvm.poll()}")
    made.replace(archive)
    remove_old(archive)
    return archive


def remove_old(archive: Path) -> None:
    """Of other installations, the archives that were used last stay."""
    known = archive.parent.glob(f"{ARCHIVE_PREFIX}*.jsa")
    others = sorted((path for path in known if path != archive), key=lambda path: path.stat().st_mtime)
    for path in others[:-_KEPT_OTHERS]:
        path.unlink(missing_ok=True)


def _train(session: SparkSession, checkpoint: Path) -> None:
    """What every job does: a source, state, an epoch's rows as Arrow."""
    epochs: list[int] = []

    def take(rows: object, epoch: int) -> None:
        rows.toArrow()  # type: ignore[attr-defined]
        epochs.append(epoch)

    counted = (
        session.readStream.format("rate")
        .option("rowsPerSecond", 100)
        .load()
        .withColumn("text", F.to_json(F.struct("timestamp", "value")))
        .groupBy((F.col("value") % 3).alias("key"))
        .agg(F.count("*").alias("count"), F.max("text").alias("text"))
    )
    query = (
        counted.writeStream.outputMode("update")
        .foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    if not wait_until(lambda: len(epochs) >= _EPOCHS or not query.isActive, Deadline(_TRAINING_S)):
        raise ArchiveError("the training did not come to its end")
    query.stop()


def main(
    again: Annotated[bool, typer.Option("--again", help="Also if there is an archive already")] = False,
) -> None:
    """Make the archive of Spark's classes, if there is none (about half a minute, 170 MB)."""
    jar = file_system_jar()
    archive = archive_of(jar, classes_jar())
    if archive.is_file() and not again:
        typer.echo(archive)
        return
    typer.echo("Making an archive of Spark's classes (once, about half a minute)", err=True)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            typer.echo(make(jar, Path(scratch)))
        except ArchiveError as error:
            typer.echo(f"No archive of classes, starts take longer: {error}", err=True)


if __name__ == "__main__":
    typer.run(main)
