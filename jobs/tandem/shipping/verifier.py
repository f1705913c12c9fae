"""Proves a followed state from time to time: its next epochs are computed and compared with the published digests."""

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from tandem.background import Background
from tandem.checkpoint.position import EnginePosition
from tandem.engine.rehearsal import StateUnusableError
from tandem.logs import get_logger
from tandem.protocol.verification import VerificationPace
from tandem.shipping.follower import Follower
from tandem.waits import Task

_log = get_logger(__name__)

_MARKER_TIMEOUT_S = 30.0
_TICK_S = 0.5
_WARM_AFTER = 20

Rehearse = Callable[[Path, EnginePosition, Callable[[], bool]], Generator[tuple[int, pa.Table], None, None]]
"""Computes the epochs after a position on a checkpoint of no consequence, while they are asked for."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How a state is tried. `digest_of`: epoch and rows → what its marker must say."""

    rehearse: Rehearse
    digest_of: Callable[[int, pa.Table], str]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Who receives what a proof has found.

    `on_verified` : called with the newest epoch that was proved. `on_mismatch` : called with the epoch whose state turned
    out wrong; the follower has dropped it by then. `on_fault`: called with what the job's code raised; "": it computes.
    """

    on_verified: Callable[[int], None] = lambda _: None
    on_mismatch: Callable[[int], None] = lambda _: None
    on_fault: Callable[[str], None] = lambda _: None


class Verifier(Background):
    """Parameters
    ----------
    pace : when a proof is due, and how many epochs it computes.
    folder : for copies of the state; removed in the end.
    verdicts : who receives them; by default nobody.
    clock_ms : any monotonic clock.
    task : says that a proof lasts.
    """

    def __init__(
        self,
        follower: Follower,
        trial: Trial,
        folder: Path,
        pace: VerificationPace,
        verdicts: Verdicts | None = None,
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
        task: Task | None = None,
    ) -> None:
        super().__init__("verifier")
        self._task = task or Task()
        self._follower = follower
        self._trial = trial
        self._folder = folder
        self._pace = pace
        self._verdicts = verdicts or Verdicts()
        self._clock_ms = clock_ms

    def prove(self) -> int | None:
        """Prove the state as it is now; the newest epoch that was proved, None if there was nothing to compare with."""
        shutil.rmtree(self._folder, ignore_errors=True)
        checkpoint = self._folder / "checkpoint"
        with self._digests_held():
            position = self._follower.copy_to(checkpoint)
            return None if position is None else self._compared(checkpoint, position)

    @contextmanager
    def _digests_held(self) -> Iterator[None]:
        """What the epochs after the state must be is not forgotten, although the follower goes on."""
        digests = self._follower.digests
        digests.held_from = self._follower.epoch
        try:
            yield
        finally:
            digests.held_from = None

    def _compared(self, checkpoint: Path, position: EnginePosition) -> int | None:
        began, times = self._clock_ms(), [self._clock_ms()]
        verified: int | None = None
        right: bool | None = None
        # Where a batch has several epochs, those of a whole one, as far as they can be compared.
        interval = min(self._follower.epochs_a_batch, self._follower.published - position.epoch)
        most = max(self._pace.begin(self._follower.size), interval)
        try:
            with closing(self._trial.rehearse(checkpoint, position, self._stopped.is_set)) as rehearsal:
                for epoch, table in islice(rehearsal, most):
                    times.append(self._clock_ms())
                    expected = self._follower.digest(epoch, _MARKER_TIMEOUT_S)
                    if self._stopped.is_set() or (expected is None and epoch > self._follower.published):
                        break
                    if expected is None:
                        continue  # published before this replica read markers: a later epoch shows the same
                    if self._trial.digest_of(epoch, table) != expected:
                        right = False
                        self._wrong(position.epoch, f"epoch {epoch}, computed from it, has not the published rows")
                        return None
                    verified, right = epoch, True
        except StateUnusableError as error:
            right = False
            if not self._stopped.is_set():
                self._verdicts.on_fault(error.fault)
            self._wrong(position.epoch, str(error))
            return None
        finally:
            now = self._clock_ms()
            self._pace.ended(self._follower.published, now - began, _epoch_ms(times, now - began), right)
            shutil.rmtree(self._folder, ignore_errors=True)
        if verified is not None:
            _log.info("state_verified", epoch=verified, ms=round(self._clock_ms() - began))
            self._verdicts.on_fault("")
            self._verdicts.on_verified(verified)
        return verified

    def _run(self) -> None:
        while not self._stopped.wait(_TICK_S):
            if self._follower.epoch < 0 or not self._pace.is_due(self._follower.published, self._follower.size):
                continue
            self._task.begins("a proof of the state that it follows", f"epochs after {self._follower.epoch}")
            try:
                self.prove()
            except Exception as error:
                _log.warning("state_not_verified", reason=str(error).partition("\n")[0])
            finally:
                self._task.ends()

    def _wrong(self, epoch: int, reason: str) -> None:
        if self._stopped.is_set():
            return
        self._follower.drop(epoch)
        self._verdicts.on_mismatch(epoch)
        _log.error(
            "followed_state_wrong", epoch=epoch, reason=reason, effect="it is dropped; a newer base takes its place"
        )


def _epoch_ms(times: Sequence[float], took_ms: float) -> float:
    """What an epoch took once the first were over: of many the last ones in the mean, of a few the last."""
    count = max(1, (len(times) - 1) // _WARM_AFTER)
    return (times[-1] - times[-1 - count]) / count if len(times) > 1 else took_ms
