"""Standbys, slots and snapshots with one of their guards removed; see `guards`."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from simulation.deviation import Deviation
from simulation.guards import Guard
from simulation.schedule import Schedule
from simulation.store import SimulatedRemote
from tandem.coordination import slots
from tandem.protocol.membership import SurplusWatch
from tandem.protocol.publication_rules import Delivery
from tandem.snapshots import SnapshotFile, SnapshotManifest, store
from tandem.snapshots.restoring import Restorer


class WritesManifestsFirst(SimulatedRemote):
    """Sends the contents of a snapshot after its manifest."""

    _waiting: tuple[tuple[Path, str], ...] = ()

    def put_file(self, source: Path, path: str) -> None:
        kept = source.with_name(f"{source.name}.kept")
        shutil.copy(source, kept)
        self._waiting += ((kept, path),)

    def put_bytes(self, content: bytes, path: str) -> None:
        super().put_bytes(content, path)
        if path.startswith("manifests/"):
            waiting, self._waiting = self._waiting, ()
            for source, object_path in waiting:
                super().put_file(source, object_path)


def _trusting(restorer: Restorer, file: SnapshotFile, destination: Path) -> None:
    """Restores what it finds, whatever its hash."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(restorer._remote.read(file.object_path))


def _trusted(content: bytes) -> SnapshotManifest:
    """A manifest of which nobody asks whether it is the one that was written."""
    try:
        body = json.loads(content.partition(b"\n")[2])
        files = tuple(SnapshotFile(**file) for file in body.pop("files"))
        return SnapshotManifest(**body, files=files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise store.SnapshotManifestError(str(error)) from error


def _has_store(schedule: Schedule) -> bool:
    redundancy = schedule.redundancy
    return redundancy is not None and redundancy.store and schedule.delivery is Delivery.EXACTLY_ONCE


def _is_damaged(schedule: Schedule) -> bool:
    return _has_store(schedule) and any(failure.kind == "damage" for failure in schedule.failures)


def _has_standbys(schedule: Schedule) -> bool:
    return schedule.redundancy is not None and schedule.redundancy.standbys > 0


def _guard(
    name: str,
    deviation: Deviation | None = None,
    where: Callable[[Schedule], bool] = _has_store,
    rules: tuple[tuple[object, str, Callable[..., object]], ...] = (),
    unsafe: bool = True,
    near: int = 0,
) -> Guard:
    return Guard(name, deviation or Deviation(), rules, unsafe, Schedule.redundant, where, near)  # type: ignore[arg-type]


GUARDS_OF_STATE = (
    _guard("what is restored is published", Deviation(restores_unpublished=True)),
    _guard(
        "state of another job is not restored",
        Deviation(restores_any_config=True),
        lambda schedule: schedule.redundancy is not None and schedule.redundancy.stranger >= 0,
    ),
    _guard("a replica goes on where its state stands", Deviation(skips_replay=True)),
    _guard("a manifest is written last", Deviation(remote=WritesManifestsFirst)),
    _guard("contents are checked by their hash", where=_is_damaged, rules=((Restorer, "_fetch", _trusting),)),
    _guard("manifests are checked by their hash", where=_is_damaged, rules=((store, "decode_manifest", _trusted),)),
    _guard(
        "the log is kept back to the oldest snapshot",
        Deviation(cuts_log_short=True),
        lambda schedule: schedule.redundancy is not None and schedule.redundancy.cuts_log,
    ),
    _guard(
        "a replica knows its slot again",
        where=_has_standbys,
        rules=((slots, "held_by", lambda *_: None),),
        unsafe=False,
    ),
    _guard(
        "a surplus active steps down",
        where=_has_standbys,
        rules=((SurplusWatch, "must_step_down", lambda *_: False),),
        unsafe=False,
    ),
)
