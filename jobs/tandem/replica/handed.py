"""What the core hands to the engine, and what the engine says to it about answers: the engine reads no log."""

import queue
from collections.abc import Callable, Sequence

from tandem.checkpoint.position import EnginePosition
from tandem.core.effects import Answer, Ask
from tandem.core.events import Asked, Needs, ReplicaEvent
from tandem.engine.interface import StoppedError
from tandem.intake import fetch
from tandem.protocol.values import Answers, EpochRange

_TICK_S = 0.2


class HandedEpochs:
    """Queues between the loop's thread and the engine's; see `intake.fetch.Cuts`.

    `after` : where the engine's state stands.
    """

    def __init__(self, after: EnginePosition) -> None:
        self.position = after
        self._post: Callable[[ReplicaEvent], None]
        self._is_behind: Callable[[], bool]
        self._epochs: queue.SimpleQueue[EpochRange | None] = queue.SimpleQueue()
        self._next: EpochRange | None = None
        self._said: queue.SimpleQueue[Ask | Answer | None] = queue.SimpleQueue()
        self._answers: dict[str, Answers] = {}  # of the epoch taken last
        self._stopped = False

    def connect(self, post: Callable[[ReplicaEvent], None], is_behind: Callable[[], bool]) -> None:
        """To be called before the first epoch is handed over.

        `post` : gives the core an event. `is_behind`: whether more is known to stand in the log than the core has taken in.
        """
        self._post, self._is_behind = post, is_behind

    # By the loop -----------------------------------------------------------------------------------------------------

    def hand(self, epoch: EpochRange) -> None:
        """The next epoch to be computed."""
        self._epochs.put(epoch)

    def say(self, effect: Ask | Answer) -> None:
        """What is to be asked about the epoch that the engine is at, or the answer that counts."""
        if isinstance(effect, Answer):
            self._answers[effect.question] = effect.answers
        self._said.put(effect)

    def stop(self) -> None:
        """Nothing will come any more."""
        self._stopped = True
        self._epochs.put(None)
        self._said.put(None)

    # By the engine ---------------------------------------------------------------------------------------------------

    def next(self, timeout_s: float) -> EpochRange | None:
        """The epoch after `position`; None if it does not come within `timeout_s`. Raises `StoppedError`."""
        if self._next is None:
            try:
                self._next = self._epochs.get(timeout=timeout_s)
            except queue.Empty:
                return None
        self._check()
        return self._next

    def taken(self, epoch: EpochRange) -> None:
        """`epoch` was fetched: move behind it."""
        self.position, self._next = EnginePosition(epoch.epoch, epoch.log_offset), None

    def answers(self, epoch: int, questions: Sequence[str], ask: fetch.Ask, wait: fetch.Wait) -> dict[str, Answers]:
        """What the core says; it has the outside world asked if the log does not know. Raises `StoppedError`."""
        self._answers.clear()
        self._post(Needs(epoch, tuple(questions), not self._is_behind()))
        while missing := [name for name in questions if name not in self._answers]:
            wait(f"the answers to {missing[0]!r} in the ordering log")
            try:
                said = self._said.get(timeout=_TICK_S)
            except queue.Empty:
                continue
            self._check()
            if isinstance(said, Ask) and said.epoch == epoch and said.question not in self._answers:
                found = ask(said.question, lambda name=said.question: self._stopped or name in self._answers)  # type: ignore[misc]
                if found is not None:
                    self._post(Asked(epoch, said.question, found))
        return dict(self._answers)

    def close(self) -> None:
        """Nothing to close."""

    def _check(self) -> None:
        if self._stopped:
            raise StoppedError
