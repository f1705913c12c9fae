"""Takes snapshots while the job runs, on a thread of its own. Nothing that goes wrong here may stop the job."""

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tandem.checkpoint.folders import Checkpoint, find_newest
from tandem.logs import get_logger
from tandem.snapshots.errors import IncompleteCheckpointError, SnapshotCancelledError, SnapshotError
from tandem.snapshots.local import pin
from tandem.snapshots.pace import SnapshotterSettings, left_ms
from tandem.snapshots.store import SnapshotStore
from tandem.snapshots.store_clock import StoreClock
from tandem.snapshots.turn import Turn
from tandem.snapshots.values import SnapshotHead, SnapshotManifest, batch_unless
from tandem.waits import Task

_log = get_logger(__name__)

_LEASE_MS = 30_000
_PIN_TRIES = 10
_PIN_AGAIN_S = 0.2
_LOOK_AGAIN_MS = 250
"""How soon a snapshot that is due is thought of again while the last one is of the newest barrier."""
_LAST_AGAIN_S = 0.2
"""How soon the last snapshot is tried again: Spark commits a moment after the epoch is published; others may be at it."""
_DIGESTS = 10_000
"""Epochs whose digest is known: at least those since the last barrier."""


@dataclass(frozen=True, slots=True)
class SnapshotIdentity:
    """Whose state it is; see `SnapshotHead`."""

    job: str
    incarnation: str
    config_digest: str
    state_format: str


class Snapshotter:
    """One replica's part in the job's snapshots.

    `checkpoint` : the folder that Spark writes; links to its files are kept beside it while they are sent.
    `now_ms` : wall clock, ms since 1970.
    `on_saved` : called with each snapshot that this replica took, for metrics.
    `task` : says what the next snapshot waits for.
    """

    def __init__(
        self,
        store: SnapshotStore,
        identity: SnapshotIdentity,
        checkpoint: Path,
        settings: SnapshotterSettings,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        on_saved: Callable[[SnapshotManifest], None] = lambda _: None,
        task: Task | None = None,
    ) -> None:
        self._store = store
        self._on_saved = on_saved
        self._task = task or Task()
        self._identity = identity
        self._checkpoint = checkpoint
        self._staging = checkpoint.with_name(f"{checkpoint.name}-snapshot")
        self._settings = settings
        self._now_ms = now_ms
        lease_ms = max(_LEASE_MS, 3 * settings.interval_ms)
        self._store_clock = StoreClock(store.remote, now_ms)
        self._turn = Turn(store.remote, identity.incarnation, lease_ms, now_ms)
        self._digests: dict[int, str] = {}
        self._offered: int | None = None
        self._own_ms: int | None = None  # when it has published itself
        self._saved = -1
        self._due_ms = 0
        self._collect_ms = now_ms() + settings.collect_every_ms
        self._failures = 0
        self._busy = False
        self._is_last = False
        self._stopped = False
        self._state = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="snapshotter", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def offer(self, epoch: int, digest: str = "") -> None:
        """This replica has published `epoch`, whose rows have `digest`: a snapshot may be taken. Returns at once."""
        with self._state:
            self._digests[epoch] = digest
            while len(self._digests) > _DIGESTS:
                del self._digests[next(iter(self._digests))]
            now, interval_ms = self._now_ms(), self._settings.interval_ms
            self._own_ms = now
            if left_ms(self._due_ms, now, self._settings.most_ms) > interval_ms:
                self._due_ms = now + interval_ms
            self._offer(epoch)

    def offer_of_another(self, epoch: int) -> None:
        """Somebody has published `epoch`, and this replica has computed the same; see `SnapshotterSettings.apart_ms`."""
        with self._state:
            self._offer(epoch)

    def _offer(self, epoch: int) -> None:
        self._offered = epoch if self._offered is None else max(epoch, self._offered)
        self._state.notify_all()

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is under way, or due."""
        with self._state:
            return not self._busy and (self._offered is None or self._left_ms() > 0)

    def take_last(self, published: int, timeout_s: float) -> bool:
        """Take one at once of what was published last, which nothing follows; whether the store has it, within that time.

        `published` : the last epoch that this replica knows to be published, by any replica.
        """
        with self._state:
            self._is_last = True
            if published > max(self._saved, -1 if self._offered is None else self._offered):
                self._offered = published
            self._state.notify_all()
            done = self._state.wait_for(lambda: not self._busy and self._offered is None, timeout_s)
        if not done:
            _log.warning("no_last_snapshot", reason=f"the store had none within {timeout_s:.0f} s")
        return done

    def stop(self, timeout_s: float = 5.0) -> None:
        """Give up what is under way and stop; a call to the store that hangs is left behind."""
        with self._state:
            self._stopped = True
            self._state.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.warning("snapshot_abandoned", reason=f"the store did not answer within {timeout_s:.0f} s")
        else:
            shutil.rmtree(self._staging, ignore_errors=True)

    def _run(self) -> None:
        while (epoch := self._next()) is not None:
            due = self._attempt(epoch)
            with self._state:
                self._due_ms, self._busy = due, False
                if self._offered is not None and self._offered <= self._saved:
                    self._offered = None
                self._state.notify_all()
                if self._is_last and self._offered is not None:
                    self._state.wait_for(lambda: self._stopped, _LAST_AGAIN_S)

    def _next(self) -> int | None:
        """Wait until a snapshot is due, maybe for ever; the newest epoch that may be in it, None once it stops."""
        with self._state:
            while not self._stopped:
                wait_ms = None if self._offered is None else self._left_ms()
                if wait_ms == 0:
                    self._busy = True
                    return self._offered
                self._state.wait(None if wait_ms is None else wait_ms / 1000)
        return None

    def _left_ms(self) -> int:
        return 0 if self._is_last else left_ms(self._due_ms, self._now_ms(), self._settings.most_ms)

    def _attempt(self, epoch: int) -> int:
        """Take a snapshot if it is this replica's turn; returns when to look again."""
        began = self._now_ms()
        due = began + self._settings.interval_ms
        try:
            stands_at = self._stands_at(epoch)
            if stands_at <= self._saved and (stands_at >= 0 or self._saved < 0):
                return began + min(_LOOK_AGAIN_MS, self._settings.interval_ms)
            self._task.begins("the next snapshot", "an answer of the snapshot store")
            newest = self._store.newest((self._identity.config_digest,))
            self._saved = -1 if newest is None else newest.epoch
            apart_ms = self._settings.apart_ms(self._own_ms, began)
            if self._is_last and self._saved >= epoch:
                pass
            elif newest is not None and not self._is_last and 0 <= began - newest.taken_at_ms < apart_ms:
                due = newest.taken_at_ms + apart_ms
            elif 0 <= stands_at <= self._saved:
                pass  # the newest one has all that this replica knows
            elif self._turn.take():
                try:
                    self._take(epoch)
                    self._collect()
                finally:
                    with suppress(SnapshotError):
                        self._turn.give_back()
            self._succeeded()
        except SnapshotCancelledError as error:
            self._task.ends()
            _log.info("snapshot_cancelled", reason=str(error))
        except Exception as error:
            due = self._now_ms() + self._settings.interval_ms
            self._failed(error)
            self._task.at(f"it failed: {error}", _goes_on)
            with suppress(Exception):
                self._collect()  # perhaps the store is full
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
        return due

    def _stands_at(self, epoch: int) -> int:
        """The epoch of this replica's newest committed state that is not after `epoch`; −1: there is none."""
        newest = find_newest([self._checkpoint], epoch)
        return -1 if newest is None else newest.position.epoch

    def _take(self, epoch: int) -> None:
        taken_at = self._now_ms()
        self._task.at(f"the upload of epoch {epoch} to the snapshot store", _goes_on)
        pinned = self._pinned(epoch)
        position, mine = pinned.position, self._identity
        with self._state:
            digest = self._digests.get(position.epoch, "")
        head = SnapshotHead(
            job=mine.job,
            epoch=position.epoch,
            batch=batch_unless(pinned.batch, position.epoch),
            log_offset=position.log_offset,
            config_digest=mine.config_digest,
            digest=digest,
            taken_at_ms=taken_at,
            state_format=mine.state_format,
            incarnation=mine.incarnation,
        )
        self._on_saved(self._store.save(head, self._staging, self._stop_asked))
        self._saved = position.epoch

    def _pinned(self, epoch: int) -> Checkpoint:
        """Spark commits an epoch a moment after it is published, and may be cleaning up: tried for a while."""
        for _ in range(_PIN_TRIES):
            shutil.rmtree(self._staging, ignore_errors=True)
            try:
                return pin(self._checkpoint, epoch, self._staging)
            except IncompleteCheckpointError as error:
                last = error
            with self._state:
                if self._state.wait_for(lambda: self._stopped, _PIN_AGAIN_S):
                    raise SnapshotCancelledError(f"epoch {epoch} was not saved: the process stops")
        raise last

    def _stop_asked(self) -> bool:
        """Asked between two files: whether to stop."""
        if not self._stopped:
            self._turn.renew()
        return self._stopped

    def _collect(self) -> None:
        now = self._now_ms()
        if left_ms(self._collect_ms, now, self._settings.collect_every_ms) > 0 or self._stopped:
            return
        self._collect_ms = now + self._settings.collect_every_ms
        self._task.at("the removal of old snapshots from the store", _goes_on)
        collected = self._store.collect_garbage(self._settings.retention, self._store_clock.now(), now)
        _log.info(
            "snapshots_collected",
            retired=collected.retired,
            removed=collected.removed,
            removed_bytes=collected.removed_bytes,
        )

    def _failed(self, error: Exception) -> None:
        """One warning for each time that the store is away, however long."""
        self._failures += 1
        if self._failures == 1:
            _log.warning(
                "snapshot_failed", reason=str(error), next_try_ms=self._settings.interval_ms, effect="the job goes on"
            )
        else:
            _log.debug("snapshot_failed_again", reason=str(error), failures=self._failures)

    def _succeeded(self) -> None:
        if self._failures:
            _log.info("snapshots_go_on", failures=self._failures)
        self._failures = 0
        self._task.ends()


def _goes_on() -> str:
    return "The job goes on meanwhile. See whether the store of spec.snapshots answers, and what its log says"
