"""What the user of the demo may choose."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds. `rate`: flights per second. The clock of `seconds` and `kill_at` starts after the warm-up."""

    rate: float
    seconds: float
    kill_at: float
    mode: str
    output: Path
    longest_warm_up: float = 150.0
    start_deadline: float = 300.0
    warm_up_deadline: float = 300.0
    return_deadline: float = 180.0
    drain_deadline: float = 90.0

    @property
    def warm_up(self) -> float:
        """The least: until then it is too early to judge whether the JVMs get faster."""
        return min(40.0, self.longest_warm_up)

    @property
    def after_return(self) -> float:
        """How long to go on with two replicas again, at least."""
        return min(15.0, self.seconds / 6)

    @property
    def plot(self) -> Path:
        """Where the picture goes."""
        return self.output / "latency.png"

    @property
    def processes(self) -> Path:
        """Where the logs of all processes are."""
        return self.output / "processes"
