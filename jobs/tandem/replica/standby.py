"""Standing by: everything is warm, nothing is computed; until there is a slot, or an active that has ended or is silent."""

from __future__ import annotations

import time
from collections.abc import Callable

from tandem.coordination.slots import Slots
from tandem.core.effects import Exit, TellRole
from tandem.core.events import LogRecord
from tandem.core.standby import Promote, Promotion, StandbyCore
from tandem.replica.log_events import LogEvents

_POLL_S = 0.05


class Standby:
    """The runtime of a `StandbyCore`.

    Parameters
    ----------
    events : reads the ordering log on from where the core's decisions are.
    has_proved : asked whether the followed state was found to be right.
    rest : called again and again while it waits; see `Resting`.
    clock_ms : any monotonic clock, ms.
    """

    def __init__(
        self,
        core: StandbyCore,
        slots: Slots,
        events: LogEvents,
        has_proved: Callable[[], bool],
        rest: Callable[[], None],
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._core = core
        self._slots = slots
        self._events = events
        self._has_proved = has_proved
        self._rest = rest
        self._clock_ms = clock_ms

    def wait(self, stopped: Callable[[], bool]) -> Promotion | None:
        """Wait until this standby is promoted; None if it is stopped before.

        Raises `DrainedError`, `LostInputError`, `SupersededError`.
        """
        with self._events.tail:
            while not stopped():
                self._rest()
                self._follow()
                match self._core.step(self._slots.seen(self._has_proved()), self._clock_ms()):
                    case TellRole(role):
                        self._slots.tell(role)
                    case Promote(why):
                        return why
                    case Exit(error) if error is not None:
                        raise error
        return None

    def _follow(self) -> None:
        for event in self._events.read(_POLL_S):
            if isinstance(event, LogRecord):
                match self._core.step(event, self._clock_ms()):
                    case Exit(error) if error is not None:
                        raise error
