"""When the next cut is proposed, and by whom. Liveness and latency only: the log decides which cut counts."""

from collections import deque
from dataclasses import dataclass
from statistics import median

from tandem.protocol.timeouts import AdaptiveTimeout


@dataclass(frozen=True, slots=True)
class PaceSettings:
    """How the pace is set; all times in ms.

    `room` is how much slower than the slowest live replica that lags the epochs are cut, until it has caught up; but never
    slower than `most_room` times what the fastest replica needs for an epoch, or `most_room_ms` if that is more: one that
    is still warming up must not become a gap for the readers. A replica that said nothing for `live_ms` gets no room.
    `idle_epoch_interval_ms`: an epoch without input after so long; None: never.
    `most_rest_ms`: behind an epoch the next cut waits for as long as an epoch takes until its claim, but at most so long.
    Who cuts at once drives processes and brokers that share cores until they are busy all the time, and then each step of
    an epoch waits for a core: fewer epochs are published sooner. There is no rest behind an epoch that has left records:
    what counts then is how many are computed.
    """

    min_epoch_interval_ms: float = 0.0
    idle_epoch_interval_ms: float | None = None
    room: float = 1.5
    most_room: float = 2.5
    most_room_ms: float = 150.0
    live_ms: float = 2_000.0
    most_rest_ms: float = 10.0


@dataclass(slots=True)
class _Replica:
    epoch: int
    epoch_ms: float
    at_ms: float


class Pace:
    """Demand-driven pace: the next cut is due when the last epoch is claimed, after a rest, and there is new input.

    Times are ms of any monotonic clock, the same in every call.
    """

    def __init__(self, settings: PaceSettings, silence: AdaptiveTimeout) -> None:
        self._settings = settings
        self._silence = silence
        self._acts = False
        self._last_epoch = -1
        self._cut_at = -float("inf")
        self._claimed_at: float | None = -float("inf")  # None: the last epoch is not claimed yet
        self._input_at: float | None = None
        self._leaves = False
        self._replicas: dict[str, _Replica] = {}
        self._epoch_ms: deque[float] = deque(
            maxlen=7
        )  # of the fastest replica, from a cut to its claim: a JVM is slow at first

    @property
    def acts(self) -> bool:
        """Whether this process proposes at once, also if it does not lead: it cut the last epoch, or somebody took over.

        Else each epoch after a leader's death would wait for the bound on silence, until the election has ended.
        """
        return self._acts

    def cut(self, epoch: int, now_ms: float, mine: bool = False) -> None:
        """The cut of `epoch` was accepted; `mine`: this process had proposed it."""
        self._acts = mine
        due = self._due()
        if not mine and due is not None:
            self._leader_took(now_ms, due)
        self._last_epoch, self._cut_at, self._claimed_at, self._input_at = epoch, now_ms, None, None

    def proposed(self, leaves: bool) -> None:
        """This process has proposed a cut, which takes all records that it had seen, or leaves some."""
        self._leaves = leaves

    def _leader_took(self, now_ms: float, due: float) -> None:
        """Learn how long another one takes to cut. Who has not looked for input does not know how long it was there."""
        if self._input_at is not None:
            self._silence.observe(max(0.0, now_ms - max(due, self._input_at)))
        elif now_ms - due <= self._silence.least_ms:
            self._silence.observe(max(0.0, now_ms - due))

    def resume(self, epoch: int) -> None:
        """`epoch` was published before this process began."""
        self._last_epoch = epoch

    def claimed(self, epoch: int, now_ms: float, takes_over: bool = False) -> None:
        """Somebody has computed `epoch` and claimed it; `takes_over`: in the place of another one.

        Then who leads may have died with that one, beside which it stood: everybody proposes until the next cut is accepted.
        If the leader lives, that costs a record.
        """
        self._acts = self._acts or takes_over
        if epoch == self._last_epoch and self._claimed_at is None:
            self._claimed_at = now_ms
            self._epoch_ms.append(now_ms - self._cut_at)

    def progress(self, replica: str, epoch: int, epoch_ms: float, now_ms: float) -> None:
        """A replica that lags says how far it is; with 0 ms that it has caught up: it needs no room any more."""
        if epoch_ms <= 0 or self._last_epoch - epoch <= 1:
            self._replicas.pop(replica, None)
        else:
            self._replicas[replica] = _Replica(epoch, epoch_ms, now_ms)

    def wants_empty(self, now_ms: float, owed_after_ms: float | None = None) -> bool:
        """Whether an epoch is wanted although there is no input: by the user, or because one is owed after so long."""
        bounds = [ms for ms in (self._settings.idle_epoch_interval_ms, owed_after_ms) if ms is not None]
        return bool(bounds) and now_ms - self._cut_at >= min(bounds)

    def input_seen(self, now_ms: float) -> None:
        """There is input beyond the last cut, or an epoch without any is wanted."""
        if self._input_at is None:
            self._input_at = now_ms

    @property
    def is_due(self) -> bool:
        """Whether the last epoch is claimed, so that somebody can take the next."""
        return self._claimed_at is not None

    def due_in_ms(self, now_ms: float) -> float:
        """How long it is until the next cut is due; 0: it is, or nobody knows when."""
        due = self._due()
        return 0.0 if due is None else max(0.0, due - now_ms)

    def wants_look(self, now_ms: float, leading: bool) -> bool:
        """Whether to look for input now: nobody else has to before the leader's silence begins to be remarkable."""
        due = self._due()
        return due is not None and now_ms >= (due if leading else due + self._silence.least_ms / 2)

    def wants_cut(self, now_ms: float, leading: bool) -> bool:
        """Whether to propose the next cut now.

        A leader (and every heartbeat generator) proposes as soon as it is due; the others when it is overdue by more than
        the adaptive bound on the leader's silence.
        """
        due = self._due()
        if due is None or self._input_at is None:
            return False
        ready = max(due, self._input_at)
        return now_ms >= (ready if leading else ready + self._silence.ms)

    def interval_ms(self, now_ms: float) -> float:
        """The least time between two cuts now: the user's, or the room that a lagging replica needs."""
        lagging = [
            replica.epoch_ms for replica in self._replicas.values() if now_ms - replica.at_ms <= self._settings.live_ms
        ]
        if not lagging:
            return self._settings.min_epoch_interval_ms
        room = self._settings.room * max(lagging)
        if self._epoch_ms:
            room = min(room, max(self._settings.most_room * median(self._epoch_ms), self._settings.most_room_ms))
        return max(self._settings.min_epoch_interval_ms, room)

    def _rested(self, claimed_at: float) -> float:
        """When the rest behind the last epoch is over. An epoch that took longer than usual has had a part of it."""
        if self._leaves or not self._epoch_ms:
            return claimed_at
        usual_ms = median(self._epoch_ms)
        return min(self._cut_at + usual_ms, claimed_at) + min(usual_ms, self._settings.most_rest_ms)

    def _due(self) -> float | None:
        """When the next cut is (or was) due; None while nobody could take it."""
        if self._claimed_at is None:
            return None
        reference = self._claimed_at if self._claimed_at > self._cut_at else self._cut_at
        least = self._cut_at + self.interval_ms(reference)
        return max(self._claimed_at, least, self._rested(self._claimed_at))
