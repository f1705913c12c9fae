"""A job that was stopped, or stopped by itself, goes on with changed code: what its next generation begins with."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from tandem.checkpoint.compared import newest_compared
from tandem.checkpoint.folders import Checkpoint, copy_up_to
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import cut_at, last_marker
from tandem.manifest import Manifest, config_parts, find_code
from tandem.process.child import ChildProcess, Command, tail
from tandem.process.info import RefusedError
from tandem.protocol.values import Config
from tandem.replica.identity_parts import difference, different_in_plan, identity_of, is_comparable, is_same_job
from tandem.replica.lanes_before import decisions_of
from tandem.replica.local_savepoints import (
    changes_name,
    checkpoints_of,
    lineage_of,
    local_savepoints,
    remove_superseded,
)
from tandem.snapshots import (
    Inputs,
    Savepoints,
    SnapshotHead,
    SnapshotManifest,
    SnapshotStore,
    UnknownSavepointError,
    batch_unless,
    rocksdb_state_format,
)

TIMEOUT_S: Final = 300.0
_LIKE_A_REPLICA: Final = {"PYTHONHASHSEED": "0"}


def found_plan(manifest: Manifest, new_lanes: bool = False) -> Mapping[str, str]:
    """See `replica.identity.plan_parts`: of the plan that a process of its own makes, as a replica would; some ten seconds.

    Static tables are copied beside the checkpoints. `new_lanes`: whether the partitions of the inputs follow what the
    manifest says is looked at, too, as before a first start. Raises `RefusedError` with what a replica would say.
    """
    with tempfile.TemporaryDirectory(prefix=f"tandem-look-{manifest.name}-") as folder:
        result, log = Path(folder, "result.json"), Path(folder, "log")
        order = {"manifest": str(manifest.path), "result": str(result)} | ({"new_lanes": "yes"} if new_lanes else {})
        argv = (sys.executable, "-m", "tandem.replica.found_plan", json.dumps(order))
        child = ChildProcess("look", Command(argv, log, _LIKE_A_REPLICA))
        try:
            ended = child.wait(TIMEOUT_S)
        finally:
            if child.running:
                child.kill()
        if not ended or child.exit_code != os.EX_OK:
            why = f"exit code {child.exit_code}" if ended else f"it took longer than {TIMEOUT_S:.0f} s"
            raise RefusedError(f"the job's plan could not be made, to see what has changed: {why}\n{tail(log)}")
        found = dict(json.loads(result.read_text()))
    if "refused" in found:
        raise RefusedError(found["refused"])
    return dict(found["parts"])


_NOT_COMPARABLE = "another version of Tandem began the job's generation, and has not noted all that a plan is made of"
_NO_STATE = (
    "no state of it was found on this machine or in a snapshot store: a job without state goes on where it stopped; one "
    "with state computes it from its inputs again, from their start, and publishes only what is not published yet"
)


@dataclass(frozen=True, slots=True)
class ChangedStart:
    """How the processes of a job with changes start. `generation`: the one that they begin; None: nothing has changed.

    `savepoint` : whose state it begins with; "": none. `words` : the same for people.
    """

    generation: int | None
    savepoint: str
    words: str


def has_other_files(manifest: Manifest, accepted: Config) -> bool:
    """Whether code, options or versions are not those of the generation `accepted`."""
    return not is_same_job(_identity(manifest), accepted.digest)


def what_has_changed(manifest: Manifest, accepted: Config) -> str:
    """What is not as it was when the generation `accepted` began, in words; "" if nothing is.

    If it is nothing of the job's files, its plan is made to compare what that is made of: static tables, and what the code
    takes from its surroundings. That takes some ten seconds. Raises `RefusedError`.
    """
    if has_other_files(manifest, accepted):
        return difference(_identity(manifest), accepted.digest)
    plan = found_plan(manifest)
    return different_in_plan(plan, accepted) or ("" if is_comparable(plan, accepted) else _NOT_COMPARABLE)


def _identity(manifest: Manifest) -> str:
    return identity_of(config_parts(manifest, find_code(manifest).content))


def changed_start(manifest: Manifest) -> ChangedStart:
    """What the stopped job of `manifest` goes on with; the newest state is kept as a savepoint for it.

    The state is that of this machine's replicas, or a snapshot if that is newer. See `what_has_changed`. Raises
    `RefusedError`, `SnapshotError`, `TandemKafkaError`, `OSError`.
    """
    if manifest.spec.ordering.mode == "none":
        raise RefusedError(
            "with spec.ordering.mode: none replicas agree on nothing. Give the changed job another metadata.name"
        )
    connection, topics = KafkaConnection(manifest.kafka_properties(os.environ)).silent, manifest.model.topics
    accepted = decisions_of(manifest, connection).config
    if accepted is None:
        _check_never_ran(manifest)
        return ChangedStart(None, "", "the job has not run yet: it starts as usual")
    change = what_has_changed(manifest, accepted)
    if not change:
        return ChangedStart(
            None,
            "",
            "nothing has changed that the job's rows depend on, neither its files nor the static tables and other things "
            "that its plan is made of: it goes on as usual",
        )
    marker, generation = last_marker(connection, topics.commits), accepted.generation + 1
    published = -1 if marker is None else marker.epoch
    words = f"generation {generation} begins: {change}"
    savepoint = _savepoint(manifest, connection, accepted, published)
    if savepoint is None:
        return ChangedStart(generation, "", f"{words}; {_NO_STATE}")
    name, epoch = savepoint
    return ChangedStart(generation, name, f"{words}; its state is that of epoch {epoch:,}, kept as savepoint {name}")


def _check_never_ran(manifest: Manifest) -> None:
    """Raise `RefusedError` if this machine has state of a job that has no log: it would publish all of its rows again."""
    directory = manifest.checkpoint_directory
    if any(lineage_of(folder) is not None for folder in directory.glob(f"{manifest.name}.*")):
        raise RefusedError(
            f"{manifest.name} has run on this machine, whose state of it is in {directory}, but nothing of it is in the "
            f"topics {manifest.model.topics.ordering} and {manifest.model.topics.commits}. If spec.kafka.topics or "
            "spec.kafka.bootstrapServers was changed, put back the old one: the job would begin again, and publish what is "
            "published. If that is meant, as after the topics were deleted, start it without --accept-changes"
        )


def _savepoint(
    manifest: Manifest, connection: KafkaConnection, accepted: Config, published: int
) -> tuple[str, int] | None:
    """The name and epoch of a savepoint with the newest state of `accepted`'s lineage; None if there is no state."""
    spec = manifest.spec.snapshots
    store = None
    if spec is not None:
        store = SnapshotStore(spec.url(manifest.name, manifest.base), spec.options(os.environ, manifest.base))
    local = newest_compared(checkpoints_of(manifest.checkpoint_directory, accepted.lineages), published)
    stored = _newest_stored(store, accepted.lineages, published)
    epoch = max(-1 if local is None else local.position.epoch, -1 if stored is None else stored.epoch)
    if epoch < 0:
        return None
    name = changes_name(accepted.generation + 1, epoch)
    savepoints = Savepoints(store) if store is not None else local_savepoints(manifest.checkpoint_directory, name)
    if _is_there(savepoints, name, epoch, accepted.lineages):
        return name, epoch
    remove_superseded(manifest.checkpoint_directory, manifest.name, accepted)
    if local is not None and local.position.epoch == epoch:
        _keep_local(savepoints, name, manifest, connection, accepted, local)
    elif stored is not None:
        cut = cut_at(connection, manifest.model.topics.ordering, stored.log_offset)
        savepoints.create(name, stored, Inputs.of(_sources(manifest), cut))
    return name, epoch


def _newest_stored(store: SnapshotStore | None, lineages: Collection[str], published: int) -> SnapshotManifest | None:
    snapshots = () if store is None else store.list()
    return next((one for one in snapshots if one.config_digest in lineages and one.epoch <= published), None)


def _is_there(savepoints: Savepoints, name: str, epoch: int, lineages: Collection[str]) -> bool:
    """Whether a try before this one has made it."""
    try:
        snapshot = savepoints.get(name).snapshot
    except UnknownSavepointError:
        return False
    return snapshot.epoch == epoch and snapshot.config_digest in lineages


def _keep_local(
    savepoints: Savepoints,
    name: str,
    manifest: Manifest,
    connection: KafkaConnection,
    accepted: Config,
    checkpoint: Checkpoint,
) -> None:
    position = checkpoint.position
    head = SnapshotHead(
        job=manifest.name,
        epoch=position.epoch,
        batch=batch_unless(checkpoint.batch, position.epoch),
        log_offset=position.log_offset,
        config_digest=accepted.lineage,
        digest="",
        taken_at_ms=time.time_ns() // 1_000_000,
        state_format=rocksdb_state_format(version("pyspark")),
        incarnation=f"{manifest.name}.run",
    )
    cut = cut_at(connection, manifest.model.topics.ordering, position.log_offset)
    with tempfile.TemporaryDirectory(prefix=".savepoint-", dir=manifest.checkpoint_directory) as folder:
        copy_up_to(checkpoint, Path(folder))
        savepoints.save(name, head, Path(folder), Inputs.of(_sources(manifest), cut))


def _sources(manifest: Manifest) -> list[tuple[str, tuple[str, ...]]]:
    return [(source.name, tuple(source.topics)) for source in manifest.spec.sources]
