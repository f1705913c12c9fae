"""Standing by: everything is warm, nothing is computed; until there is a slot, or an active that has ended or is silent."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from tandem.coordination.slots import Slots
from tandem.core.effects import Exit
from tandem.core.events import LogRecord
from tandem.core.standby import Promote, Promotion, Seen, StandbyCore, TellRole
from tandem.kafka.tail import LogTail
from tandem.protocol.codec import CodecError, decode_proposal

_POLL_S = 0.05


class Standby:
    """The runtime of a `StandbyCore`.

    Parameters
    ----------
    tail : reads the ordering log on from where the core's decisions are.
    has_proved : asked whether the followed state was found to be right.
    clock_ms : any monotonic clock, ms.
    """

    def __init__(
        self,
        core: StandbyCore,
        slots: Slots,
        tail: LogTail,
        has_proved: Callable[[], bool],
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._core = core
        self._slots = slots
        self._tail = tail
        self._has_proved = has_proved
        self._clock_ms = clock_ms

    def wait(self, stopped: Callable[[], bool]) -> Promotion | None:
        """Wait until this standby is promoted; None if it is stopped, or drained, before.

        Raises `LostInputError`, `SupersededError`.
        """
        with self._tail:
            while not stopped():
                self._follow()
                match self._core.step(self._seen(), self._clock_ms()):
                    case TellRole(role):
                        self._slots.tell(role)
                    case Promote(why):
                        return why
                    case Exit():
                        return None
        return None

    def _follow(self) -> None:
        for record in self._tail.poll(_POLL_S):
            with suppress(CodecError):
                event = LogRecord(record.offset, decode_proposal(record.value), record.timestamp_ms)
                match self._core.step(event, self._clock_ms()):
                    case Exit(error) if error is not None:
                        raise error

    def _seen(self) -> Seen:
        slots = self._slots
        return Seen(slots.slot, slots.replaces_ended, slots.is_summoned, slots.must_end, self._has_proved())
