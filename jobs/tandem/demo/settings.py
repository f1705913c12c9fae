"""What the user of the demo may choose."""

import math
from dataclasses import dataclass
from pathlib import Path

from tandem.demo.acts import Act

_LEAST_WARM_UP_S = 20.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds, of each of `acts`. `rate`: flights, and payments, per second.

    The clock of `seconds` and `kill_at` starts after the warm-up.
    """

    rate: float
    seconds: float
    kill_at: float
    mode: str
    output: Path
    acts: tuple[Act, ...]
    longest_warm_up: float = math.inf
    start_deadline: float = 300.0
    warm_up_deadline: float = 300.0
    return_deadline: float = 180.0
    drain_deadline: float = 90.0

    def warm_up(self, act: Act) -> tuple[float, float]:
        """The least and the most: until the least it is too early to judge whether the JVMs get faster."""
        longest = min(act.longest_warm_up, self.longest_warm_up)
        return min(_LEAST_WARM_UP_S, longest), longest

    @property
    def after_return(self) -> float:
        """How long to go on with two replicas again, at least."""
        return min(10.0, self.seconds / 5)

    def plot(self, act: Act) -> Path:
        """Where the picture goes."""
        return self.output / f"{act.name}.png"

    def processes(self, act: Act) -> Path:
        """Where the logs of all processes are."""
        return self.output / "processes" / act.name
