"""Dividing the state of a checkpoint into another number of partitions, by Spark's own offline repartitioning.

Spark (4.2 and later) does it in a batch of its own: it writes the state of batch n, divided again, as that of batch n + 1.
But batches end with epochs here, and nobody cut an epoch for it. So what Spark wrote for n + 1 is then given the number n.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from tandem.checkpoint.folders import STATE_FILE
from tandem.checkpoint.relocation import relocate
from tandem.snapshots import Savepoint, Savepoints, SnapshotHead
from tandem.snapshots.local import pin
from tandem.state.errors import RescaleError, SparkError, reason
from tandem.state.reader import StateReader

_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"


def rescale(spark: SparkSession, checkpoint: Path, batch: int, partitions: int) -> None:
    """Divide the state in a checkpoint, which stands after Spark's batch `batch`, into so many partitions.

    No query runs on it. If it raises, the folder is of no use any more.

    Raises `StatelessJobError`; `RescaleError`: it has as many already, or Spark cannot do it for this state.
    """
    if partitions < 1:
        raise RescaleError(f"{partitions} partitions: give at least 1")
    relocate(checkpoint)
    operators = StateReader(spark, checkpoint, batch).operators()
    if all(operator.partitions == partitions for operator in operators):
        raise RescaleError(f"the state has {partitions} partitions already")
    try:
        spark._streamingCheckpointManager.repartition(str(checkpoint), partitions)
    except SparkError as error:
        kinds = ", ".join(f"{operator.id} ({operator.kind})" for operator in operators)
        raise RescaleError(
            f"Spark cannot divide this state again, that of the operators {kinds}: {reason(error)}"
        ) from error
    for operator in operators:
        _renumber_operator(checkpoint / "state" / str(operator.id), batch, partitions)
    (checkpoint / "commits" / str(batch + 1)).unlink()
    (checkpoint / "offsets" / str(batch + 1)).replace(checkpoint / "offsets" / str(batch))
    _check(checkpoint, batch, partitions)


def rescale_savepoint(
    spark: SparkSession, savepoints: Savepoints, savepoint: Savepoint, partitions: int, name: str, folder: Path
) -> Savepoint:
    """A new savepoint `name` with the state of another one in so many partitions; `folder` is for temporary files.

    Raises what `rescale`, `Savepoints.restore` and `Savepoints.save` raise.
    """
    savepoints.check_free(name)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        checkpoint, chosen = Path(work) / "checkpoint", Path(work) / "chosen"
        epoch = savepoints.restore(savepoint, checkpoint).epoch
        rescale(spark, checkpoint, savepoint.snapshot.last_batch, partitions)
        pin(checkpoint, epoch, chosen)
        head = SnapshotHead(**{field: getattr(savepoint.snapshot, field) for field in _HEAD})
        return savepoints.save(name, head, chosen, savepoint.inputs, savepoint.name)


_HEAD: Final = tuple(SnapshotHead.__dataclass_fields__)


def _renumber_operator(operator: Path, batch: int, partitions: int) -> None:
    """What Spark wrote for the batch after `batch` becomes that of `batch`; everything older goes."""
    for store in [folder for folder in operator.iterdir() if folder.name.isdigit()]:
        if int(store.name) >= partitions:
            shutil.rmtree(store)
    written, wanted = batch + 2, batch + 1  # version v is the state after batch v - 1
    for path in sorted(operator.rglob("*")):
        if (match := STATE_FILE.match(path.name)) and int(match[1]) != written:
            path.unlink()
    for path in sorted(operator.rglob(f"{written}.*")):
        if STATE_FILE.match(path.name):
            path.replace(path.with_name(path.name.replace(str(written), str(wanted), 1)))
    metadata = operator / "_metadata"
    if (newer := metadata / "v2" / str(batch + 1)).exists():
        newer.replace(metadata / "v2" / str(batch))
    elif (only := metadata / "metadata").exists():
        _set_partitions(only, partitions)


def _set_partitions(metadata: Path, partitions: int) -> None:
    """In metadata without versions, which Spark leaves as it is."""
    version, _, text = metadata.read_text().partition("\n")
    content = json.loads(text)
    for store in content["stateStoreInfo"]:
        store["numPartitions"] = partitions
    changed = metadata.with_name(".rescaled")
    changed.write_text(f"{version}\n{json.dumps(content, separators=(',', ':'))}")
    changed.replace(metadata)


def _check(checkpoint: Path, batch: int, partitions: int) -> None:
    """That Spark's files are what this module takes them for: it belongs to one version of Spark."""
    offsets = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    if json.loads(offsets[1])["conf"][_SHUFFLE_PARTITIONS] != str(partitions):
        raise RescaleError(f"offsets/{batch} is not for {partitions} partitions after Spark divided the state")
    for operator in (checkpoint / "state").iterdir():
        stores = sorted(int(store.name) for store in operator.iterdir() if store.name.isdigit())
        if stores != list(range(partitions)):
            raise RescaleError(
                f"state/{operator.name} has the partitions {stores} after Spark divided it into {partitions}"
            )
        for store in stores:
            if not any(STATE_FILE.match(path.name) for path in (operator / str(store)).rglob(f"{batch + 1}.*")):
                raise RescaleError(f"state/{operator.name}/{store} holds nothing after Spark divided the state")
