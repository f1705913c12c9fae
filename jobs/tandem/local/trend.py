"""The latency of the last two minutes as two lines of bars. Pure: times come in with the samples."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from tandem.local.status import JobStatus
from tandem.status.page import NONE

WINDOW_S: Final = 120.0
BARS_SHOWN: Final = 30
BAR_S: Final = WINDOW_S / BARS_SHOWN
_BARS: Final = "▁▂▃▄▅▆▇█"
_NICE: Final = (1, 2, 5)


def spark(values: Sequence[float], highest: float | None = None) -> str:
    """Values as bars from 0 to `highest` (the highest of them, if it is not given); a blank where there is none (NaN).

    >>> spark([1, 2, float("nan"), 4])
    '▂▄ █'
    """
    if highest is None:
        highest = max((value for value in values if not math.isnan(value)), default=0.0)
    if highest <= 0:
        return " " * len(values)
    steps = len(_BARS)
    return "".join(
        " " if math.isnan(value) else _BARS[min(steps - 1, max(0, math.ceil(value / highest * steps) - 1))]
        for value in values
    )


def scale(highest: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50, … that is not below `highest`.

    >>> scale(140), scale(0.3)
    (200.0, 1.0)
    """
    power = 1.0
    while power * _NICE[-1] < highest:
        power *= 10
    return next(power * nice for nice in _NICE if power * nice >= highest)


class Trend:
    """The quantiles of the replicas that publish, the worst of them, as an observer sees them look by look."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float, float]] = deque()  # at (s), p50, p99 (ms)

    def add(self, status: JobStatus) -> None:
        """Remember what is known at `status.at`."""
        publishing = [replica for replica in status.replicas if replica.share]
        p50 = max((one.p50_ms for one in publishing if one.p50_ms is not None), default=math.nan)
        p99 = max((one.p99_ms for one in publishing if one.p99_ms is not None), default=math.nan)
        self._samples.append((status.at, p50, p99))
        while self._samples[0][0] <= status.at - WINDOW_S:
            self._samples.popleft()

    def lines(self) -> Iterator[str]:
        """A line for p50 and one for p99: the newest value, bars, what the full height is. None before the first value."""
        for number, name in ((1, "p50"), (2, "p99")):
            bars = self._bars(number)
            known = [value for value in bars if not math.isnan(value)]
            if known:
                top = scale(max(known))
                newest = NONE if math.isnan(bars[-1]) else f"{bars[-1]:,.0f} ms"
                yield f"{name} {newest:>9} {spark(bars, top)} 0 to {top:,.0f} ms"

    def _bars(self, number: int) -> list[float]:
        """The highest value of each bar's time, oldest first. A sample stays in its bar: the picture does not tremble."""
        last = math.floor(self._samples[-1][0] / BAR_S) if self._samples else 0
        bars = [math.nan] * BARS_SHOWN
        for sample in self._samples:
            at = BARS_SHOWN - 1 - (last - math.floor(sample[0] / BAR_S))
            value = sample[number]
            if at >= 0 and not math.isnan(value):
                bars[at] = value if math.isnan(bars[at]) else max(bars[at], value)
        return bars
