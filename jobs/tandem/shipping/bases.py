"""Where a follower's base comes from: a checkpoint of this machine, or the newest snapshot in the store."""

import math
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from tandem.checkpoint.compared import newest_compared
from tandem.checkpoint.folders import find_newest
from tandem.logs import get_logger
from tandem.shipping.errors import UnknownStateError
from tandem.shipping.state import FollowedState, longest_chain
from tandem.snapshots import SnapshotError, SnapshotManifest, SnapshotStore
from tandem.snapshots.errors import IncompleteCheckpointError
from tandem.snapshots.local import pin

_log = get_logger(__name__)

_LOCAL_TRIES = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """`newer_than` < epoch <= `last_published`, and fewer than `shorter_than` changes between the last full copy and `at`.

    What `have`, the state of epoch `at` that came before, has already need not be fetched again. `epochs_a_change`: how many
    epochs a change has, about.
    """

    newer_than: int
    last_published: int
    have: Path | None = None
    at: int = -1
    shorter_than: float = math.inf
    epochs_a_change: int = 1

    def is_short(self, chain: int, epoch: int) -> bool:
        """Whether a base of `epoch`, itself so many changes after a full copy, is short enough once it is at `at`."""
        return chain + max(0, self.at - epoch) // self.epochs_a_change < self.shorter_than


class Bases(Protocol):
    """Gives a follower what to begin with."""

    def newest(self, wanted: Wanted, folder: Path) -> FollowedState | None:
        """The newest state that is wanted, in the new folder `folder`; None if there is none.

        Raises `UnknownStateError` if state of that job can never be followed.
        """


class LocalBases:
    """Checkpoints of other incarnations on this machine: their files are linked, not copied.

    `checkpoints` : the folders that there are now.
    """

    def __init__(self, checkpoints: Callable[[], Iterable[Path]]) -> None:
        self._checkpoints = checkpoints

    def newest(self, wanted: Wanted, folder: Path) -> FollowedState | None:
        """See `Bases`."""
        for _ in range(_LOCAL_TRIES):
            found = newest_compared(self._checkpoints(), wanted.last_published)
            if found is None or found.position.epoch <= wanted.newer_than:
                return None
            shutil.rmtree(folder, ignore_errors=True)
            try:
                base = pin(found.folder, found.position.epoch, folder)
            except IncompleteCheckpointError as error:
                _log.debug("base_moved_on", folder=str(found.folder), reason=str(error))
                continue
            state = FollowedState(base)
            if wanted.is_short(state.chain, state.position.epoch):
                return state
            state.remove()
            return None
        return None


class StoredBases:
    """Snapshots in the store."""

    def __init__(self, store: SnapshotStore, config_digest: str | Collection[str]) -> None:
        self._store = store
        self._config_digest = config_digest

    def newest(self, wanted: Wanted, folder: Path) -> FollowedState | None:
        """See `Bases`."""

        def is_short(manifest: SnapshotManifest) -> bool:
            return wanted.is_short(longest_chain(PurePosixPath(file.path) for file in manifest.files), manifest.epoch)

        shutil.rmtree(folder, ignore_errors=True)
        try:
            position = self._store.newest_usable(
                wanted.last_published, self._config_digest, folder, wanted.newer_than, wanted.have, is_short
            )
        except SnapshotError as error:
            _log.warning("no_base_from_store", reason=str(error))
            return None
        base = None if position is None else find_newest([folder], position.epoch)
        return None if base is None else FollowedState(base)


class FirstOf:
    """The first of several places that has a base."""

    def __init__(self, *places: Bases) -> None:
        self._places = places

    def newest(self, wanted: Wanted, folder: Path) -> FollowedState | None:
        """See `Bases`."""
        for place in self._places:
            try:
                state = place.newest(wanted, folder)
            except UnknownStateError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            if state is not None:
                return state
        return None
