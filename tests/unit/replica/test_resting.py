"""Clients of a replica that waits say what they have to: it would pile up, and be missing in the log."""

from __future__ import annotations

from typing import cast

from tandem.coordination.slots import Slots
from tandem.core.standby import Promote, Promotion, StandbyCore
from tandem.replica.log_events import LogEvents
from tandem.replica.resting import Resting
from tandem.replica.standby import Standby


def test_each_is_served_at_once_and_then_now_and_then() -> None:
    now_s = [100.0]
    served: list[str] = []
    resting = Resting(lambda: served.append("a"), lambda: served.append("b"), every_s=5.0, clock_s=lambda: now_s[0])

    for at_s in (100.0, 100.1, 104.9, 105.0, 105.1, 200.0):
        now_s[0] = at_s
        resting()

    assert served == ["a", "b"] * 3


class Nothing:
    """A log and slots without news, and a core that is promoted at the fourth look."""

    tail: Nothing
    looks = 0

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None

    def read(self, _: float) -> tuple[()]:
        return ()

    def seen(self, _: bool) -> None:
        return None

    def step(self, _event: object, _now_ms: float) -> Promote | None:
        self.looks += 1
        return Promote(Promotion.SLOT) if self.looks == 4 else None


def test_a_standby_lets_its_clients_rest_while_it_waits() -> None:
    nothing = Nothing()
    rests: list[int] = []
    nothing.tail = nothing
    core, slots, events = cast(StandbyCore, nothing), cast(Slots, nothing), cast(LogEvents, nothing)

    Standby(core, slots, events, lambda: True, lambda: rests.append(1)).wait(lambda: False)

    assert len(rests) == 4
