"""Follows the shipped state as it is read (`reading`), so that a state one or two epochs old is there at any time.

What is not published is never used: a delta waits for its epoch's marker. What does not fit (a gap, a torn or foreign
record) is never applied: the state stays where it is, complete, until a newer base takes its place.
"""

import math
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tandem.checkpoint.position import EnginePosition
from tandem.kafka.client import KafkaConnection
from tandem.kafka.tail import Record
from tandem.logs import get_logger
from tandem.protocol.codec import CodecError, decode_marker
from tandem.protocol.values import Marker
from tandem.shipping.bases import Bases, Wanted
from tandem.shipping.digests import Digests
from tandem.shipping.errors import DeltaError, DeltaGapError
from tandem.shipping.looking import Look, Spawn, on_a_thread
from tandem.shipping.reading import FOLLOWING, Reading
from tandem.shipping.settings import FollowerSettings
from tandem.shipping.state import FollowedState
from tandem.shipping.values import Delta, decode_delta
from tandem.waits import Task

_log = get_logger(__name__)

_MUCH_SHORTER = 0.7
_MOST_WAITING_BYTES = 64 << 20


class Follower:
    """Parameters
    ----------
    bases : where to begin.
    folder : for this object alone; it is removed in the end.
    on_followed : called with each epoch that the state has come to.
    clock_ms : any monotonic clock.
    task : says what following waits for.
    spawn : by what a shorter base is looked for.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        settings: FollowerSettings,
        bases: Bases,
        folder: Path,
        on_followed: Callable[[int], None] = lambda _: None,
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
        task: Task | None = None,
        spawn: Spawn = on_a_thread,
    ) -> None:
        self._task = task or Task()
        self._look = Look(spawn)
        self._settings = settings
        self._bases = bases
        self._folder = folder
        self._on_followed = on_followed
        self._clock_ms = clock_ms
        self._state: FollowedState | None = None
        self._waiting: dict[int, Delta] = {}
        self._read = -1  # the newest epoch whose delta was read
        self._newer_than = -1  # a base must be
        self._gap = False
        self._read_again = False
        self._look_ms = 0.0
        self._number = 0
        self.digests = Digests()
        self._last_published = -1
        self._ended = False
        self._news = threading.Condition()
        self._reading = Reading(connection, settings.commits_topic, settings.checkpoints_topic, self, self._task)

    def start(self) -> None:
        """Start the thread."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._reading.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stop and remove the state."""
        self._end()
        self._reading.wait(timeout_s)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def epoch(self) -> int:
        """The epoch that the state stands at; −1 without one."""
        with self._news:
            return -1 if self._state is None else self._state.position.epoch

    @property
    def epochs_a_batch(self) -> int:
        """How many epochs lie between two states that are followed; 1 where each epoch's state is shipped."""
        with self._news:
            return 1 if self._state is None else self._state.epochs_a_batch

    @property
    def size(self) -> int:
        """About how many bytes the state has; 0 without one."""
        with self._news:
            return 0 if self._state is None else self._state.size

    @property
    def is_current(self) -> bool:
        """Whether both topics are being read."""
        return self._reading.is_current

    @property
    def reads_again(self) -> bool:
        """Whether deltas that were read already are wanted once more, for an older base."""
        return self._read_again

    @property
    def published(self) -> int:
        """The newest epoch whose marker was read; −1 before the first."""
        return self._last_published

    def digest(self, epoch: int, timeout_s: float = 0.0) -> str | None:
        """What the marker of a recent epoch says; None if it is not read within `timeout_s`, or a later one was read."""
        with self._news:
            self._news.wait_for(lambda: epoch <= self._last_published or self._ended, timeout_s)
            return self.digests.get(epoch)

    def wait_for(self, epoch: int, timeout_s: float) -> bool:
        """Whether the state has come to `epoch` within `timeout_s`."""
        with self._news:
            return self._news.wait_for(
                lambda: self._state is not None and self._state.position.epoch >= epoch, timeout_s
            )

    def copy_to(self, target: Path) -> EnginePosition | None:
        """The state as hard links in the new folder `target`; None if there is none."""
        with self._news:
            return None if self._state is None else self._state.copy_to(target)

    def drop(self, epoch: int) -> None:
        """The state of `epoch` was found wrong: it goes, and what comes in its place must begin after `epoch`."""
        with self._news:
            self._newer_than = max(self._newer_than, epoch)
            if self._state is not None:
                self._state.remove()
                self._state = None

    def hand_over(self, target: Path) -> EnginePosition | None:
        """Stop, and let the state become the new folder `target`, by renaming. None if there is none."""
        with self._news:
            self._ended = True
            state, self._state = self._state, None
        self._end()
        if state is None:
            return None
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        state.folder.rename(target)
        return state.position

    def take(self, record: Record) -> None:
        """A record of one of the two topics was read. Called by the thread, and by tests."""
        try:
            if record.topic == self._settings.commits_topic:
                self.learn(decode_marker(record.value))
            else:
                self._shipped(decode_delta(record.value))
        except CodecError as error:
            _log.error("foreign_record", topic=record.topic, offset=record.offset, reason=str(error))
        except DeltaError as error:
            _log.warning("delta_unusable", topic=record.topic, offset=record.offset, reason=str(error))

    def advance(self) -> None:
        """Apply what may be applied, and look for a base if one is needed. Raises `UnknownStateError`."""
        while self._apply_next():
            pass
        self._take_found()
        now = self._clock_ms()
        if self._reading.is_stopped or now < self._look_ms or not self._wants_base():
            return
        if self._must_move_on():
            self._task.begins(FOLLOWING, "a base, from this machine or the snapshot store")
            self._go_on_from(self._bases.newest(*self._wanted(must_move_on=True)), must_move_on=True)
            needed = self._state is None or self._gap
            self._look_ms = self._clock_ms() + (self._settings.retry_ms if needed else self._settings.shorten_every_ms)
        elif not self._look.is_under_way:
            wanted = self._wanted(must_move_on=False)
            self._look.begin(lambda: self._bases.newest(*wanted))
            self._take_found()

    def _take_found(self) -> None:
        """Go on from the shorter base that was found meanwhile, if it still is one."""
        if (found := self._look.ended()) is not None:
            self._go_on_from(*found, must_move_on=False)
            if not self._must_move_on():
                self._look_ms = self._clock_ms() + self._settings.shorten_every_ms

    def begin(self) -> None:
        """Deltas are about to be read, from where the state stands. Called by the thread."""
        self._waiting.clear()
        self._read, self._read_again = self.epoch, False

    def learn(self, marker: Marker) -> None:
        """A marker was read. Called by the thread."""
        with self._news:
            if marker.generation == self._settings.generation:
                self.digests.put(marker.epoch, marker.digest, self.epoch)
            self._last_published = max(self._last_published, marker.epoch)
            self._news.notify_all()

    def _shipped(self, delta: Delta) -> None:
        if delta.identity != self._settings.identity:
            _log.debug("delta_of_another_state", epoch=delta.epoch, shipper=delta.shipper)
            return
        self._read = max(self._read, delta.epoch)
        if delta.epoch > self.epoch >= 0 and sum(d.size for d in self._waiting.values()) < _MOST_WAITING_BYTES:
            self._waiting.setdefault(delta.epoch, delta)

    def _apply_next(self) -> bool:
        """Apply one waiting delta; False if there is none that may be applied."""
        with self._news:
            if self._state is None or not self._waiting:
                return False
            epoch = min(self._waiting)
            if epoch > self._last_published:
                return False
            delta = self._waiting.pop(epoch)
            if epoch <= self._state.position.epoch:
                return True
            try:
                self._state.apply(delta)
            except (DeltaGapError, DeltaError) as error:
                self._found_gap(epoch, error)
                return True
            self._gap = False
            self._news.notify_all()
        self._on_followed(epoch)
        return True

    def _found_gap(self, epoch: int, error: Exception) -> None:
        if not self._gap:
            _log.info("delta_does_not_fit", epoch=epoch, reason=str(error), effect="a newer base is looked for")
            self._look_ms = 0.0
        self._gap = True

    def _wants_base(self) -> bool:
        return self._must_move_on() or (self._state is not None and self._state.chain > self._settings.longest_chain)

    def _must_move_on(self) -> bool:
        """Whether deltas alone do not lead on: they do not fit, or none came for so long that a snapshot is nearer."""
        if self._gap or self._state is None:
            return True
        return self._last_published - self.epoch > self._settings.longest_chain * self._state.epochs_a_batch

    def _wanted(self, must_move_on: bool) -> tuple[Wanted, Path]:
        """The base to look for, and the new folder for it."""
        newer_than = max(self._newer_than, self.epoch if must_move_on else -1)
        self._number += 1
        wanted = Wanted(newer_than, self.published)
        if self._state is not None:
            shorter_than = math.inf if must_move_on else self._state.chain * _MUCH_SHORTER
            at, epochs = self._state.position.epoch, self._state.epochs_a_batch
            wanted = Wanted(newer_than, self.published, self._state.folder, at, shorter_than, epochs)
        return wanted, self._folder / f"state-{self._number}"

    def _go_on_from(self, state: FollowedState | None, must_move_on: bool) -> None:
        """From a base that was found; what is known of later epochs is kept."""
        if state is None:
            return
        base = state.position.epoch
        with self._news:
            if self._ended or base <= self._newer_than:
                state.remove()
                return
            if self._state is not None:
                state.carry_over(self._state)
                behind = state.position.epoch < self._state.position.epoch
                if not must_move_on and (behind or state.chain > self._state.chain * _MUCH_SHORTER):
                    state.remove()
                    return
            earlier, self._state = self._state, state
            self._gap = False
            epoch = state.position.epoch
            self._read_again = epoch < self._read and not any(d.continues(epoch) for d in self._waiting.values())
            self._news.notify_all()
        if earlier is not None:
            earlier.remove()
        _log.info("following", base=base, epoch=state.position.epoch, chain=state.chain)
        self._on_followed(state.position.epoch)

    def _end(self) -> None:
        self._reading.stop()
        self._look.give_up()
        with self._news:
            self._ended = True
            self._news.notify_all()
